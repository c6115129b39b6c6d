"""The catalogue of accelerators: what a product is, and which one a driver or an order names.

Its data stand in ``catalog.toml`` beside this module, each entry with its sources and with the
names of the fields that no source was read for.
"""

from __future__ import annotations

import re
import sys
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, Literal

import msgspec

_toml: Any = import_module("tomllib" if sys.version_info >= (3, 11) else "tomli")

DATA = Path(__file__).with_name("catalog.toml")
GIB = 1024**3

MEMORY_TOLERANCE = 0.07
"""Share by which a device's memory may differ from the product's: ECC on GDDR takes a sixteenth
(L40S: 46068 of 49140 MiB), and products of one name differ by more (GB300: 278 and 251 GiB)."""


class LinkSpec(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """NVLink or XGMI of a whole card."""

    kind: Literal["nvlink", "xgmi"]
    version: str | None = None
    """As NVML's enum names it: ``4.0``; None for XGMI."""
    links: int | None = None
    rate_GBps: float | None = None
    """Of one link in one direction, decimal gigabytes."""
    shape: Literal["switch", "bridge", "mesh"]
    """``switch``: through NVSwitch, directly on boards of four; ``bridge``: a part that joins two
    to four cards; ``mesh``: each card to each other one of the board."""
    optional: bool = False
    """True where a machine may rightly be without it: a bridge that nobody bought, a lone GH200."""


class Product(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One product; every number is that of the whole card, see ``devices_per_card``."""

    name: str
    """Ours: ``H100 SXM 80GB``."""
    vendor: Literal["NVIDIA", "AMD"]
    family: str
    """What an order names loosely: ``H100``."""
    form: str
    """``SXM``, ``PCIe``, ``NVL``, ``superchip``, ``OAM``, ``APU``, ``server``, ``workstation``,
    ``desktop`` or ``module``."""
    aliases: tuple[str, ...] = ()
    """Further ways in which an order may name it: ``5090``."""
    words: tuple[str, ...] = ()
    """What an order may add to any of its names and still mean it: ``sxm5``, ``hgx``, ``hbm3``."""
    driver_names: tuple[str, ...] = ()
    """As the driver reports: ``NVIDIA H100 80GB HBM3``."""
    pci_ids: tuple[str, ...] = ()
    """Vendor and device in lower case, ``10de:2330``; none that the catalogue has twice."""
    architecture: str
    """``sm_90`` or ``gfx942``."""
    memory_GB: float
    """As advertised, decimal; with ``unified_memory`` the most that it is sold with."""
    memory_GiB: float | None = None
    """As the driver reports it for one device."""
    memory_bandwidth_GBps: float | None = None
    link: LinkSpec | None = None
    """None where it has none, or, with ``link`` in ``unverified``, where it is not known."""
    pcie_generation: int | None = None
    pcie_width: int | None = None
    """Lanes."""
    power_W: float | None = None
    """Limit as delivered; many products can be set lower."""
    peaks_TFLOPs: dict[str, float] = msgspec.field(default_factory=dict)
    """Peak by dtype without sparsity, accumulating in fp32 unless the key says otherwise."""
    data_center: bool = False
    """Whether CUDA's forward compatibility packages work on it: data-centre products and Jetson."""
    unified_memory: bool = False
    """Memory shared with the host: its size and use are the host's to tell."""
    devices_per_card: int = 1
    """Devices that the driver shows for one card: 2 for MI250 and MI250X."""
    first_driver: str | None = None
    """Oldest driver that knows its architecture or, where known, the product itself: an older one
    cannot work, and one as old need not."""
    first_cuda: str | None = None
    first_rocm: str | None = None
    kernel_module: Literal["open", "either", "proprietary"] | None = None
    """``open``: only the open module drives it; None for AMD."""
    sources: tuple[str, ...]
    standing: Literal["verified", "partly verified", "unverified"]
    unverified: tuple[str, ...] = ()
    """Fields that are known and were read in no source, or that are not known at all."""

    @property
    def device_memory_GB(self) -> float:
        """Advertised memory of one device, decimal."""
        return self.memory_GB / self.devices_per_card


@cache
def products() -> tuple[Product, ...]:
    """Every product of the catalogue, in its order."""
    return decode_catalog(DATA.read_text(encoding="utf-8"))


def decode_catalog(text: str) -> tuple[Product, ...]:
    """Products in a TOML text, checked.

    Raises ValueError that names the entry and the key, for a catalogue is ours and not the user's.
    """
    tree = _toml.loads(text)
    sources, architectures = tree.get("sources", {}), tree.get("architecture", {})
    found = tuple(_product(entry, architectures, sources) for entry in tree.get("product", []))
    for key in ("name", "pci_ids"):
        _check_unique(found, key)
    return found


def _product(
    entry: dict[str, Any], architectures: dict[str, dict[str, Any]], sources: dict[str, str]
) -> Product:
    where = f"catalogue: {entry.get('name', 'an entry without a name')}"
    inherited = architectures.get(entry.get("architecture", ""), {})
    merged = {**inherited, **entry}
    cited = dict.fromkeys([*entry.get("sources", []), *inherited.get("sources", [])])
    if unknown := [key for key in cited if key not in sources]:
        raise ValueError(f"{where}: sources: {unknown[0]!r} is not in [sources]")
    merged["sources"] = [sources[key] for key in cited]
    doubtful = [field for field in inherited.get("unverified", []) if field not in entry]
    merged["unverified"] = [*entry.get("unverified", []), *doubtful]
    try:
        product = msgspec.convert(merged, Product)
    except msgspec.ValidationError as error:
        raise ValueError(f"{where}: {error}") from error
    _check_standing(product, where)
    return product


def _check_standing(product: Product, where: str) -> None:
    for field in product.unverified:
        if field not in Product.__struct_fields__:
            raise ValueError(f"{where}: unverified: there is no field {field!r}")
    if (product.standing == "verified") == bool(product.unverified):
        raise ValueError(f"{where}: standing: {product.standing!r} contradicts `unverified`")


def _check_unique(found: tuple[Product, ...], key: str) -> None:
    seen: set[str] = set()
    for product in found:
        value = getattr(product, key)
        for one in (value,) if isinstance(value, str) else value:
            if one in seen:
                raise ValueError(f"catalogue: {product.name}: {key}: {one!r} stands twice")
            seen.add(one)


def identify(
    name: str,
    *,
    memory_GiB: float | None = None,
    architecture: str | None = None,
    pci_id: str | None = None,
) -> Product | None:
    """The product that a driver describes; None for one that the catalogue does not know.

    The name must be one of the driver's names as a whole, so that a virtual function, a MIG slice
    or an export variant is never taken for the product it is cut from. ``memory_GiB`` of one
    device and ``architecture`` must fit (neither a 4090 rebuilt with 48 GB nor an eighth of a
    partitioned MI300X is the product), and ``pci_id`` must not be another product's. A device that
    the driver has no name for is known by ``pci_id`` alone.
    """
    plain = _plain(name)
    identifier = pci_id.lower() if pci_id else None
    if _NAMELESS.fullmatch(plain):
        found = [product for product in products() if identifier in product.pci_ids]
    else:
        found = [p for p in products() if plain in map(_plain, p.driver_names)]
    fitting = [
        product
        for product in found
        if (architecture is None or product.architecture == architecture.partition(":")[0])
        and (memory_GiB is None or _has_memory(product, memory_GiB))
        and not _is_of_another(identifier, product)
    ]
    return fitting[0] if len(fitting) == 1 else None


_NAMELESS = re.compile(r"(unknown nvidia device|device (0x)?[0-9a-f]{4}|radeon(\(tm\))? graphics)?")
"""Names that say nothing, without the vendor's; AMD's libraries call whatever they do not know
"AMD Radeon Graphics"."""


def _plain(name: str) -> str:
    """A driver's name without case, doubled blanks and the vendor, which old drivers left out."""
    words = " ".join(name.lower().split())
    return words.removeprefix("nvidia ").removeprefix("amd ")


def _has_memory(product: Product, memory_GiB: float) -> bool:
    """Whether a device with this memory can be one; shared memory tells nothing."""
    if product.unified_memory:
        return True
    advertised = product.device_memory_GB  # vendors say GB and mean either
    least = product.memory_GiB or advertised * 1e9 / GIB
    most = product.memory_GiB or advertised
    return (1 - MEMORY_TOLERANCE) * least <= memory_GiB <= (1 + MEMORY_TOLERANCE) * most


def _is_of_another(pci_id: str | None, product: Product) -> bool:
    return pci_id not in product.pci_ids and any(pci_id in p.pci_ids for p in products())


def meant_by(text: str) -> tuple[Product, ...]:
    """Products that the text of an order can mean, in the catalogue's order; () where none.

    Case, blanks, dashes and the vendor's words do not matter; every other word must be one that the
    product goes by, so that ``GB200`` is no ``B200`` and ``RTX 5090 D`` no ``RTX 5090``. A slash
    parts alternatives.
    """
    parts = [part for part in map(_compact, text.split("/")) if part]
    return tuple(
        product for product, names in _patterns() if any(names.fullmatch(part) for part in parts)
    )


def in_words(product: Product) -> str:
    """The product for a sentence: ``NVIDIA H100 SXM 80GB``."""
    return f"{product.vendor} {product.name}"


_EMPTY_WORDS = {
    "NVIDIA": "nvidia|geforce|tesla|tensorcore|gpus?|cards?",
    "AMD": "amd|radeon|instinct|gpus?|cards?|accelerators?",
}
"""Words that tell nothing about the product beyond its vendor."""


def _compact(text: str) -> str:
    """Letters and digits alone: ``h100sxm580gb``."""
    return re.sub(r"[^a-z0-9]+", "", text.lower())


@cache
def _patterns() -> tuple[tuple[Product, re.Pattern[str]], ...]:
    return tuple((product, _pattern(product)) for product in products())


def _pattern(product: Product) -> re.Pattern[str]:
    """What a compacted text looks like that means the product."""
    empty = _EMPTY_WORDS[product.vendor]
    called = (product.family, product.name, *product.aliases, *product.driver_names)
    stems = "|".join({re.sub(f"^(?:{empty})+", "", _compact(stem)) for stem in called})
    link = (product.link.kind,) if product.link else ()
    words = "|".join([empty, *map(_compact, product.words), *link])
    size = "|".join({f"{size:g}" for size in (product.memory_GB, product.device_memory_GB)})
    before, after = f"(?:{words}|(?:{size})gi?b)*", f"(?:{words}|(?:{size})(?:gi?b?)?)*"
    return re.compile(f"{before}(?:{stems}){after}")
