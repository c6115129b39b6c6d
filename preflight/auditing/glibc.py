"""The C library of a machine or image: how new the symbols are that it has."""

from __future__ import annotations

from preflight.auditing.file_bytes import open_bytes
from preflight.auditing.loader import Loader
from preflight.compat.dynamic import DynamicError, glibc_floor, read_dynamic
from preflight.compat.sections import SectionError, read_sections
from preflight.facts import Absence, Text

NAME = "libc.so.6"


def read_glibc(loader: Loader) -> Text:
    """``2.36``, from the versions of symbols that its libc.so.6 defines."""
    for folder in loader.system:
        path = loader.root.real(folder / NAME)
        if not path.is_file():
            continue
        try:
            with open_bytes(path) as data:
                dynamic = read_dynamic(data, read_sections(data))
        except (OSError, SectionError, DynamicError) as error:
            return Absence(what=NAME, reason="not readable", detail=str(error))
        newest = glibc_floor(dynamic.defined_versions) if dynamic else None
        if newest is not None:
            return f"{newest[0]}.{newest[1]}"
    return Absence(what=NAME, reason="not found")
