"""Cards that were bought and are not to be seen: where they are, and who can bring them back."""

from __future__ import annotations

import msgspec

from preflight.compat.cards import UNHELD, few, holder, is_ours, unlisted
from preflight.compat.claims import claim
from preflight.events import Inventory
from preflight.facts import Absence, BusCard, Machine
from preflight.records import Order


class MissingCards(msgspec.Struct, frozen=True, kw_only=True):
    """``count`` cards less than ``order`` says are shown on ``machine``."""

    count: int
    order: Order
    inventory: Inventory
    machine: Machine
    container: str | None = None
    vendor: str | None = None
    """``NVIDIA`` or ``AMD``, where the order or the cards that are there tell."""

    @property
    def on_the_bus(self) -> tuple[BusCard, ...]:
        """Cards on the PCI bus that the driver does not list.

        Hidden cards are on the bus too, and their driver has them; their addresses are not told, so
        that with any hidden card those that the driver has are left out.
        """
        if isinstance(self.machine.bus, Absence):
            return ()
        away = unlisted(self.machine.bus, self.inventory.devices)
        return tuple(
            one
            for one in away
            if self.vendor in (None, one.vendor) and not (self.inventory.hidden and is_ours(one))
        )

    def sentences(self) -> tuple[str, ...]:
        """Each place where missing cards are, as far as it is known."""
        away = [f"{one.pci} ({one.pci_id}, {holder(one)})" for one in self.on_the_bus]
        found = (
            f"on the PCI bus and not in the driver's list: {few(away)}" if away else "",
            f"hidden: {few(self.inventory.hidden)}" if self.inventory.hidden else "",
            not_answering(self.inventory),
        )
        return tuple(words for words in found if words)

    def action(self) -> str:
        """What gets them back: the user's own doing first, then the seller's."""
        away, hidden = self.on_the_bus, self.inventory.hidden
        steps, explained = [], len(hidden)
        if not self.inventory.devices and not hidden and all(_waits(one) for one in away):
            steps.append("no driver shows a card: mend what driver.present names, and run again")
            explained += len(away)
        hiding = sorted({text.rpartition(" by ")[2] for text in hidden})
        if variables := [one for one in hiding if "=" in one]:
            steps.append(f"take away what hides cards ({', '.join(variables)}) and run again")
        withheld = len(variables) < len(hiding) or any(is_ours(one) for one in away)
        if withheld and (given := self._pass_in()):
            steps.append(given)
            explained += sum(is_ours(one) for one in away)
        if explained < self.count:
            steps.append(self._claim())
        return "; ".join(steps)

    def _pass_in(self) -> str:
        """How a container or a batch job is given cards that the host's driver has."""
        if self.container == "kubernetes":
            return "give the pod all its cards: nvidia.com/gpu or amd.com/gpu in its resources"
        if self.container:
            return (
                "start the container with all its cards: --gpus all, or for AMD --device /dev/kfd "
                "--device /dev/dri"
            )
        if any(name.startswith("SLURM") for name in self.machine.environment):
            return "ask Slurm for all of them: --gpus-per-node"
        return ""

    def _claim(self) -> str:
        devices, gone = self.inventory.devices, few([one.pci for one in self.on_the_bus])
        more = "no further card" if devices else "no card"
        what = f"{gone} cannot be used" if gone else f"{more} is on the PCI bus"
        if isinstance(self.machine.bus, Absence):
            what = "the PCI bus could not be read"
        missing = f"{self.count} card(s) missing ({what})"
        called = "those that are there"
        return claim(self.order, missing, devices, self.machine.cards, called=called)


def not_answering(inventory: Inventory) -> str:
    """Cards that the driver counts and that do not answer; empty where there is none."""
    lost = [f"{a.what}: {a.reason}" for a in inventory.absences if is_a_card(a.what)]
    return f"not answering: {few(lost)}" if lost else ""


def is_a_card(what: str) -> bool:
    """Whether an absence speaks of a card as a whole: ``gpu3``, not ``memory of gpu3``."""
    return what.startswith("gpu") and what[3:].isdecimal()


def is_a_variable(what: str) -> bool:
    """Whether an absence speaks of a variable that shows or hides cards, not of a question."""
    return what.endswith("_VISIBLE_DEVICES")


def _waits(card: BusCard) -> bool:
    """Whether a card on the bus waits for its own driver, and is not given to something else."""
    return is_ours(card) or holder(card) == UNHELD
