"""Stages order, driver and system: what cards are there, and whether the driver serves torch."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

import msgspec

from preflight.compat.drivers import driver_floor, floor_source, is_at_least
from preflight.compat.dumps.card_names import is_data_center
from preflight.compat.dumps.facts import Build, Facts, Gpu, Reading
from preflight.compat.dumps.findings import Finding
from preflight.compat.dumps.torch_targets import made_of
from preflight.compat.wheel_choice import drives

_OLDER_FLOORS = {"8.0": "375.26", "9.0": "384.81", "9.1": "390.46", "9.2": "396.26"}
"""NVIDIA, CUDA Toolkit release notes, table of toolkits and drivers."""
_ODD_SHARE = 0.12
"""Of the product's memory. Vendors say GB and mean either, 7 % apart, and ECC takes up to 6 %; no
product's next larger kin is as near."""
_HELD_SHARE = 0.10
"""Of a card's memory; below it lie a desktop and a driver's own needs."""
_IDLE_PERCENT = 10
_SLICE_NAME = re.compile(r"\bMIG \d+g\.\d+gb", re.IGNORECASE)
NOT_VISIBLE = "no card is visible to this process"
"""How a reason begins that gates everything on the card."""
UNCOLLECTED = ("could not collect", "n/a", "no cuda", "none", "")
NOT_A_VERSION = (
    "not a matter of versions: look whether /dev/nvidiactl, /dev/nvidia-uvm and /dev/nvidia0 exist "
    "(sudo nvidia-modprobe -c 0 -u), whether CUDA_VISIBLE_DEVICES hides the cards, and reboot "
    "after an update of the driver"
)


class ProductMemory(msgspec.Struct, frozen=True, kw_only=True):
    """What a product is called by its driver, and how much memory one device of it has."""

    names: tuple[str, ...]
    """As drivers print them."""
    memory_GiB: float


def judge_order(facts: Facts, products: Sequence[ProductMemory] = ()) -> Iterator[Finding]:
    """Which cards are listed, whole or in slices, with the memory of their product."""
    gpus = listed(facts)
    if facts.slices:
        yield from _slices(facts.slices, gpus)
    bus, rows = facts.pci_cards, [gpu for gpu in facts.gpus if gpu.tool == "nvidia-smi"]
    if bus and facts.driver and len(rows) < len(bus) and (rows or facts.smi_complete):
        yield Finding(
            stage="order",
            status="fail",
            reason=f"the PCI bus shows {len(bus)} cards and nvidia-smi {len(rows)}",
            action="dmesg | grep -i -e 'fallen off' -e NVRM names the missing one; ask the seller "
            "for another card",
            lines=tuple(one.line for one in bus[:8]),
        )
    elif bus and not rows:
        yield Finding(
            stage="order",
            status="unknown",
            reason=f"the PCI bus shows {len(bus)} cards; how many the driver lists, the text does "
            "not tell",
            action=f"nvidia-smi -L or rocm-smi must list {len(bus)} as well",
            lines=tuple(one.line for one in bus[:8]),
        )
    yield from _none_visible(facts)
    if not gpus:
        return
    for gpu in gpus:
        if _SLICE_NAME.search(gpu.name):
            yield from _slices((Reading(value=gpu.name, line=gpu.line),), [])
        yield from _odd_memory(gpu, products)
        if gpu.name.upper().startswith("GRID ") or "vGPU" in gpu.name:
            yield Finding(
                stage="order",
                status="warn",
                reason=f"{gpu.name} is a virtual slice of a card",
                action="ask the seller for whole cards if whole ones were bought",
                lines=(gpu.line,),
            )
    yield Finding(
        stage="order",
        status="pass",
        reason=f"listed: {_counted(gpus)}; whether it is what was bought, the order tells",
        lines=tuple(gpu.line for gpu in gpus[:8] if gpu.line),
    )


def _none_visible(facts: Facts) -> Iterator[Finding]:
    """torch is built for cards, and neither it nor the driver's tool sees one."""
    for build in facts.builds:
        words, available = build.gpu_words, build.available
        if words is None or available is None or available.value != "False" or facts.gpus:
            continue
        if made_of(build).kind in ("cuda", "rocm") and not _is_version(build.driver):
            yield Finding(
                stage="order",
                status="fail",
                reason=f"{NOT_VISIBLE}: torch finds none, and no tool lists one",
                action="nvidia-smi -L or rocminfo on the host, ls -l /dev/nvidia* /dev/kfd, env | "
                "grep VISIBLE_DEVICES; in a container --gpus all, or --device /dev/kfd --device "
                "/dev/dri",
                lines=(available.line, words.line),
            )


def listed(facts: Facts) -> list[Gpu]:
    """Cards that a tool lists, of the dump of torch that lists most, else of another tool.

    torch names AMD's cards on one line however many there are, and a matrix counts them.
    """
    of_builds = max((build.gpus for build in facts.builds), key=len, default=())
    if of_builds and all(gpu.tool == "topology" for gpu in facts.gpus):
        is_one_product = len({gpu.name for gpu in of_builds}) == 1
        missing = max(0, len(facts.gpus) - len(of_builds)) if is_one_product else 0
        return [*of_builds, *of_builds[:1] * missing]
    return list(facts.gpus if len(facts.gpus) > len(of_builds) else of_builds)


def _counted(gpus: Iterable[Gpu]) -> str:
    counts = Counter(gpu.name for gpu in gpus)
    return ", ".join(f"{count} x {name}" for name, count in counts.most_common(4))


def _slices(slices: tuple[Reading, ...], gpus: list[Gpu]) -> Iterator[Finding]:
    lines = tuple(one.line for one in slices[:8])
    whole = f" of {gpus[0].name}" if gpus else ""
    yield Finding(
        stage="order",
        status="fail",
        reason=f"{len(slices)} MIG slices{whole} are listed instead of whole cards",
        action="ask the seller for whole cards (nvidia-smi -mig 0), or use one slice: "
        "CUDA_VISIBLE_DEVICES=MIG-<uuid>",
        lines=lines,
    )
    yield Finding(
        stage="strategy",
        status="fail",
        reason="a process sees one slice only, and NCCL does not join slices of one card",
        action="train on whole cards",
        lines=lines,
        follows=True,
    )


def _odd_memory(gpu: Gpu, products: Sequence[ProductMemory]) -> Iterator[Finding]:
    """A card whose memory is not that of any product with its name."""
    plain = _plain(gpu.name)
    known = [one.memory_GiB for one in products if plain in map(_plain, one.names)]
    if not gpu.memory_MiB or not known:
        return
    found_GiB = gpu.memory_MiB / 1024
    if all(abs(found_GiB - one) > _ODD_SHARE * one for one in known):
        yield Finding(
            stage="order",
            status="warn",
            reason=f"{gpu.name} with {found_GiB:.0f} GiB: the product has {known[0]:.0f} GiB",
            action="ask the seller what this card is: a rebuilt one, or a slice",
            lines=(gpu.line,),
        )


def _plain(name: str) -> str:
    return name.lower().removeprefix("nvidia ").removeprefix("amd ")


def judge_system(facts: Facts) -> Iterator[Finding]:
    """States that tools print, and memory that somebody holds on an idle card."""
    for one in facts.conditions:
        yield Finding(
            stage=one.stage,
            status=one.status,  # type: ignore[arg-type]
            reason=one.reason,
            action=one.action,
            lines=(one.line,),
        )
    for gpu in facts.gpus:
        held, size, busy = gpu.used_MiB, gpu.memory_MiB, gpu.utilization_percent
        if held and size and held > _HELD_SHARE * size and (busy or 0) <= _IDLE_PERCENT:
            yield Finding(
                stage="system",
                status="warn",
                reason=f"{held / 1024:.0f} of {size / 1024:.0f} GiB of {gpu.name} are in use while "
                "it is idle",
                action="nvidia-smi shows the processes; those of others are not in your list: end "
                "yours, or ask the seller whose it is",
                lines=(gpu.line,),
            )


def judge_driver(facts: Facts) -> Iterator[Finding]:
    """Whether the driver serves each torch, by version and by what torch found."""
    for build in facts.builds:
        found = _of_build(build, facts)
        if found is not None:
            yield found
    yield from _too_old_for_card(facts)


def _of_build(build: Build, facts: Facts) -> Finding | None:
    made = made_of(build)
    available = build.available.value if build.available else None
    lines = tuple(r.line for r in (build.cuda, build.available, build.driver) if r is not None)
    if made.kind == "rocm":
        if available == "True":
            return Finding(
                stage="driver", status="pass", reason="torch found the card", lines=lines
            )
        return _not_found(build, facts, "ROCm", lines) if available == "False" else None
    driver = build.driver if _is_version(build.driver) else None
    driver = driver or (facts.driver if build.driver is None else None)
    if driver is None:
        return None
    if made.kind == "cpu":
        return Finding(
            stage="driver",
            status="pass",
            reason=f"driver {driver.value} lists the card; this torch never asks it",
            lines=(driver.line,),
        )
    if made.toolkit is None:
        return None
    return _of_versions(driver, made.toolkit, available, build, facts)


def _is_version(driver: Reading | None) -> bool:
    return driver is not None and driver.value[:1].isdigit()


def _of_versions(
    driver: Reading, toolkit: str, available: str | None, build: Build, facts: Facts
) -> Finding | None:
    floor = driver_floor(toolkit) or _OLDER_FLOORS.get(toolkit)
    enough = is_at_least(driver.value, floor) if floor else None
    lines = tuple(sorted({r.line for r in (build.cuda, build.available, driver) if r is not None}))
    if available == "True":
        note = (
            ""
            if enough in (True, None)
            else (f", older than {floor}: a forward compatibility package (cuda-compat) carries it")
        )
        return Finding(
            stage="driver",
            status="pass",
            reason=f"torch for CUDA {toolkit} starts on driver {driver.value}{note}",
            lines=lines,
        )
    if enough is None:
        return None
    if enough:
        if available == "False":
            return _not_found(build, facts, f"CUDA {toolkit}", lines)
        return Finding(
            stage="driver",
            status="unknown",
            reason=f"driver {driver.value} is new enough for CUDA {toolkit} (from {floor}); "
            "whether torch starts on it, the text does not tell",
            lines=lines,
        )
    gpus = build.gpus or facts.gpus
    may_have_package = available is None and any(is_data_center(gpu.name) for gpu in gpus)
    return Finding(
        stage="driver",
        status="warn" if may_have_package else "fail",
        reason=f"driver {driver.value} is older than {floor}, the floor of CUDA {toolkit} "
        f"({floor_source(toolkit)})",
        action=f"install driver {floor} or newer on the host, or a torch built for an older CUDA",
        lines=lines,
    )


def _not_found(build: Build, facts: Facts, toolkit: str, lines: tuple[int, ...]) -> Finding | None:
    """torch finds no card although versions fit: a fault where a tool lists cards, else unknown."""
    gpus = build.gpus or facts.gpus
    if not gpus:
        return None
    return Finding(
        stage="driver",
        status="fail",
        reason=f"{_counted(gpus)} listed and the versions fit {toolkit}, and torch finds no card",
        action=NOT_A_VERSION,
        lines=tuple(sorted({*lines, *(gpu.line for gpu in gpus[:4] if gpu.line)})),
    )


def _too_old_for_card(facts: Facts) -> Iterator[Finding]:
    """A driver older than the first that knows a card's product, where torch finds no card.

    One that torch computes on is known to the driver, whatever a table says.
    """
    for build in facts.builds:
        if build.available is None or build.available.value != "False":
            continue
        for gpu in build.gpus or facts.gpus:
            driver, arch = build.driver or facts.driver, gpu.architecture
            if driver and arch and _is_version(driver) and not drives(driver.value, arch):
                yield Finding(
                    stage="driver",
                    status="fail",
                    reason=f"driver {driver.value} does not know {gpu.name}, {arch}: it is older "
                    "than the first that does, or newer than the last",
                    action="install a driver branch for this card on the host: no container "
                    "brings one",
                    lines=tuple(sorted({driver.line, gpu.line})),
                )
                return
