"""Device code of AMD in a file of its own (``.hsaco``, ``.co``): a pure reader of its target.

Source: LLVM, user guide for the AMDGPU backend, "ELF Code Object", tables of EF_AMDGPU_MACH and of
the feature bits of code object version 4 and later.
"""

from __future__ import annotations

import struct

from preflight.compat.buffers import Buffer

EM_AMDGPU = 224
_HEAD = struct.Struct("<4sBBBBB7xHH")
"""Magic, class, order, version, OS ABI, ABI version; then type and machine."""
_FLAGS_AT = 48
_OF_VERSION_4 = 2
"""EI_ABIVERSION from which on a feature can be "any"."""
MACHINES = {
    0x2C: "gfx900",
    0x2F: "gfx906",
    0x30: "gfx908",
    0x33: "gfx1010",
    0x36: "gfx1030",
    0x3F: "gfx90a",
    0x40: "gfx940",
    0x41: "gfx1100",
    0x43: "gfx1150",
    0x44: "gfx1103",
    0x46: "gfx1101",
    0x47: "gfx1102",
    0x48: "gfx1200",
    0x49: "gfx1250",
    0x4A: "gfx1151",
    0x4B: "gfx941",
    0x4C: "gfx942",
    0x4E: "gfx1201",
    0x4F: "gfx950",
    0x51: "gfx9-generic",
    0x52: "gfx10-1-generic",
    0x53: "gfx10-3-generic",
    0x54: "gfx11-generic",
    0x55: "gfx1152",
    0x58: "gfx1153",
    0x59: "gfx12-generic",
    0x5F: "gfx9-4-generic",
}
_SIGNS = {2: "-", 3: "+"}
"""1 is "any", 0 is "not supported"; both leave the name out."""


def code_object_target(data: Buffer) -> str | None:
    """``gfx942:xnack-``; None for what is no code object of AMD.

    A processor that is not in the table is named by its number, ``mach 0x7f``, and fits no device.
    """
    head = data[:64]
    if len(head) < 64:
        return None
    magic, _, _, _, _, abi, _, machine = _HEAD.unpack_from(head)
    if magic != b"\x7fELF" or machine != EM_AMDGPU:
        return None
    (flags,) = struct.unpack_from("<I", head, _FLAGS_AT)
    mach = flags & 0xFF
    name = MACHINES.get(mach, f"mach {mach:#x}")
    if abi < _OF_VERSION_4:
        return name
    sramecc, xnack = _SIGNS.get(flags >> 10 & 3, ""), _SIGNS.get(flags >> 8 & 3, "")
    return name + (f":sramecc{sramecc}" if sramecc else "") + (f":xnack{xnack}" if xnack else "")
