"""Code objects of AMD in files of their own."""

from __future__ import annotations

import pytest

from preflight.compat.code_object import MACHINES, code_object_target

from .binaries import code_object, elf


@pytest.mark.parametrize(
    ("data", "target"),
    [
        (code_object(0x4C, xnack=1, sramecc=1), "gfx942"),
        (code_object(0x3F, xnack=2, sramecc=3), "gfx90a:sramecc+:xnack-"),
        (code_object(0x4F, xnack=3, sramecc=1), "gfx950:xnack+"),
        (code_object(0x41), "gfx1100"),
        (code_object(0x5F, xnack=1, sramecc=1), "gfx9-4-generic"),
        (code_object(0x30, xnack=3, abi=1), "gfx908"),
        (code_object(0xFE), "mach 0xfe"),
    ],
)
def test_the_target_stands_in_the_flags(data: bytes, target: str) -> None:
    """Processor and features, "any" left out; before version 4 the bits of features differ."""
    assert code_object_target(data) == target


@pytest.mark.parametrize("data", [b"", b"\x7fELF", elf({}), b"CCOB" + b"\0" * 60, b"\0" * 64])
def test_other_files_are_no_code_objects(data: bytes) -> None:
    """A library of the host, a bundle and a file of zeros have no target."""
    assert code_object_target(data) is None


def test_no_processor_has_two_numbers() -> None:
    """The table can be read from either side."""
    assert len(set(MACHINES.values())) == len(MACHINES)
