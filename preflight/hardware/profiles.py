"""Machines that can be simulated, by name, and the faults that can be put into them."""

from __future__ import annotations

import difflib
import functools
import re
import sys
from importlib import import_module
from pathlib import Path
from typing import Any, Literal

import msgspec

from preflight.errors import UsageError
from preflight.hardware.catalog import Product, products

_toml: Any = import_module("tomllib" if sys.version_info >= (3, 11) else "tomli")

TABLE = Path(__file__).with_name("profiles.toml")
_FAULT = re.compile(r"(?P<name>[a-z0-9]+(?:-[a-z][a-z0-9]*)*)(?:-(?P<card>\d+))?")
_WRITE = "write PROFILE, PROFILE:FAULT or PROFILE:FAULT+FAULT; preflight list --profiles"

Kind = Literal["cuda", "hip"]

SILENT_FABRIC = ("sm_80",)
"""NVSwitch of an A100 registers nothing that NVML could tell."""


class ProfileFault(msgspec.Struct, frozen=True, kw_only=True):
    """A kind of fault that a simulated machine can have."""

    meaning: str
    on_card: bool = False
    """It strikes one card and takes its number: ``ecc-2``."""
    kinds: tuple[Kind, ...] = ("cuda", "hip")
    """Kinds of machines that can have it."""
    needs: Literal["", "ecc", "fabric", "link", "rdma", "slices"] = ""
    """What the product must have for it: memory with ECC and spare rows, an NVSwitch fabric that
    NVML tells of, links, a host with RDMA ports, MIG."""


class ProfileRow(msgspec.Struct, frozen=True, kw_only=True):
    """One shipped profile."""

    product: str
    """Name of the catalogue."""
    cards: int
    aliases: tuple[str, ...] = ()
    kind: Kind
    driver: str
    old_driver: str = ""
    """Older than the product's own floor."""
    driver_cuda: str | None = None
    old_cuda: int = 0
    """Newest CUDA of the old driver, as NVML counts: 12070 is 12.7."""
    torch: str
    """The torch build that the static stages judge: ``2.13.0+cu130``."""
    cuda: str | None = None
    hip: str | None = None
    arch_list: tuple[str, ...]
    """What that build holds code for."""
    wrong_product: str
    """What ``wrong-product`` delivers instead, by its name in the catalogue."""
    superchip: bool = False
    """Cards sit beside a Grace CPU and have NUMA nodes of their own."""


class Profiles(msgspec.Struct, frozen=True, kw_only=True):
    """The whole table."""

    faults: dict[str, ProfileFault]
    profiles: dict[str, ProfileRow]


class Struck(msgspec.Struct, frozen=True, kw_only=True):
    """One fault as it was asked for."""

    name: str
    card: int | None = None


class Profile(msgspec.Struct, frozen=True, kw_only=True):
    """A machine to simulate."""

    text: str
    """As it was written: ``2xB200:missing-1``."""
    name: str
    row: ProfileRow
    faults: tuple[Struck, ...] = ()

    @property
    def kind(self) -> Kind:
        """``cuda`` or ``hip``."""
        return self.row.kind


@functools.cache
def shipped() -> Profiles:
    """The table as it is shipped."""
    return msgspec.convert(_toml.loads(TABLE.read_text(encoding="utf-8")), Profiles)


def read_profile(text: str, *, where: str) -> Profile:
    """The machine that ``text`` names; raises UsageError, naming ``where``, for what is none."""
    name, _, rest = text.partition(":")
    rows = {a: n for n, row in shipped().profiles.items() for a in (n, *row.aliases)}
    by_lower = {alias.lower(): alias for alias in rows}
    alias = by_lower.get(name.strip().lower())
    if alias is None:
        near = difflib.get_close_matches(name, list(rows), n=1)
        hint = f"did you mean {near[0]}? " if near else ""
        known = ", ".join(shipped().profiles)
        raise UsageError(
            f"no machine is called {name!r}", where=where, mend=f"{hint}There are {known}"
        )
    row = shipped().profiles[rows[alias]]
    if ":" in text and not rest:
        raise UsageError(f"{text!r} names no fault", where=where, mend=_WRITE)
    faults = (
        tuple(_fault(part, rows[alias], row, where) for part in rest.split("+")) if rest else ()
    )
    if len(set(faults)) < len(faults):
        raise UsageError(f"{text!r} names a fault twice", where=where, mend="name it once")
    return Profile(text=text, name=rows[alias], row=row, faults=faults)


def _fault(text: str, name: str, row: ProfileRow, where: str) -> Struck:
    match = _FAULT.fullmatch(text.strip())
    fault = shipped().faults.get(match["name"]) if match else None
    if match is None or fault is None:
        known = [n for n, f in shipped().faults.items() if row.kind in f.kinds]
        what = f"no fault is called {text!r}"
        raise UsageError(what, where=where, mend="faults are " + ", ".join(known))
    if row.kind not in fault.kinds:
        other = "AMD" if row.kind == "cuda" else "NVIDIA"
        known = [n for n, f in shipped().faults.items() if row.kind in f.kinds]
        raise UsageError(
            f"{text} is a fault of {other} machines, {name} is none",
            where=where,
            mend=f"faults of {name} are " + ", ".join(known),
        )
    if fault.needs and not _has(product_of(row), fault.needs):
        raise UsageError(
            f"{text}: {row.product} has no {fault.needs}",
            where=where,
            mend="choose another fault; preflight list --profiles",
        )
    if fault.on_card and match["card"] is None:
        raise UsageError(f"{text} strikes one card", where=where, mend=f"write {text}-0")
    if not fault.on_card and match["card"] is not None:
        raise UsageError(
            f"{match['name']} strikes the whole machine", where=where, mend=f"write {match['name']}"
        )
    card = int(match["card"]) if match["card"] else None
    if card is not None and card >= row.cards:
        last = row.cards - 1
        raise UsageError(
            f"{text}: {name} has no card {card}", where=where, mend=f"cards are 0 to {last}"
        )
    return Struck(name=match["name"], card=card)


def product_of(row: ProfileRow) -> Product:
    """The product of a profile's cards."""
    return next(product for product in products() if product.name == row.product)


def _has(product: Product, part: str) -> bool:
    """Whether a product has what a fault takes away."""
    if part in ("ecc", "rdma", "slices"):
        return product.data_center or product.vendor == "AMD"
    link = product.link
    if link is None or part == "link":
        return link is not None
    return link.shape == "switch" and product.architecture not in SILENT_FABRIC


_ONLY: dict[Kind, str] = {"cuda": " (NVIDIA)", "hip": " (AMD)"}


def profile_table() -> str:
    """Profiles and faults, for ``preflight list --profiles``."""
    table = shipped()
    lines = []
    for name, row in table.profiles.items():
        also = f", also called {', '.join(row.aliases)}" if row.aliases else ""
        lines.append(f"{name:<14}  {row.cards} x {row.product}, driver {row.driver}{also}")
    lines += ["", "faults, after a colon and joined with +: 8xH100:ecc-2+fabric-down", ""]
    for name, fault in table.faults.items():
        shown = f"{name}-N" if fault.on_card else name
        only = _ONLY[fault.kinds[0]] if len(fault.kinds) == 1 else ""
        lines.append(f"{shown:<22}  {fault.meaning}{only}")
    return "\n".join(lines) + "\n"
