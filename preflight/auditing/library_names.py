"""Which names are those of libraries and modules."""

from __future__ import annotations

import re

_LIBRARY = re.compile(r".*\.(so(\.\d[\w.+-]*)?|pyd|dll|hsaco|co)")
_EXTENSION = re.compile(r"(\w+)(\.[\w.-]+)?\.(so|pyd)")


def is_library_name(name: str) -> bool:
    """Whether a file of this name should be a shared library or a code object."""
    return _LIBRARY.fullmatch(name) is not None


def module_name(file_name: str) -> str | None:
    """``six`` of ``six.py`` and ``_C`` of ``_C.abi3.so``; None for what cannot be imported."""
    if file_name.endswith(".py"):
        return file_name[:-3]
    found = _EXTENSION.fullmatch(file_name)
    return found[1] if found else None
