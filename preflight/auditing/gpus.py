"""Which GPUs an audit is about: those that are named, those of this machine, or all."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

import msgspec
from packaging.version import InvalidVersion, Version

from preflight.compat.architectures import is_architecture
from preflight.compat.audit import Gpu
from preflight.compat.capabilities import card_named, cards
from preflight.compat.toolkits import architecture
from preflight.errors import UsageError
from preflight.hardware.catalog import Product, identify, in_words, meant_by, products
from preflight.records import Device

Origin = Literal["flags", "machine", "catalogue"]


@dataclass(frozen=True, kw_only=True)
class Chosen:
    """GPUs, where they come from, and the driver where it is that of this machine."""

    gpus: tuple[Gpu, ...]
    origin: Origin
    driver: str | None = None


def choose_gpus(named: Sequence[str], architectures: Sequence[str]) -> Chosen:
    """GPUs of --gpu and --arch, else of this machine, else all; raises UsageError for a name
    that nobody knows."""
    if named or architectures:
        found = [gpu for name in _split(named, "--gpu") for gpu in gpus_named(name)]
        found += [gpu_of_architecture(name) for name in _split(architectures, "--arch")]
        return Chosen(gpus=_each_once(found), origin="flags")
    # The harness brings pytest along, which is not needed where a GPU is named.
    from preflight.harness.inventory_child import look_at_machine

    devices = [d for d in look_at_machine("auto", run_variables={}).devices if d.architecture]
    if devices:
        drivers = [device.driver for device in devices if device.kind == "cuda"]
        return Chosen(
            gpus=_each_once(map(_of_device, devices)),
            origin="machine",
            driver=drivers[0] if drivers else None,
        )
    return Chosen(gpus=tuple(map(gpu_of_architecture, _architectures())), origin="catalogue")


def gpus_named(name: str) -> tuple[Gpu, ...]:
    """What a product's name means: one GPU, or one for each architecture that goes by it."""
    meant = meant_by(name)
    by_architecture: dict[str, list[Product]] = {}
    for product in meant:
        by_architecture.setdefault(product.architecture, []).append(product)
    several = len(by_architecture) > 1
    found = tuple(
        _of_products(f"{name} ({architecture})" if several else name, architecture, mine)
        for architecture, mine in by_architecture.items()
    )
    return found or (_of_older_card(name),)


def gpu_of_architecture(name: str) -> Gpu:
    """The GPU that stands for an architecture; raises UsageError for what names none."""
    if not is_architecture(name):
        raise UsageError(
            f"{name!r} is no architecture of a GPU",
            where="--arch",
            mend="name one such as sm_100 or gfx942; code is built for sm_100a, a GPU is sm_100",
        )
    mine = [p for p in products() if p.architecture == name.partition(":")[0]]
    known = architecture(name)
    toolkits = [one for product in mine if (one := product.first_cuda or product.first_rocm)]
    return Gpu(
        name=name,
        architecture=name,
        products=tuple(map(in_words, mine)),
        first_driver=known.first_driver if known else None,
        first_toolkit=known.first_cuda if known else min(toolkits, key=_version, default=None),
        takes_compat_packages=bool(mine) and all(product.data_center for product in mine),
    )


def _of_products(name: str, architecture: str, mine: Sequence[Product]) -> Gpu:
    """Products of one name: the newest driver that one of them needs serves whichever it is."""
    drivers = [product.first_driver for product in mine if product.first_driver]
    toolkits = [one for product in mine if (one := product.first_cuda or product.first_rocm)]
    return Gpu(
        name=name,
        architecture=architecture,
        products=tuple(map(in_words, mine)),
        first_driver=max(drivers, key=_version, default=None),
        first_toolkit=max(toolkits, key=_version, default=None),
        takes_compat_packages=all(product.data_center for product in mine),
    )


def _of_older_card(name: str) -> Gpu:
    """A card that the catalogue does not hold; raises UsageError for one that nobody knows."""
    card = card_named(name)
    if card is None:
        raise UsageError(
            f"no accelerator is called {name!r}{_near(name)}",
            where="--gpu",
            mend="name one as its maker does (B200, H100, MI300X), or its architecture with --arch",
        )
    known = gpu_of_architecture(card.architecture)
    return msgspec.structs.replace(
        known, name=name, products=(), takes_compat_packages=card.data_center
    )


def _of_device(device: Device) -> Gpu:
    """A card of this machine, by its product where the catalogue has it."""
    name = str(device.architecture)
    known = identify(device.product, memory_GiB=device.memory_GiB, architecture=name)
    if known is not None:
        return _of_products(known.name, name, [known])
    return msgspec.structs.replace(
        gpu_of_architecture(name), name=device.product or name, products=()
    )


def _each_once(gpus: Iterable[Gpu]) -> tuple[Gpu, ...]:
    return tuple({gpu.name: gpu for gpu in gpus}.values())


def _split(texts: Sequence[str], flag: str) -> list[str]:
    found = [part.strip() for text in texts for part in text.split(",") if part.strip()]
    if texts and not found:
        raise UsageError("nothing is named", where=flag, mend="name one, or leave the flag out")
    return found


def _architectures() -> list[str]:
    """Those of the catalogue: NVIDIA's by number, then AMD's."""
    found = {product.architecture for product in products()}
    return sorted(found, key=lambda name: (name.startswith("gfx"), len(name), name))


def _near(name: str) -> str:
    """Names like the one that is not known."""
    known = {word for product in products() for word in (product.family, product.name)}
    known |= {word for card in cards() for word in card.names}
    folded = {word.lower(): word for word in sorted(known)}
    near = difflib.get_close_matches(name.lower(), folded, n=3, cutoff=0.5)
    return f"; did you mean {' or '.join(folded[word] for word in near)}?" if near else ""


def _version(text: str) -> Version:
    try:
        return Version(text)
    except InvalidVersion:
        return Version("0")
