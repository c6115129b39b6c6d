"""An audit as JSON, indented: the words of ``preflight.compat.audit``."""

from __future__ import annotations

import msgspec

from preflight.compat.audit import Audit


def render(audit: Audit) -> str:
    """The audit with every key of its schema."""
    return msgspec.json.format(msgspec.json.encode(audit), indent=1).decode() + "\n"
