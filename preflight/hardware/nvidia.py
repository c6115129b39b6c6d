"""NVIDIA devices, through NVML (nvidia-ml-py)."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import msgspec

from preflight.facts import Absence, Driver, known
from preflight.hardware.files import Files
from preflight.hardware.nvidia_card import read_card
from preflight.hardware.nvidia_driver import (
    read_device_files,
    read_driver,
    read_driver_without_nvml,
)
from preflight.hardware.nvidia_identity import UNKNOWN_PRODUCT, Identity, read_identity, told_as
from preflight.hardware.nvidia_topology import Ends, read_peers, read_topology
from preflight.hardware.nvml_calls import Asking, as_is
from preflight.hardware.protocol import Say, Sighting, silent
from preflight.hardware.visibility import (
    NVIDIA_VARIABLES,
    order_is_uncertain,
    shown_slices,
    visible,
)

_VARIABLE = NVIDIA_VARIABLES[0]


@dataclass(frozen=True)
class _Shown:
    """Which of the cards the environment shows, and what it hides."""

    cards: tuple[tuple[Identity, Asking], ...]
    hidden: tuple[str, ...]
    absences: tuple[Absence, ...]


class NvidiaBackend:
    """What NVML and the kernel's files say; ``look`` may block inside the driver."""

    def __init__(self, files: Files | None = None, environ: Mapping[str, str] = os.environ) -> None:
        self._files = files or Files()
        self._environ = environ

    def look(self, node: str, say: Say = silent) -> Sighting:
        """Devices in NVML's order, which is that of their PCI addresses."""
        system = Asking(say)
        failed = system.value("nvmlInit", read=as_is)
        if isinstance(failed, Absence):
            failure = msgspec.structs.replace(failed, what="NVML")
            return Sighting(
                looked_for=f"NVML: {failure.reason}",
                driver=read_driver_without_nvml(system, self._files, failure),
                absences=(failure,),
            )
        try:
            return self._sighting(node, system)
        finally:
            system.value("nvmlShutdown", read=as_is)  # where it fails, what was seen stays true

    def _sighting(self, node: str, system: Asking) -> Sighting:
        driver = read_driver(system, self._files)
        count = system.whole("nvmlDeviceGetCount")
        cards, lost = _cards(system, known(count) or 0)
        shown = self._shown(cards)
        ends = [
            Ends(
                asking=asking,
                device=identity.device(node, driver),
                card=read_card(asking, identity, self._files),
            )
            for identity, asking in shown.cards
        ]
        topology, unconnected = read_topology(ends)
        peers, unreached = read_peers(ends)
        files = read_device_files(shown.cards, self._files, system.say)
        return Sighting(
            looked_for=f"NVML: driver {known(driver.version) or 'unknown'}, "
            f"{known(count) or 0} device(s)",
            devices=tuple(end.device for end in ends),
            cards=tuple(end.card for end in ends),
            hidden=shown.hidden,
            driver=msgspec.structs.replace(driver, files=files),
            topology=topology,
            peers=peers,
            absences=(
                *_system_absences(driver, count),
                *lost,
                *(one for identity, _ in cards for one in identity.absences()),
                *shown.absences,
                *unconnected,
                *unreached,
            ),
        )

    def _shown(self, cards: Sequence[tuple[Identity, Asking]]) -> _Shown:
        identities = [identity for identity, _ in cards]
        slices = {
            one.uuid: index
            for index, identity in enumerate(identities)
            if not isinstance(identity.slices, Absence)
            for one in identity.slices
            if one.uuid
        }
        uuids = [known(identity.uuid) for identity in identities]
        shown, hiding = visible(uuids, self._environ, NVIDIA_VARIABLES, slices)
        hidden = [
            f"{_described(one)} by {', '.join(hiding)}"
            for index, one in enumerate(identities)
            if index not in shown
        ]
        absences = []
        for uuid in shown_slices(self._environ, slices):
            if slices[uuid] not in shown:
                continue  # an entry before it has ended the list
            text, absence = _part(identities[slices[uuid]], uuid, self._environ[_VARIABLE])
            hidden.append(text)
            absences.append(absence)
        products = [known(identity.product) for identity in identities]
        if order_is_uncertain(self._environ, products, shown):
            absences.append(_UNCERTAIN)
        visible_cards = tuple(card for index, card in enumerate(cards) if index in shown)
        return _Shown(cards=visible_cards, hidden=tuple(hidden), absences=tuple(absences))


_UNCERTAIN = Absence(
    what=_VARIABLE,
    reason="failed",
    detail="it counts cards of several products in CUDA's own order, fastest first, which no "
    "driver tells: name them by UUID, or set CUDA_DEVICE_ORDER=PCI_BUS_ID",
)


def _cards(system: Asking, count: int) -> tuple[list[tuple[Identity, Asking]], tuple[Absence, ...]]:
    """Every card that gives a handle, and the ones that do not."""
    cards, lost = [], []
    for index in range(count):
        name = f"gpu{index}"
        handle = system.about(name).value("nvmlDeviceGetHandleByIndex", index, read=as_is)
        if isinstance(handle, Absence):
            lost.append(told_as(name, handle))
        else:
            asking = system.about(name, handle)
            cards.append((read_identity(asking), asking))
    return cards, tuple(lost)


def _system_absences(driver: Driver, count: int | Absence) -> tuple[Absence, ...]:
    facts = {
        "driver version": driver.version,
        "CUDA version of the driver": driver.cuda,
        "number of devices": count,
    }
    return tuple(told_as(what, fact) for what, fact in facts.items() if isinstance(fact, Absence))


def _described(identity: Identity) -> str:
    return f"{identity.name} ({known(identity.product) or UNKNOWN_PRODUCT})"


def _part(identity: Identity, uuid: str, value: str) -> tuple[str, Absence]:
    """What to say of a card of which the environment shows one MIG slice only."""
    slices = () if isinstance(identity.slices, Absence) else identity.slices
    name = next(one.name for one in slices if one.uuid == uuid)
    text = f"{_described(identity)} but for its MIG slice {name} by {_VARIABLE}={value}"
    detail = f"{uuid} is the slice {name} of {identity.name}; the facts told are the whole card's"
    return text, Absence(what=_VARIABLE, reason="not supported", detail=detail)
