"""How a check looks at a fact of all cards or of the host, and what it makes of absences.

The rule, in one place:

- a fact that this kind of card does not have (not supported, not found, not asked, the driver lacks
  the call) on every card: the check is skipped, naming it; on some: the others are judged, and that
  is said;
- any other absence (no permission, deadline, device lost, failed): the check is an error that names
  call and card, for nobody has looked;
- what was seen to be wrong comes first: a failure is told whatever else could not be read.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import TypeVar

from preflight.facts import Absence, BusCard, Card
from preflight.hardware.catalog import Product, identify
from preflight.harness.outcomes import CannotLook
from preflight.harness.result import Result
from preflight.harness.situation import REHEARSAL, Situation
from preflight.records import Device, Limit

NO_CARDS = "no card was found; driver.present speaks of that"
NOT_OFFERED = ("not supported", "not found", "not asked", "driver lacks the call")
"""Reasons for which a fact does not exist here, which is no fault and no lack of looking; a file of
sysfs that a driver does not make for this card is not found."""
OUT_OF_SIGHT = (*NOT_OFFERED, "no permission")
"""The same for what needs rights that users and containers do not have: the kernel's log, ACS."""
_ACTIONS = {
    "no permission": "run as root, or start the container with the rights that the call needs",
    "deadline": "the driver does not answer: ask the seller to reset the node",
    "device lost": "the card has left the bus: ask the seller to reset the node",
}
_UNREAD_ACTION = "read the evidence; if it stays so, show the seller this report"

_PCI = re.compile(r"(?:([0-9a-fA-F]+):)?([0-9a-fA-F]{2}):([0-9a-fA-F]{2})(?:\.[0-9a-fA-F])?")

_T = TypeVar("_T")


class Survey:
    """What a check has asked, found wrong and measured; told all at once by ``settle``."""

    def __init__(self, situation: Situation, result: Result, *, cards: tuple[Card, ...]) -> None:
        self._situation = situation
        self._result = result
        self.cards = cards
        self._known = 0
        self._asked = 0
        self._lacking: dict[str, list[str]] = {}
        self._unread: dict[str, Absence] = {}
        self._failures: list[tuple[str, str, str]] = []
        self._warnings: list[tuple[str, str, str]] = []
        self._measurements: list[tuple[str, float, str, Limit | None]] = []

    @classmethod
    def of_cards(cls, situation: Situation, result: Result) -> Survey:
        """A survey of the cards; skips in a rehearsal, and where there is no card."""
        if not situation.has_cards:
            result.skip(REHEARSAL)
        cards = situation.machine.cards
        if not cards:
            result.skip(NO_CARDS)
        return cls(situation, result, cards=cards)

    @classmethod
    def of_host(cls, situation: Situation, result: Result) -> Survey:
        """A survey of the host, which a rehearsal has too; ``cards`` may be empty."""
        has_cards = situation.has_cards
        return cls(situation, result, cards=situation.surroundings.cards if has_cards else ())

    def device(self, name: str) -> Device:
        """The device of the record behind a card."""
        return self._situation.device(name)

    def product(self, name: str) -> Product | None:
        """What the catalogue knows of a card's product; None for a product that is not in it."""
        device = self.device(name)
        card = next(card for card in self.cards if card.device == name)
        return identify(
            device.product,
            memory_GiB=device.memory_GiB,
            architecture=device.architecture,
            pci_id=None if isinstance(card.pci_id, Absence) else card.pci_id,
        )

    def card_at(self, pci: str | None) -> str | None:
        """Name of the card at a PCI address, however its domain and function are written."""
        wanted = _place(pci)
        devices = self._situation.inventory.devices if wanted else ()
        return next((d.name for d in devices if _place(d.pci) == wanted), None)

    def stranger_at(self, pci: str) -> BusCard | None:
        """The card on the bus at an address that belongs to no device of this run."""
        bus = self._situation.machine.bus
        seen = () if isinstance(bus, Absence) else bus
        return next((card for card in seen if _place(card.pci) == _place(pci)), None)

    def ask(
        self,
        what: str,
        fact: Callable[[Card], _T | Absence],
        *,
        lacking: tuple[str, ...] = NOT_OFFERED,
    ) -> dict[str, _T]:
        """The fact of each card that has it; the check is skipped where none of its facts exist."""
        known, absent = self._divide(fact)
        self._asked += 1
        self._known += len(known)
        for name, absence in absent.items():
            if absence.reason in lacking:
                self._lacking.setdefault(_named(what, absence), []).append(name)
            else:
                self._unread.setdefault(f"{name}: {_named(what, absence)}", absence)
        return known

    def glance(
        self,
        what: str,
        fact: Callable[[Card], _T | Absence],
        *,
        lacking: tuple[str, ...] = NOT_OFFERED,
    ) -> dict[str, _T]:
        """A fact that helps where it exists, and whose lack is not worth a word."""
        known, absent = self._divide(fact)
        for name, absence in absent.items():
            if absence.reason not in lacking:
                self._unread.setdefault(f"{name}: {_named(what, absence)}", absence)
        return known

    def ask_host(
        self, what: str, fact: _T | Absence, *, lacking: tuple[str, ...] = NOT_OFFERED
    ) -> _T | None:
        """A fact of the host; None where it is absent, for one of ``lacking`` without an error."""
        self._asked += 1
        if not isinstance(fact, Absence):
            self._known += 1
            return fact
        if fact.reason in lacking:
            self._lacking.setdefault(_named(what, fact), [])
        else:
            self._unread.setdefault(_named(what, fact), fact)
        return None

    def read(
        self, what: str, fact: _T | Absence, *, lacking: tuple[str, ...] = NOT_OFFERED
    ) -> _T | None:
        """A fact by itself that helps where it exists: of the host, a link, a port."""
        if isinstance(fact, Absence):
            if fact.reason not in lacking:
                self._unread.setdefault(_named(what, fact), fact)
            return None
        return fact

    def alike(self, values: Mapping[str, _T]) -> list[dict[str, _T]]:
        """The values by product: only cards of one product are compared with each other."""
        groups: dict[str, dict[str, _T]] = {}
        for name, value in values.items():
            groups.setdefault(self.device(name).product, {})[name] = value
        return list(groups.values())

    def fail(self, where: str, what: str, action: str) -> None:
        """``where`` (a card, a port, empty for the host) is unfit, and what to do about it."""
        self._failures.append((where, what, action))

    def warn(self, where: str, what: str, action: str) -> None:
        """Something of ``where`` that a person should know."""
        self._warnings.append((where, what, action))

    def measure(self, name: str, value: float, unit: str, limit: Limit | None = None) -> None:
        """A number for the record; outside ``limit`` it fails, so say ``fail`` with words too."""
        self._measurements.append((name, value, unit, limit))

    def settle(self, note: str = "") -> None:
        """Tell the result; raises CannotLook for facts nobody could read, skips where none exist.

        ``note`` is the fact worth showing beside a pass.
        """
        self._tell_findings()
        for name, value, unit, limit in self._measurements:
            self._result.measure(name, value, unit, limit=limit)
        self._raise_unread()
        if self._asked and not self._known and self._result.status == "pass":
            self._result.skip("; ".join(self._lacking))
        some = {what: names for what, names in self._lacking.items() if self._is_partial(names)}
        lacking = [f"{', '.join(names)}: {what}" for what, names in some.items()]
        self._result.note("; ".join(filter(None, [note, *lacking])))

    def _divide(
        self, fact: Callable[[Card], _T | Absence]
    ) -> tuple[dict[str, _T], dict[str, Absence]]:
        known: dict[str, _T] = {}
        absent: dict[str, Absence] = {}
        for card in self.cards:
            value = fact(card)
            if isinstance(value, Absence):
                absent[card.device] = value
            else:
                known[card.device] = value
        return known, absent

    def _tell_findings(self) -> None:
        found = self._failures + self._warnings
        if not found:
            return
        reason = in_one_sentence(((where, what) for where, what, _ in found), len(self.cards))
        tell = self._result.fail if self._failures else self._result.warn
        tell(reason, "; ".join(dict.fromkeys(action for _, _, action in found)))

    def _raise_unread(self) -> None:
        if not self._unread:
            return
        reason = next(iter(self._unread.values())).reason
        seen = f"; seen besides: {self._result.reason}" if self._result.status == "warn" else ""
        raise CannotLook(
            "; ".join(self._unread) + seen,
            evidence="\n".join(f"{k}. {a.detail}".strip() for k, a in self._unread.items()),
            action=_ACTIONS.get(reason, _UNREAD_ACTION),
        )

    def _is_partial(self, names: list[str]) -> bool:
        return 0 < len(names) < len(self.cards)


def _place(pci: str | None) -> tuple[int, int, int] | None:
    """Domain, bus and device of ``0000:9a:00.0``, ``00000000:9A:00.0`` or ``9a:00``."""
    found = _PCI.fullmatch(pci.strip()) if pci else None
    return (int(found[1] or "0", 16), int(found[2], 16), int(found[3], 16)) if found else None


def in_one_sentence(findings: Iterable[tuple[str, str]], cards: int) -> str:
    """``gpu1: 2 errors; gpu2, gpu3: ECC is off``: each thing once, with all it was found on.

    ``cards`` is how many there are, so that a finding on every one of them says so.
    """
    grouped: dict[str, list[str]] = {}
    for where, what in findings:
        grouped.setdefault(what, []).append(where)
    return "; ".join(_placed(what, names, cards) for what, names in grouped.items())


def _placed(what: str, names: list[str], cards: int) -> str:
    where = list(dict.fromkeys(filter(None, names)))
    if not where:
        return what
    if len(where) == cards > 2 and all(name.startswith("gpu") for name in where):
        return f"all {cards} cards: {what}"
    return f"{', '.join(where)}: {what}"


def _named(what: str, absence: Absence) -> str:
    """What was asked, in the vendor's word where there is one, and why there is no answer."""
    if absence.reason == "not asked":
        return f"{what}: this kind of machine has none"
    asked = f"{what} ({absence.what})" if absence.what else what
    return f"{asked}: {absence.reason}"
