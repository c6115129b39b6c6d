"""What a check may know: the run, the machine, the environment and the results so far."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from preflight.compat.capabilities import card_named
from preflight.compat.place import Place
from preflight.events import Ended, Environment, Event, Inventory, Opened, Options
from preflight.facts import Card, Machine, known
from preflight.hardware.catalog import Product, identify, meant_by
from preflight.harness.outcomes import CannotLook
from preflight.plan import Plan, load_plan
from preflight.records import Check, Device, Order

REHEARSAL = "a rehearsal has no cards"
"""Why a check of cards is skipped where ``Situation.has_cards`` is false."""
UNANSWERED = "inventory"
"""What an absence names when the look at the machine did not come to its end."""
HANDED_VARIABLE = "PREFLIGHT_HANDED"
"""JSON of Handed in the environment of our own sessions; probes do not get it."""


class Handed(msgspec.Struct, frozen=True, kw_only=True):
    """What the controller hands to its phases whole: the journal has it without secrets.

    The plan stands here as the controller has read it, for its file may be a pipe or have changed.
    """

    options: Options
    plan: Plan


@dataclass
class Situation:
    """The state of a run, read from its journal."""

    options: Options
    order: Order
    plan: Plan
    inventory: Inventory
    environment: Environment | None = None
    results: list[Check] = field(default_factory=list)

    @property
    def devices(self) -> tuple[Device, ...]:
        """Devices with torch's own names, as far as torch has been asked."""
        return self._named(self.inventory.devices)

    @property
    def probed(self) -> tuple[Device, ...]:
        """The devices that probes run on: in a simulation the CPU stands in for the others."""
        return self._named(self.inventory.stand_ins or self.inventory.devices)

    def _named(self, devices: Iterable[Device]) -> tuple[Device, ...]:
        names = self.environment.torch_devices if self.environment else {}
        return tuple(
            msgspec.structs.replace(d, torch_device=names.get(d.name, d.torch_device))
            for d in devices
        )

    @property
    def node(self) -> str:
        """Name of this node."""
        nodes = self.inventory.nodes
        return nodes[0].name if nodes else self.inventory.host.name

    @property
    def is_rehearsal(self) -> bool:
        """Whether the CPU stands in for the cards."""
        return self.options.mode != "certify"

    @property
    def has_cards(self) -> bool:
        """Whether there are cards to judge, real or simulated; a rehearsal has none."""
        return self.options.mode != "rehearse"

    @property
    def machine(self) -> Machine:
        """All facts of this node; raises CannotLook where the look at it did not end."""
        machine = self.inventory.machine
        stuck = next((a for a in self.inventory.absences if a.what == UNANSWERED), None)
        if machine is None or stuck is not None:
            looked = self.inventory.looked_for
            raise CannotLook(
                looked[0] if looked else "the machine could not be looked at",
                evidence=stuck.detail if stuck else "",
                action="the driver does not answer: ask the seller to reset the node",
            )
        return machine

    @property
    def surroundings(self) -> Machine:
        """The same for what is not about cards, which is known also where the driver hangs."""
        machine = self.inventory.machine
        return self.machine if machine is None else machine

    def card(self, name: str) -> Card:
        """Health and configuration of a device by its name; KeyError where there is none."""
        return {card.device: card for card in self.machine.cards}[name]

    @property
    def container(self) -> str | None:
        """``docker``, ``kubernetes`` and the like; None where no sign of one was seen."""
        machine = self.inventory.machine
        seen = known(machine.host.container) if machine else None
        return self.inventory.host.container if seen is None else seen if seen != "none" else None

    @property
    def bought(self) -> tuple[Product, ...]:
        """Products that the order may mean; () without one or where the catalogue knows none."""
        return meant_by(self.order.product) if self.order.product else ()

    def product_of(self, device: Device) -> Product | None:
        """What a device is, by name, memory, architecture and PCI id; None where not known."""
        machine = self.inventory.machine
        cards = {card.device: card for card in machine.cards} if machine else {}
        return identify(
            device.product,
            memory_GiB=device.memory_GiB,
            architecture=device.architecture,
            pci_id=known(cards[device.name].pci_id) if device.name in cards else None,
        )

    def place_of(self, device: Device, answer: Environment | None = None) -> Place:
        """What the rules of ``preflight.compat`` ask of a device, its host and the interpreter.

        ``answer`` is what torch said, as far as it was asked; the device's architecture is known.
        """
        facts = (answer.torch if answer else None) or {}
        card = self.product_of(device) or card_named(device.product)
        return Place(
            architecture=device.architecture or "",
            machine=facts.get("machine") or self.inventory.host.machine or "x86_64",
            driver=device.driver,
            driver_cuda=device.driver_cuda,
            data_center=card.data_center if card else None,
            python=answer.versions.python if answer else None,
            glibc=facts.get("glibc"),
            pip=f"{self.options.python} -m pip",
        )

    def device(self, name: str) -> Device:
        """The device of that name; KeyError where there is none."""
        return {device.name: device for device in (*self.devices, *self.probed)}[name]


def read_situation(events: Iterable[Event]) -> Situation:
    """The situation after ``events``; the journal holds the run and the inventory by then."""
    opened: Opened | None = None
    inventory: Inventory | None = None
    environment: Environment | None = None
    results = []
    for event in events:
        if isinstance(event, Opened):
            opened = event
        elif isinstance(event, Inventory):
            inventory = event
        elif isinstance(event, Environment):
            environment = event
        elif isinstance(event, Ended):
            results.append(event.check)
    assert opened is not None and inventory is not None, "a phase starts after the inventory"
    handed = read_handed(opened.options)
    return Situation(
        options=handed.options,
        order=opened.order,
        plan=handed.plan,
        inventory=inventory,
        environment=environment,
        results=results,
    )


def read_handed(options: Options) -> Handed:
    """What was handed to this process; without it, ``options`` of the journal and no plan."""
    text = os.environ.get(HANDED_VARIABLE)
    if text is not None:
        return msgspec.json.decode(text, type=Handed)
    plan = load_plan(Path(options.plan_file)) if options.plan_file else Plan()
    return Handed(options=options, plan=plan)
