"""Device code of CUDA as it lies in a library: a pure reader of fat binaries.

NVIDIA does not document the layout. Magic, sizes and kinds are those that nvcc 11.8 to 13.2 and the
wheels built with them were seen to write; CUDA's header ``fatbinary_section.h`` names the wrapper.
Nothing is decompressed: architecture, kind and suffix stand in the clear.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Literal

import msgspec

from preflight.compat.buffers import Buffer, skip_zeros

CodeKind = Literal["cubin", "ptx", "lto"]

MAGIC = 0xBA55ED50
MAGIC_BYTES = struct.pack("<I", MAGIC)
_HEADER = struct.Struct("<IHHQ")
"""Magic, version, size of this header, size of the payload."""
_ENTRY = struct.Struct("<HHIQIIHHI")
"""Kind, 0x0101, size of this header, size of the payload, compressed size, offset of the options,
minor and major version (of PTX), architecture as a decimal number."""
_FLAGS = struct.Struct("<Q")
_FLAGS_AT = 40
_LEAST_ENTRY = 64
_MOST_ENTRY = 4096
"""No header of an entry was seen beyond 120 bytes."""
_SPECIFIC, _FAMILY = 0x100000, 0x200000
_COMPRESSED = 0x2000 | 0x8000
_KINDS: dict[int, CodeKind] = {1: "ptx", 2: "cubin", 8: "lto"}
MOST_PADDING = 1024 * 1024
"""Zeros between two of them; linkers were seen to put less than 4 KiB."""
MOST_FATBINS = 200_000
"""libcufft 12.0 has the most that was seen, 23984."""
MOST_ENTRIES = 4096
"""The most that was seen in one is 24."""
_COMMON_ENTRY = 128
"""Read at once; covers every header that was seen."""


class FatbinError(ValueError):
    """Bytes that are no fat binary, or one that was cut short; the text says where."""


class DeviceCode(msgspec.Struct, frozen=True, kw_only=True):
    """One entry of a fat binary."""

    kind: CodeKind
    """``cubin`` runs as it is, ``ptx`` is compiled by the driver, ``lto`` only by a linker."""
    target: str
    """``sm_90a``, ``compute_120``."""
    isa: str | None = None
    """Version of the PTX language, ``8.7``; a driver must know it."""
    offset: int
    """Of its payload in the buffer."""
    num_bytes: int
    is_compressed: bool = False


class Fatbin(msgspec.Struct, frozen=True, kw_only=True):
    """The device code of one translation unit; a kernel exists for the targets of its own alone."""

    offset: int
    num_bytes: int
    codes: tuple[DeviceCode, ...]


def read_fatbins(data: Buffer, start: int = 0, end: int | None = None) -> Iterator[Fatbin]:
    """Every fat binary of a section, in order; zeros between them are passed over.

    Raises FatbinError for what is neither, after all that came before it was given.
    """
    end = len(data) if end is None else end
    at = start
    for _ in range(MOST_FATBINS):
        at = _next(data, at, end)
        if at >= end:
            return
        fatbin = read_fatbin(data, at, end)
        yield fatbin
        at = fatbin.offset + fatbin.num_bytes
    raise FatbinError(f"more than {MOST_FATBINS} fat binaries")


def read_fatbin(data: Buffer, at: int, end: int) -> Fatbin:
    """The fat binary at ``at``; raises FatbinError where it is none or runs past ``end``."""
    if end - at < _HEADER.size:
        raise FatbinError(f"{end - at} bytes at {at:#x} are too few for a fat binary")
    magic, version, header, payload = _HEADER.unpack(data[at : at + _HEADER.size])
    if magic != MAGIC:
        raise FatbinError(f"no fat binary begins at {at:#x}")
    if version != 1 or header < _HEADER.size:
        raise FatbinError(f"the fat binary at {at:#x} is of version {version}, not 1")
    stop = at + header + payload
    if stop > end:
        raise FatbinError(
            f"the fat binary at {at:#x} claims {payload} bytes, {end - at - header} are there"
        )
    codes = tuple(_entries(data, at + header, stop))
    return Fatbin(offset=at, num_bytes=stop - at, codes=codes)


def _next(data: Buffer, at: int, end: int) -> int:
    """Where the next one begins: after nothing but zeros, which align it to 8 bytes."""
    found = skip_zeros(data, at, end, most=MOST_PADDING)
    if found is None:
        raise FatbinError(f"zeros from {at:#x} on, where a fat binary ought to begin")
    return found


def _entries(data: Buffer, at: int, end: int) -> Iterator[DeviceCode]:
    for _ in range(MOST_ENTRIES):
        if at >= end:
            return
        head = data[at : min(at + _COMMON_ENTRY, end)]
        if len(head) < _LEAST_ENTRY:
            if not bytes(head).strip(b"\0"):
                return
            raise FatbinError(f"an entry at {at:#x} is cut short")
        kind, _, header, payload, packed, _, minor, major, arch = _ENTRY.unpack_from(head)
        if not _LEAST_ENTRY <= header <= _MOST_ENTRY or at + header + payload > end:
            raise FatbinError(f"the entry at {at:#x} claims {header} and {payload} bytes")
        (flags,) = _FLAGS.unpack_from(head, _FLAGS_AT)
        if kind in _KINDS:
            yield _code(_KINDS[kind], arch, flags, (major, minor), packed, at + header, payload)
        at += header + payload
    raise FatbinError(f"a fat binary has more than {MOST_ENTRIES} entries")


def _code(
    kind: CodeKind,
    arch: int,
    flags: int,
    version: tuple[int, int],
    packed: int,
    offset: int,
    payload: int,
) -> DeviceCode:
    prefix = {"cubin": "sm", "ptx": "compute", "lto": "lto"}[kind]
    suffix = "a" if flags & _SPECIFIC else "f" if flags & _FAMILY else ""
    return DeviceCode(
        kind=kind,
        target=f"{prefix}_{arch}{suffix}",
        isa=f"{version[0]}.{version[1]}" if kind == "ptx" else None,
        offset=offset,
        num_bytes=packed or payload,
        is_compressed=bool(flags & _COMPRESSED) or packed > 0,
    )
