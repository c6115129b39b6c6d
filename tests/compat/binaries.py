"""Real bytes of libraries, made by hand: fat binaries, bundles, ELF and PE files."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Mapping, Sequence

import zstandard

from preflight.compat.symbols import gnu_hash

KINDS = {"compute": 1, "sm": 2, "lto": 8}
SUFFIXES = {"a": 0x100000, "f": 0x200000}
LINUX, LZ4, ZSTD = 0x11, 0x2000, 0x8000


def entry(target: str, *, isa: str = "9.0", payload: bytes = b"\x11" * 64, flags: int = 0) -> bytes:
    """One entry of a fat binary: ``sm_90a``, ``compute_120``, ``lto_75``."""
    kind, _, number = target.partition("_")
    suffix = number[-1] if number[-1] in SUFFIXES else ""
    major, minor = map(int, isa.split(".")) if kind == "compute" else (1, 8)
    header = struct.pack(
        "<HHIQIIHHIIIQQQ",
        *(KINDS[kind], 0x0101, 64, len(payload), len(payload) if flags & (LZ4 | ZSTD) else 0, 0),
        *(minor, major, int(number.rstrip("af")), 0, 0),
        *(LINUX | flags | SUFFIXES.get(suffix, 0), 0, 0),
    )
    return header + payload


def fatbin(*entries: bytes | str) -> bytes:
    """A fat binary of entries, or of targets."""
    body = b"".join(entry(one) if isinstance(one, str) else one for one in entries)
    return struct.pack("<IHHQ", 0xBA55ED50, 1, 16, len(body)) + body


def wrapper(version: int = 1) -> bytes:
    """What points to a fat binary: version 2 is the device linker's."""
    return struct.pack("<IIQQ", 0x466243B1, version, 0, 0)


def elf(sections: Mapping[str, bytes], *, machine: int = 62, flags: int = 0, abi: int = 0) -> bytes:
    """An ELF file of 64 bits with these sections, its table at the end as linkers put it."""
    names = b"\0" + b"".join(name.encode() + b"\0" for name in [*sections, ".shstrtab"])
    body, rows, name_at = bytearray(64), [b"\0" * 64], 1
    for name, data in [*sections.items(), (".shstrtab", names)]:
        body += b"\0" * (-len(body) % 16)
        rows.append(_row(name_at, 1, len(body), len(data)))
        name_at += len(name) + 1
        body += data
    body += b"\0" * (-len(body) % 8)
    magic = b"\x7fELF" + bytes([2, 1, 1, 0, abi]) + b"\0" * 7
    body[:64] = struct.pack(
        "<16sHHIQQQIHHHHHH",
        *(magic, 3, machine, 1, 0, 0, len(body), flags, 64, 0, 0, 64, len(rows), len(rows) - 1),
    )
    return bytes(body) + b"".join(rows)


def _row(name: int, kind: int, offset: int, size: int) -> bytes:
    return struct.pack("<IIQQQQIIQQ", name, kind, 0, 0, offset, size, 0, 0, 0, 0)


def pe(sections: Mapping[str, bytes]) -> bytes:
    """A PE file with these sections; names are cut to eight letters, as linkers cut them."""
    head = bytearray(b"MZ" + b"\0" * 62)
    struct.pack_into("<I", head, 0x3C, 64)
    head += b"PE\0\0" + struct.pack("<HHIIIHH", 0x8664, len(sections), 0, 0, 0, 16, 0) + b"\0" * 16
    at, rows, body = len(head) + 40 * len(sections), b"", b""
    for name, data in sections.items():
        raw = name.encode()[:8]
        rows += struct.pack("<8sIIIIIIHHI", raw, len(data), 0, len(data), at, 0, 0, 0, 0, 0)
        body += data
        at += len(data)
    return bytes(head) + rows + body


def bundle(targets: Sequence[str], *, host: str = "host-x86_64-unknown-linux-gnu-") -> bytes:
    """A plain bundle of HIP; the host's entry is empty."""
    names = [host, *(f"hipv4-amdgcn-amd-amdhsa--{target}" for target in targets)]
    table = 24 + 8 + sum(24 + len(name) for name in names)
    rows, body, at = b"", b"", -(-table // 4096) * 4096
    for name in names:
        code = b"" if name == host else b"\x7fELF" + b"\x22" * 60
        rows += struct.pack("<QQQ", at + len(body), len(code), len(name)) + name.encode()
        body += code
    head = b"__CLANG_OFFLOAD_BUNDLE__" + struct.pack("<Q", len(names)) + rows
    return head.ljust(at, b"\0") + body


def compressed(plain: bytes, *, version: int = 3, method: int = 1) -> bytes:
    """A compressed bundle, by zlib (0) or zstd (1)."""
    packed = zlib.compress(plain) if method == 0 else zstandard.compress(plain)
    layout = {1: "<4sHHIQ", 2: "<4sHHIIQ", 3: "<4sHHQQQ"}[version]
    total = struct.calcsize(layout) + len(packed)
    sizes = (len(plain),) if version == 1 else (total, len(plain))
    return struct.pack(layout, b"CCOB", version, method, *sizes, 0) + packed


def code_object(mach: int, *, xnack: int = 0, sramecc: int = 0, abi: int = 4) -> bytes:
    """AMD's code in a file of its own; a feature is 0 none, 1 any, 2 off, 3 on."""
    return elf({}, machine=224, flags=mach | xnack << 8 | sramecc << 10, abi=abi)


class Strings:
    """A string table that grows."""

    def __init__(self) -> None:
        self.data = b"\0"

    def at(self, text: str) -> int:
        """Where a text stands, which is added."""
        place = len(self.data)
        self.data += text.encode() + b"\0"
        return place


def library(
    *,
    soname: str = "",
    needed: Sequence[str] = (),
    rpath: str = "",
    runpath: str = "",
    versions: Mapping[str, Sequence[str]] | None = None,
    defined_versions: Sequence[str] = (),
    undefined: Sequence[str] = (),
    weak: Sequence[str] = (),
    defined: Sequence[str] = (),
    more: Mapping[str, bytes] | None = None,
) -> bytes:
    """A shared library as the loader sees it; ``versions`` are needed, by library."""
    texts = Strings()
    tags = [(1, texts.at(name)) for name in needed]
    for tag, text in ((14, soname), (15, rpath), (29, runpath)):
        tags += [(tag, texts.at(text))] if text else []
    dynamic = b"".join(struct.pack("<qQ", *pair) for pair in [*tags, (0, 0)])
    sections = {
        ".dynsym": _symbols(texts, undefined, weak, defined),
        ".gnu.hash": _hash(defined, 1 + len(undefined) + len(weak)),
        ".gnu.version_r": _needed(texts, versions or {}),
        ".gnu.version_d": _defined(texts, defined_versions),
        ".dynamic": dynamic,
    }
    return elf({**sections, ".dynstr": texts.data, **(more or {})})


def _symbols(
    texts: Strings, undefined: Sequence[str], weak: Sequence[str], defined: Sequence[str]
) -> bytes:
    rows = [b"\0" * 24]
    rows += [struct.pack("<IBBHQQ", texts.at(name), 0x12, 0, 0, 0, 0) for name in undefined]
    rows += [struct.pack("<IBBHQQ", texts.at(name), 0x22, 0, 0, 0, 0) for name in weak]
    for name in _in_buckets(defined):
        rows.append(struct.pack("<IBBHQQ", texts.at(name), 0x12, 0, 7, 0x1000, 8))
    return b"".join(rows)


BUCKETS = 3


def _in_buckets(names: Sequence[str]) -> list[str]:
    return sorted(names, key=lambda name: gnu_hash(name) % BUCKETS)


def _hash(defined: Sequence[str], first: int) -> bytes:
    """A GNU hash table of three buckets with a Bloom filter that lets all pass."""
    hashes = [gnu_hash(name) for name in _in_buckets(defined)]
    buckets, chain = [0] * BUCKETS, []
    for index, value in enumerate(hashes):
        bucket = value % BUCKETS
        buckets[bucket] = buckets[bucket] or first + index
        is_last = index + 1 == len(hashes) or hashes[index + 1] % BUCKETS != bucket
        chain.append(value & ~1 | is_last)
    head = struct.pack("<IIIIQ", BUCKETS, first, 1, 5, 2**64 - 1)
    return head + struct.pack(f"<{BUCKETS}I", *buckets) + struct.pack(f"<{len(chain)}I", *chain)


def _needed(texts: Strings, versions: Mapping[str, Sequence[str]]) -> bytes:
    table = b""
    for index, (name, wanted) in enumerate(versions.items()):
        size = 16 + 16 * len(wanted)
        step = size if index + 1 < len(versions) else 0
        table += struct.pack("<HHIII", 1, len(wanted), texts.at(name), 16, step)
        for place, version in enumerate(wanted):
            more = 16 if place + 1 < len(wanted) else 0
            table += struct.pack("<IHHII", 0, 0, 2, texts.at(version), more)
    return table


def _defined(texts: Strings, versions: Sequence[str]) -> bytes:
    table = b""
    for index, version in enumerate(versions):
        step = 28 if index + 1 < len(versions) else 0
        table += struct.pack("<HHHHIII", 1, 0, index + 1, 1, 0, 20, step)
        table += struct.pack("<II", texts.at(version), 0)
    return table
