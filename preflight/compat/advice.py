"""What to do about a failure, from the text of it."""

from __future__ import annotations

from preflight.compat.dumps.signatures import find_in, printed


def action_for(text: str) -> str | None:
    """The action for the first signature that a program printed in ``text``; None where none is.

    What only says that something failed comes after what says why, whatever the order.
    """
    hits = [hit for hit in printed(find_in(text)) if hit.signature.status in ("fail", "warn")]
    hits.sort(key=lambda hit: (hit.signature.general, hit.signature.status == "warn"))
    return hits[0].signature.action if hits else None
