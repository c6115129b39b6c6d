"""Device code of HIP as it lies in a library: a pure reader of offload bundles.

Source: LLVM, "Clang Offload Bundler" (bundle layout, compressed bundles), versions 1 to 3. Only the
table at the head of a bundle is decompressed, so that no bundle can blow up.
"""

from __future__ import annotations

import io
import re
import struct
import zlib
from collections.abc import Iterator

import msgspec
import zstandard

from preflight.compat.buffers import Buffer, skip_zeros

PLAIN = b"__CLANG_OFFLOAD_BUNDLE__"
COMPRESSED = b"CCOB"
TABLE_BYTES = 256 * 1024
"""How much of a compressed bundle is looked at: a table of 64 targets takes 6 KiB."""
PACKED_BYTES = 8 * TABLE_BYTES
"""How much of it is read: more than TABLE_BYTES take, for a zstd block is up to 128 KiB."""
MOST_ENTRIES = 1024
MOST_BUNDLES = 100_000
MOST_PADDING = 1024 * 1024
"""Zeros between two bundles, which begin at pages."""
MOST_WINDOW = 128 * 1024 * 1024
"""Memory that a zstd frame may ask for: what LLVM's long-distance matching uses."""
_COUNT = struct.Struct("<Q")
_ENTRY = struct.Struct("<QQQ")
"""Offset from the bundle's begin, size, length of the id that follows."""
_PACKED = {1: struct.Struct("<4sHHIQ"), 2: struct.Struct("<4sHHIIQ"), 3: struct.Struct("<4sHHQQQ")}
"""Magic, version, method, then by version: uncompressed size and hash; total and uncompressed size
and hash as 32 or 64 bits."""
_ZLIB, _ZSTD = 0, 1
_TARGET = re.compile(r"gfx[0-9a-f].*$")


class BundleError(ValueError):
    """Bytes that are no bundle, or one that was cut short; the text says where."""


class Bundle(msgspec.Struct, frozen=True, kw_only=True):
    """The device code of one translation unit."""

    offset: int
    num_bytes: int
    targets: tuple[str, ...]
    """``gfx942:sramecc+:xnack-``, those that hold code; the host's entry is left out."""
    is_compressed: bool = False


def read_bundles(data: Buffer, start: int = 0, end: int | None = None) -> Iterator[Bundle]:
    """Every bundle of a section, in order.

    Raises BundleError for bytes that are none, after all that came before were given.
    """
    end = len(data) if end is None else end
    at = start
    for _ in range(MOST_BUNDLES):
        found = skip_zeros(data, at, end, most=MOST_PADDING)
        if found is None:
            raise BundleError(f"zeros from {at:#x} on, where a bundle ought to begin")
        if found >= end:
            return
        bundle = _read(data, found, end)
        yield bundle
        at = found + bundle.num_bytes
    raise BundleError(f"more than {MOST_BUNDLES} bundles")


def _read(data: Buffer, at: int, end: int) -> Bundle:
    head = data[at : min(at + len(PLAIN), end)]
    if head == PLAIN:
        targets, size = _table(data, at, end - at)
        if size > end - at:
            raise BundleError(f"the bundle at {at:#x} claims {size} bytes, {end - at} are there")
        return Bundle(offset=at, num_bytes=size, targets=targets)
    if head[: len(COMPRESSED)] == COMPRESSED:
        return _compressed(data, at, end)
    raise BundleError(f"no bundle begins at {at:#x}")


def _table(data: Buffer, at: int, room: int) -> tuple[tuple[str, ...], int]:
    """Targets with code, and how many bytes the bundle takes."""
    place = at + len(PLAIN)
    stop = at + room
    if place + _COUNT.size > stop:
        raise BundleError(f"the bundle at {at:#x} is cut short")
    (count,) = _COUNT.unpack(data[place : place + _COUNT.size])
    place += _COUNT.size
    if count > MOST_ENTRIES:
        raise BundleError(f"the bundle at {at:#x} claims {count} entries")
    targets, size = [], place - at
    for _ in range(count):
        if place + _ENTRY.size > stop:
            raise BundleError(f"the bundle at {at:#x} is cut short")
        offset, num_bytes, length = _ENTRY.unpack(data[place : place + _ENTRY.size])
        place += _ENTRY.size
        if length > 512 or place + length > stop:
            raise BundleError(f"an id of the bundle at {at:#x} claims {length} bytes")
        name = data[place : place + length].decode("ascii", "replace")
        place += length
        size = max(size, place - at, offset + num_bytes)
        if num_bytes and not name.startswith("host-"):
            targets.append(target_of(name))
    return tuple(targets), size


def target_of(entry_id: str) -> str:
    """``gfx942:sramecc+:xnack-`` of ``hipv4-amdgcn-amd-amdhsa--gfx942:sramecc+:xnack-``."""
    found = _TARGET.search(entry_id)
    return found[0] if found else entry_id


def _compressed(data: Buffer, at: int, end: int) -> Bundle:
    if at + 8 > end:
        raise BundleError(f"the bundle at {at:#x} is cut short")
    version = int.from_bytes(data[at + 4 : at + 6], "little")
    layout = _PACKED.get(version)
    if layout is None:
        raise BundleError(f"the compressed bundle at {at:#x} is of version {version}, not 1 to 3")
    if at + layout.size > end:
        raise BundleError(f"the bundle at {at:#x} is cut short")
    fields = layout.unpack(data[at : at + layout.size])
    total = fields[3] if version > 1 else end - at  # version 1 does not tell where it ends
    if not layout.size < total <= end - at:
        raise BundleError(f"the bundle at {at:#x} claims {total} bytes, {end - at} are there")
    body = data[at + layout.size : at + min(total, layout.size + PACKED_BYTES)]
    head = _unpacked(body, fields[2], at)
    if head[: len(PLAIN)] != PLAIN:
        raise BundleError(f"the compressed bundle at {at:#x} holds no bundle")
    targets, _ = _table(head, 0, len(head))
    return Bundle(offset=at, num_bytes=total, targets=targets, is_compressed=True)


def _unpacked(body: bytes, method: int, at: int) -> bytes:
    """The first TABLE_BYTES of what was compressed."""
    try:
        if method == _ZLIB:
            return zlib.decompressobj().decompress(body, TABLE_BYTES)
        if method == _ZSTD:
            engine = zstandard.ZstdDecompressor(max_window_size=MOST_WINDOW)
            return engine.stream_reader(io.BytesIO(body)).read(TABLE_BYTES)
    except (zlib.error, zstandard.ZstdError) as error:
        raise BundleError(f"the compressed bundle at {at:#x} cannot be read: {error}") from error
    raise BundleError(f"the bundle at {at:#x} is compressed by method {method}, not zlib or zstd")
