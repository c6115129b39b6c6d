"""Offload bundles of HIP, plain and compressed."""

from __future__ import annotations

import struct
import zlib

import pytest
import zstandard

from preflight.compat.hip_bundle import (
    MOST_PADDING,
    TABLE_BYTES,
    BundleError,
    read_bundles,
    target_of,
)

from .binaries import bundle, compressed

TARGETS = ("gfx90a:sramecc+:xnack-", "gfx942", "gfx9-4-generic", "gfx1100")


@pytest.mark.parametrize(
    ("entry_id", "target"),
    [
        ("hipv4-amdgcn-amd-amdhsa--gfx900", "gfx900"),
        ("hipv4-amdgcn-amd-amdhsa--gfx942:sramecc+:xnack-", "gfx942:sramecc+:xnack-"),
        ("hipv4-amdgcn-amd-amdhsa--gfx9-4-generic", "gfx9-4-generic"),
        ("hip-amdgcn-amd-amdhsa-gfx906", "gfx906"),
        ("openmp-amdgcn-amd-amdhsa-unknown", "openmp-amdgcn-amd-amdhsa-unknown"),
    ],
)
def test_the_target_stands_at_the_end_of_an_id(entry_id: str, target: str) -> None:
    """Old ids have one dash before it, new ones two."""
    assert target_of(entry_id) == target


@pytest.mark.parametrize(
    "data",
    [
        bundle(TARGETS),
        *(compressed(bundle(TARGETS), version=v, method=m) for v in (1, 2, 3) for m in (0, 1)),
    ],
)
def test_every_form_of_a_bundle_is_read(data: bytes) -> None:
    """Plain, and compressed in the three versions by zlib and by zstd; the host is left out."""
    (found,) = read_bundles(data)
    assert found.targets == TARGETS
    assert found.is_compressed is data.startswith(b"CCOB")


def test_bundles_follow_one_another_at_pages() -> None:
    """A library has one for each translation unit, which need not have the same targets."""
    parts = [bundle(["gfx942"]), compressed(bundle(["gfx90a"])), bundle(["gfx1100", "gfx942"])]
    data = b"".join(part.ljust(-(-len(part) // 4096) * 4096, b"\0") for part in parts)
    assert [found.targets for found in read_bundles(data)] == [
        ("gfx942",),
        ("gfx90a",),
        ("gfx1100", "gfx942"),
    ]


def test_an_entry_without_code_is_none() -> None:
    """A target whose entry is empty has no code."""
    data = bytearray(bundle(["gfx942"]))
    at = data.index(b"hipv4") - 16
    struct.pack_into("<Q", data, at, 0)
    (found,) = read_bundles(bytes(data[:4096]))
    assert found.targets == ()


@pytest.mark.parametrize("packer", [zlib.compress, zstandard.compress])
def test_a_bomb_does_not_go_off(packer: object) -> None:
    """Of what was compressed only the table at its head is unpacked, be it 64 MiB of zeros."""
    assert callable(packer)
    plain = bundle(TARGETS) + b"\0" * (64 * 1024 * 1024)
    packed = packer(plain)
    method = 0 if packer is zlib.compress else 1
    head = struct.pack("<4sHHQQQ", b"CCOB", 3, method, 32 + len(packed), len(plain), 0)
    (found,) = read_bundles(head + packed)
    assert found.targets == TARGETS
    assert len(packed) < TABLE_BYTES * 8


def test_a_frame_that_asks_for_too_much_memory_is_refused() -> None:
    """A zstd frame whose window is 2 GiB is an error, before its memory is taken."""
    frame = struct.pack("<IBB", 0xFD2FB528, 0x00, (31 - 10) << 3) + b"\x01\0\0"
    data = struct.pack("<4sHHQQQ", b"CCOB", 3, 1, 32 + len(frame), 10, 0) + frame
    with pytest.raises(BundleError, match="cannot be read"):
        list(read_bundles(data))


PLAIN = bundle(["gfx942"])


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"\x01" * 64, "no bundle begins"),
        (PLAIN[:28], "cut short"),
        (PLAIN[:40], "cut short"),
        (PLAIN[:-1], "claims"),
        (PLAIN[:24] + struct.pack("<Q", 2**40) + PLAIN[32:], "claims 1099511627776 entries"),
        (PLAIN[:48] + struct.pack("<Q", 2**50) + PLAIN[56:], "an id of the bundle"),
        (compressed(PLAIN)[:6], "cut short"),
        (compressed(PLAIN)[:20], "cut short"),
        (compressed(PLAIN)[:-1], "claims"),
        (compressed(PLAIN, version=2)[:-1], "claims"),
        (b"CCOB" + struct.pack("<HH", 9, 1) + b"\0" * 24, "version 9"),
        (compressed(PLAIN)[:6] + struct.pack("<H", 7) + compressed(PLAIN)[8:], "method 7"),
        (compressed(b"no bundle at all, however long"), "holds no bundle"),
        (compressed(PLAIN, method=0)[:32] + b"\xff" * 200, "c"),
        (b"\0" * (MOST_PADDING + 8192), "zeros from"),
    ],
)
def test_lies_are_found(data: bytes, words: str) -> None:
    """What is no bundle ends in an error that says where and why."""
    with pytest.raises(BundleError, match=words):
        list(read_bundles(data))


def test_a_bundle_cut_at_any_byte_is_an_error() -> None:
    """However a compressed bundle was cut, there is an error and nothing else."""
    data = compressed(bundle(TARGETS))
    for cut in range(1, len(data)):
        with pytest.raises(BundleError):
            list(read_bundles(data[:cut]))
