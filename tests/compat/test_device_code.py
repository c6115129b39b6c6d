"""The device code of a whole library."""

from __future__ import annotations

import pytest

from preflight.compat.device_code import MOST_OTHER_DATA, read_device_code

from .binaries import bundle, code_object, compressed, elf, entry, fatbin, pe, wrapper

HOST = {".text": b"\x90" * 64}


def aligned(*parts: bytes) -> bytes:
    """Fat binaries one after the other, each at a multiple of 8."""
    return b"".join(part + b"\0" * (-len(part) % 8) for part in parts)


@pytest.mark.parametrize("file", [elf, pe])
def test_each_fat_binary_counts(file: object) -> None:
    """What all have and what only some have is told apart, in ELF and in PE."""
    assert callable(file)
    code = aligned(fatbin("sm_80", "sm_90a"), fatbin("sm_80", "compute_90"), fatbin("sm_80"))
    found = read_device_code(file({**HOST, ".nv_fatbin": code}))
    assert (found.kind, found.num_fatbins, found.trouble) == ("cuda", 3, "")
    assert found.in_all == {"sm_80"}
    assert found.in_some == {"sm_80", "sm_90a", "compute_90"}
    assert found.isas == ("9.0",)


def test_a_library_without_device_code_has_none() -> None:
    """A stub that calls other libraries is no library for another GPU."""
    found = read_device_code(elf(HOST))
    assert (found.kind, found.in_all, found.trouble, found.is_library) == (
        "none",
        frozenset(),
        "",
        True,
    )


def test_the_dummy_of_the_device_linker_is_left_out() -> None:
    """nvcc adds a fat binary without a kernel to what it links; its wrapper has version 2."""
    code = aligned(fatbin("sm_90a", "compute_90"), fatbin("sm_80"), fatbin("sm_80"))
    wrappers = wrapper(2) + wrapper() + wrapper()
    found = read_device_code(elf({".nv_fatbin": code, ".nvFatBinSegment": wrappers}))
    assert found.fatbins == {("sm_80",): 2}


def test_what_the_device_linker_made_counts_where_code_is_relocatable() -> None:
    """With -rdc=true the wrapper of version 2 is that of all the kernels."""
    sections = {
        ".nv_fatbin": fatbin("sm_90"),
        "__nv_relfatbin": fatbin("sm_90", "compute_90"),
        ".nvFatBinSegment": wrapper(2) + wrapper(),
    }
    found = read_device_code(elf(sections))
    assert found.fatbins == {("sm_90",): 1}
    assert not found.is_unlinked


def test_relocatable_code_beside_code_that_is_not() -> None:
    """What the device linker made stays, also where there are as many wrappers as fat binaries."""
    sections = {
        ".nv_fatbin": aligned(fatbin("sm_90"), fatbin("sm_80")),
        "__nv_relfatbin": fatbin("sm_90"),
        ".nvFatBinSegment": wrapper(2) + wrapper(),
    }
    assert read_device_code(elf(sections)).fatbins == {("sm_90",): 1, ("sm_80",): 1}


def test_no_fat_binary_is_left_out_where_wrappers_and_they_differ_in_number() -> None:
    """Rather a false target too many than a kernel's code not seen."""
    sections = {".nv_fatbin": fatbin("sm_90"), ".nvFatBinSegment": wrapper(2) + wrapper()}
    assert read_device_code(elf(sections)).num_fatbins == 1


def test_code_that_was_never_linked_is_told() -> None:
    """Relocatable code alone: its targets are listed, and that it cannot run."""
    found = read_device_code(elf({"__nv_relfatbin": fatbin("sm_90")}))
    assert (found.kind, found.in_all, found.is_unlinked) == ("cuda", {"sm_90"}, True)


def test_versions_of_ptx_are_in_order() -> None:
    """10.0 is newer than 9.3."""
    code = fatbin(*(entry("compute_90", isa=isa) for isa in ("10.0", "8.7", "9.3")))
    assert read_device_code(elf({".nv_fatbin": code})).isas == ("8.7", "9.3", "10.0")


def test_code_among_data_is_found() -> None:
    """libcufft keeps its fat binaries among its data, one for each target."""
    gap = b"\x33" * 100_000 + b"\x50\xed\x55\xba" * 3
    data = gap + aligned(fatbin("sm_90"), fatbin("sm_100"))
    found = read_device_code(elf({".nv_fatbin": fatbin("sm_75"), ".ldata": data}))
    assert found.fatbins == {("sm_75",): 1, ("sm_90",): 1, ("sm_100",): 1}
    assert found.has_code_as_data


@pytest.mark.parametrize("gap", range(55, 75))
def test_code_among_data_is_found_wherever_it_begins(gap: int) -> None:
    """Across the borders of what is read at once, too."""
    sections = {".nv_fatbin": fatbin("sm_75"), ".ldata": b"\x33" * gap + fatbin("sm_90")}
    assert read_device_code(elf(sections)).num_fatbins == 2


def test_data_are_not_looked_through_without_end() -> None:
    """Beyond the bound nothing is looked for, and what was found stands."""

    class Sparse:
        """An ELF file whose .ldata goes on and on; counts what is read."""

        read = 0

        def __init__(self) -> None:
            self.head = elf({".nv_fatbin": fatbin("sm_75"), ".ldata": b"\x33" * 16})
            self.more = 10 * MOST_OTHER_DATA
            at = self.head.index(b"\x33" * 16)
            grown = bytearray(self.head)
            table = int.from_bytes(grown[0x28:0x30], "little")
            row = next(
                place
                for place in range(table, len(grown), 64)
                if int.from_bytes(grown[place + 24 : place + 32], "little") == at
            )
            grown[row + 32 : row + 40] = self.more.to_bytes(8, "little")
            self.head = bytes(grown)

        def __len__(self) -> int:
            return len(self.head) + self.more

        def __getitem__(self, place: slice) -> bytes:
            start, stop, _ = place.indices(len(self))
            self.read += stop - start
            return self.head[start:stop].ljust(max(0, stop - start), b"\x33")

    data = Sparse()
    assert read_device_code(data).fatbins == {("sm_75",): 1}
    assert data.read < 1.5 * MOST_OTHER_DATA


@pytest.mark.parametrize("pack", [lambda plain: plain, compressed])
def test_bundles_of_hip(pack: object) -> None:
    """A library of HIP has a bundle for each translation unit."""
    assert callable(pack)
    one, two = pack(bundle(["gfx90a", "gfx942"])), pack(bundle(["gfx942"]))
    code = one.ljust(-(-len(one) // 4096) * 4096, b"\0") + two
    found = read_device_code(elf({".hip_fatbin": code}))
    assert (found.kind, found.num_fatbins, found.in_all) == ("hip", 2, {"gfx942"})


@pytest.mark.parametrize(
    "data",
    [code_object(0x4C, xnack=1, sramecc=1), bundle(["gfx942"]), compressed(bundle(["gfx942"]))],
)
def test_code_in_a_file_of_its_own(data: bytes) -> None:
    """A code object (.hsaco) and a bundle beside the library (.co) are device code."""
    found = read_device_code(data)
    assert (found.kind, found.fatbins) == ("hip", {("gfx942",): 1})


@pytest.mark.parametrize(
    ("sections", "kind", "read"),
    [
        ({".nv_fatbin": fatbin("sm_80") + b"\x99" * 64}, "cuda", 1),
        ({".nv_fatbin": fatbin("sm_80")[:-8]}, "cuda", 0),
        ({".nv_fatbin": b"\x99" * 64}, "cuda", 0),
        ({".hip_fatbin": bundle(["gfx942"]) + b"\x99" * 64}, "hip", 1),
        ({".hip_fatbin": compressed(bundle(["gfx942"]))[:-1]}, "hip", 0),
    ],
)
def test_trouble_is_told_with_what_was_read(
    sections: dict[str, bytes], kind: str, read: int
) -> None:
    """What cannot be read to its end is never taken for a library without code."""
    found = read_device_code(elf(sections))
    assert (found.kind, found.num_fatbins) == (kind, read)
    assert found.trouble


def test_empty_sections_are_no_device_code() -> None:
    """A section of padding alone holds nothing."""
    assert read_device_code(elf({".nv_fatbin": b"\0" * 64})).kind == "none"
    assert read_device_code(elf({".hip_fatbin": b"\0" * 64})).kind == "none"


@pytest.mark.parametrize("data", [b"", b"INPUT(libfoo.so.1)\n", b"!<arch>\n"])
def test_what_has_only_the_name_of_a_library(data: bytes) -> None:
    """A linker's script is no library, and no trouble."""
    found = read_device_code(data)
    assert (found.kind, found.is_library, found.trouble) == ("none", False, "")


def test_zeros_and_tables_that_lie_are_trouble() -> None:
    """A damaged file is told as such."""
    assert "zeros" in read_device_code(b"\0" * 4096).trouble
    assert "cut short" in read_device_code(elf(HOST)[:-1]).trouble
