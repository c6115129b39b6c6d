"""The accelerators of a machine: where they sit, how they are, what they are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from preflight.facts import Absence, Card, Machine, Text, Whole, known
from preflight.records import Device
from preflight.rendering.machine_health import health_tables
from preflight.rendering.machine_links import links_told
from preflight.rendering.machine_parts import (
    Column,
    Entry,
    Pair,
    Part,
    Table,
    column,
    gib,
    over,
    tables,
    warned,
)
from preflight.rendering.machine_traits import traits

_MOST_PROCESSES = 32
_NOT_TAKEN = "no kernel driver has taken it"


@dataclass(frozen=True)
class Accelerator:
    """What the record says of one device, in both of its places."""

    device: Device
    card: Card


def accelerators(machine: Machine, devices: Sequence[Device]) -> tuple[Accelerator, ...]:
    """The accelerators of a machine in its driver's order, the CPU of a rehearsal left out."""
    cards = {card.device: card for card in machine.cards}
    return tuple(
        Accelerator(device, cards.get(device.name, Card(device=device.name)))
        for device in devices
        if device.kind != "cpu" and device.node == machine.node
    )


def cards_part(
    machine: Machine,
    found: Sequence[Accelerator],
    *,
    hidden: Sequence[str] = (),
    was_asked: bool = True,
) -> Part:
    """Place, use and health of each card, and the cards that are there and cannot be used.

    ``was_asked`` is False in a rehearsal, which looks for no card.
    """
    none = "none was found" if was_asked else "none was looked for"
    return Part(
        title="Cards",
        note=products(found) or none,
        pairs=traits([one.device for one in found], [one.card for one in found]),
        tables=(*_places(found), *health_tables([one.card for one in found]), *_processes(found)),
        remarks=(*_hidden(hidden), *_unseen(machine, found, hidden)),
    )


def identity_part(found: Sequence[Accelerator]) -> Part:
    """What tells the cards apart for their seller; what is equal on all of them stands once."""
    equal, apart = _lifted(
        found,
        ("board", lambda one: known(one.card.board)),
        ("VBIOS", lambda one: known(one.card.vbios)),
        ("PCI id", lambda one: known(one.card.pci_id)),
    )
    return Part(
        title="Identity",
        pairs=equal,
        tables=tables(
            _names(found),
            column("torch", (one.device.torch_device for one in found)),
            column("UUID", (one.device.uuid for one in found)),
            column("serial", (known(one.card.serial) for one in found)),
            *(column(term, map(tell, found)) for term, tell in apart),
        ),
    )


_Told = tuple[str, Callable[[Accelerator], "str | None"]]


def _lifted(
    found: Sequence[Accelerator], *told: _Told
) -> tuple[tuple[Pair, ...], tuple[_Told, ...]]:
    """Facts that all of several cards share, as pairs, and those that need a column."""
    equal: list[Pair] = []
    apart: list[_Told] = []
    for term, tell in told:
        values = {tell(one) for one in found}
        value = next(iter(values), None)
        if len(found) > 1 and len(values) == 1 and value is not None:
            equal.append((term, Entry(f"{value} on each card")))
        else:
            apart.append((term, tell))
    return tuple(equal), tuple(apart)


def products(found: Sequence[Accelerator]) -> str:
    """``8 × NVIDIA H100 80GB HBM3``, kinds apart; empty without a card."""
    kinds = Counter(one.device.product for one in found)
    return ", ".join(f"{count} × {product}" for product, count in kinds.items())


def _names(found: Sequence[Accelerator]) -> Column:
    return column("card", (one.device.name for one in found))


def _places(found: Sequence[Accelerator]) -> tuple[Table, ...]:
    """Where each card sits, how it is connected, and who uses it."""
    several = len({one.device.product for one in found}) > 1
    return tables(
        _names(found),
        column("product", (one.device.product if several else None for one in found)),
        column("PCI", (one.device.pci for one in found)),
        column("NUMA", (_numa(one.card.numa_node) for one in found)),
        column("memory GiB", map(_memory, found), is_number=True),
        column("PCIe", (_pcie(one.card) for one in found)),
        column("links", (links_told(one.card) for one in found)),
        column("processes", (_in_use(one.card) for one in found), is_number=True),
    )


def _numa(node: Whole) -> str | None:
    number = known(node)
    return None if number is None else "none" if number < 0 else str(number)


def _memory(one: Accelerator) -> str | None:
    used, total = known(one.card.memory_used_GiB), one.device.memory_GiB
    return over(None if used is None else gib(used), None if total is None else gib(total))


def _pcie(card: Card) -> Entry | None:
    """``Gen1 x16 of Gen5 x16``; an idle card rests at generation 1, fewer lanes stand out."""
    pcie = card.pcie
    now, most = _lane(pcie.generation, pcie.width), _lane(pcie.max_generation, pcie.max_width)
    if not now and not most:
        return None
    text = now if now == most or not most else f"{now} of {most}".strip()
    width, widest = known(pcie.width), known(pcie.max_width)
    generation, best = known(pcie.max_generation), known(pcie.card_max_generation)
    narrow = width is not None and widest is not None and width < widest
    slow = generation is not None and best is not None and generation < best
    return warned(f"{text} (card: Gen{best})" if slow else text, narrow or slow)


def _lane(generation: Whole, width: Whole) -> str:
    number, lanes = known(generation), known(width)
    words = (None if number is None else f"Gen{number}", None if lanes is None else f"x{lanes}")
    return " ".join(word for word in words if word)


def _in_use(card: Card) -> Entry | None:
    if isinstance(card.processes, Absence):
        return None
    return warned(str(len(card.processes)), bool(card.processes))


def _processes(found: Sequence[Accelerator]) -> tuple[Table, ...]:
    """Processes that use the cards, ours not among them."""
    using = [
        (one.device.name, process)
        for one in found
        if not isinstance(one.card.processes, Absence)
        for process in one.card.processes
    ][:_MOST_PROCESSES]
    memory = (known(process.memory_GiB) for _, process in using)
    return tables(
        column("used on", (name for name, _ in using)),
        column("process", (str(process.pid) for _, process in using), is_number=True),
        column("GiB", (None if size is None else gib(size) for size in memory), is_number=True),
        column("name", (known(process.name) for _, process in using), takes_rest=True),
    )


def _hidden(hidden: Sequence[str]) -> Iterable[Entry]:
    return (Entry(f"hidden: {text}", "caution") for text in hidden)


def _unseen(
    machine: Machine, found: Sequence[Accelerator], hidden: Sequence[str]
) -> Iterable[Entry]:
    """Cards on the PCI bus that the driver does not show, equal ones together."""
    shown = {(one.device.pci or "").lower() for one in found}
    unseen = [
        card
        for card in known(machine.bus) or ()
        if card.pci.lower() not in shown and known(card.is_accelerator) is not False
    ]
    if len(unseen) <= len(hidden):  # the hidden ones, whose addresses nobody tells
        return
    kinds: dict[tuple[str, str], list[str]] = {}
    for card in unseen:
        kinds.setdefault((f"{card.vendor} {card.pci_id}", _taken(card.driver)), []).append(card.pci)
    excuse = _excuse(machine, hidden)
    for (product, taken), addresses in kinds.items():
        text = f"on the PCI bus and not among the cards above: {product} at {', '.join(addresses)}"
        why = "" if taken == _NOT_TAKEN else excuse
        yield warned(f"{text}; {taken}{why}", not why)


def _excuse(machine: Machine, hidden: Sequence[str]) -> str:
    """What may keep a healthy card from us: a variable, or the container; empty for nothing."""
    variables = [
        name
        for name, value in sorted(machine.environment.items())
        if name.endswith("VISIBLE_DEVICES") and value != "all"
    ]
    if hidden or variables:
        return f", perhaps hidden by {', '.join(variables) or 'the environment'}"
    is_contained = known(machine.host.container) not in (None, "none")
    return ", perhaps not given to this container" if is_contained else ""


def _taken(driver: Text) -> str:
    if isinstance(driver, Absence):
        return _NOT_TAKEN if driver.reason == "not found" else "kernel driver not known"
    return f"taken by {driver}"
