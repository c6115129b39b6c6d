"""Health and configuration of an NVIDIA card, through the real nvidia-ml-py."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import msgspec
import pynvml
import pytest

from preflight.facts import (
    Absence,
    Card,
    Clocks,
    Ecc,
    Fabric,
    Pcie,
    Power,
    Process,
    RemappedRows,
    RetiredPages,
    Temperature,
)
from preflight.hardware.nvidia_card import clock_reasons
from preflight.hardware.simulated_nvml import SimulatedNvml, SimulatedProcess

from .nvml_in_place import NO_FILES, NODE, flat, look, newer, old_and_new, write, write_place

OF_AMD = {"partition", "memory_partition", "ras", "hive"}
LINKS = [f"links.{index}" for index in range(18)]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """The kernel's files of that card."""
    write_place(tmp_path)
    return tmp_path


def first(library: SimulatedNvml, root: Path = NO_FILES) -> Card:
    """The first card of a look."""
    return look(library, root=root).cards[0]


@newer
def test_every_fact_of_a_healthy_card(root: Path) -> None:
    """All that NVML and the kernel tell stands in its place, in our units and words."""
    library = old_and_new()
    library.cards[0].processes = [SimulatedProcess(4711)]
    card = first(library, root)
    assert msgspec.structs.replace(card, links=()) == Card(
        device="gpu0",
        serial="1650523012345",
        board="692-2G520-0200-000",
        vbios="96.00.89.00.01",
        pci_id="10de:2330",
        subsystem_id="10de:16c1",
        persistence=True,
        compute_mode="default",
        mig=False,
        mig_slices=(),
        memory_used_GiB=0.504,
        numa_node=1,
        near_cpus="48-95,144-191",
        pcie=Pcie(
            generation=5,
            width=16,
            max_generation=5,
            max_width=16,
            card_max_generation=5,
            replays=0,
        ),
        ecc=Ecc(
            enabled=True,
            pending=True,
            corrected=0,
            uncorrected=0,
            lifetime_corrected=0,
            lifetime_uncorrected=0,
        ),
        remapped=RemappedRows(
            corrected=0,
            uncorrected=0,
            pending=False,
            failed=False,
            banks_without_spares=0,
            banks=2560,
        ),
        retired=RetiredPages(single_bit=0, double_bit=0, pending=False),
        recovery_action="none",
        repair="none",
        links=(),
        fabric=Fabric(
            state="completed",
            status="success",
            cluster="00000000-0000-0000-0000-000000000000",
            clique=0,
            health="healthy",
        ),
        clocks=Clocks(
            sm_MHz=345,
            sm_max_MHz=1980,
            memory_MHz=2619,
            memory_max_MHz=2619,
            slowed_by=("gpu idle",),
        ),
        temperature=Temperature(card_C=32.0, memory_C=41.0, slowdown_C=87.0, shutdown_C=92.0),
        power=Power(draw_W=70.5, limit_W=700.0, default_limit_W=700.0, max_limit_W=700.0),
        processes=(Process(pid=4711, name="/usr/bin/python3", memory_GiB=0.5),),
    )


@newer
def test_nothing_of_a_healthy_card_is_absent(root: Path) -> None:
    """Of a healthy card only what AMD alone tells is absent."""
    facts = flat(first(old_and_new(), root))
    only_amd = OF_AMD | {f"{link}.weight" for link in LINKS}
    assert {path for path, fact in facts.items() if isinstance(fact, Absence)} == only_amd


def test_an_older_memory_call_counts_what_the_driver_reserves() -> None:
    """With the first version of the call the reserve is part of what is used, not of the total."""
    library = SimulatedNvml(1)
    newer = look(library)
    library.lacking.add("nvmlDeviceGetMemoryInfo_v2")
    older = look(library)
    assert older.devices[0].memory_GiB == newer.devices[0].memory_GiB == 79.65
    assert (newer.cards[0].memory_used_GiB, older.cards[0].memory_used_GiB) == (0.004, 0.542)


SICK: list[tuple[str, Any, str, Any]] = [
    ("persistence", False, "persistence", False),
    ("compute_mode", 2, "compute_mode", "prohibited"),
    ("compute_mode", 3, "compute_mode", "exclusive process"),
    ("compute_mode", 9, "compute_mode", "unknown (9)"),
    ("generation", 1, "pcie.generation", 1),
    ("width", 8, "pcie.width", 8),
    ("max_generation", 4, "pcie.max_generation", 4),
    ("max_width", 8, "pcie.max_width", 8),
    ("card_max_generation", 6, "pcie.card_max_generation", 6),
    ("replays", 17, "pcie.replays", 17),
    ("ecc_pending", False, "ecc.pending", False),
    ("corrected", 3, "ecc.corrected", 3),
    ("uncorrected", 4, "ecc.uncorrected", 4),
    ("lifetime_corrected", 5, "ecc.lifetime_corrected", 5),
    ("lifetime_uncorrected", 6, "ecc.lifetime_uncorrected", 6),
    ("remapped_corrected", 1, "remapped.corrected", 1),
    ("remapped_uncorrected", 2, "remapped.uncorrected", 2),
    ("remap_pending", True, "remapped.pending", True),
    ("remap_failed", True, "remapped.failed", True),
    ("retired", (7, 0), "retired.single_bit", 7),
    ("retired", (0, 8), "retired.double_bit", 8),
    ("retirement_pending", True, "retired.pending", True),
    ("recovery_action", 1, "recovery_action", "gpu reset"),
    ("recovery_action", 3, "recovery_action", "drain p2p"),
    ("recovery_action", 99, "recovery_action", "unknown (99)"),
    ("slowed_by", 64 | 8, "clocks.slowed_by", ("hw slowdown", "hw thermal slowdown")),
    ("sm_MHz", 1410, "clocks.sm_MHz", 1410),
    ("sm_max_MHz", 1755, "clocks.sm_max_MHz", 1755),
    ("memory_MHz", 1593, "clocks.memory_MHz", 1593),
    ("memory_max_MHz", 3201, "clocks.memory_max_MHz", 3201),
    ("card_C", 91, "temperature.card_C", 91.0),
    ("memory_C", 99, "temperature.memory_C", 99.0),
    ("slowdown_C", 85, "temperature.slowdown_C", 85.0),
    ("shutdown_C", 95, "temperature.shutdown_C", 95.0),
    ("draw_W", 512.25, "power.draw_W", 512.25),
    ("limit_W", 350.0, "power.limit_W", 350.0),
    ("default_limit_W", 500.0, "power.default_limit_W", 500.0),
    ("max_limit_W", 750.0, "power.max_limit_W", 750.0),
]


@pytest.mark.parametrize(("attribute", "value", "path", "fact"), SICK)
def test_a_changed_card_changes_that_fact_alone(
    attribute: str, value: Any, path: str, fact: Any, root: Path
) -> None:
    """Each thing that can be wrong with a card shows in its own fact, and nowhere else."""
    library = old_and_new()
    before = flat(first(library, root))
    setattr(library.cards[0], attribute, value)
    after = flat(first(library, root))
    assert {name: after[name] for name in after if after[name] != before[name]} == {path: fact}


@newer
@pytest.mark.parametrize(
    ("channel", "tpc", "repair"),
    [
        (True, False, "channel repair pending"),
        (False, True, "tpc repair pending"),
        (True, True, "channel repair pending, tpc repair pending"),
    ],
)
def test_repairs_that_wait(channel: bool, tpc: bool, repair: str) -> None:
    """A card that waits for a reset to repair itself says what."""
    library = SimulatedNvml(1)
    library.cards[0].channel_repair, library.cards[0].tpc_repair = channel, tpc
    assert first(library).repair == repair


def test_banks_without_spare_rows() -> None:
    """Of the histogram the banks with no spare row and all banks are told."""
    library = SimulatedNvml(1)
    library.cards[0].banks = (2550, 4, 3, 2, 1)
    remapped = first(library).remapped
    assert (remapped.banks_without_spares, remapped.banks) == (1, 2560)


def test_a_card_without_ecc_memory() -> None:
    """A card that cannot have ECC has no count of errors, not 0."""
    library = SimulatedNvml(1)
    library.cards[0].ecc = None
    ecc = flat(first(library).ecc)
    assert {fact.reason for fact in ecc.values()} == {"not supported"}


def test_ecc_that_is_off_counts_nothing() -> None:
    """With ECC off its state is known and its counts are not."""
    library = SimulatedNvml(1)
    library.cards[0].ecc = False
    ecc = first(library).ecc
    assert (ecc.enabled, ecc.pending) == (False, True)
    assert isinstance(ecc.uncorrected, Absence)


def test_our_own_process_is_not_among_the_foreign() -> None:
    """Processes that use the card are told with name and memory, this one is not."""
    library = SimulatedNvml(1)
    library.cards[0].processes = [
        SimulatedProcess(os.getpid()),
        SimulatedProcess(4711, name=b"/opt/mine\xffr", memory_bytes=3 * 1024**3),
        SimulatedProcess(4712, memory_bytes=None),
    ]
    library.cards[0].broken.clear()
    miner, other = first(library).processes
    assert miner == Process(pid=4711, name="/opt/mine\ufffdr", memory_GiB=3.0)
    assert isinstance(other.memory_GiB, Absence)
    assert other.memory_GiB.reason == "not supported"


def test_a_process_whose_name_is_not_ours_to_know() -> None:
    """A process of another container is told by its number."""
    library = SimulatedNvml(1)
    library.cards[0].processes = [SimulatedProcess(4711)]
    library.broken["nvmlSystemGetProcessName"] = pynvml.NVML_ERROR_NO_PERMISSION
    (process,) = first(library).processes
    assert (process.pid, process.memory_GiB) == (4711, 0.5)
    assert isinstance(process.name, Absence)
    assert process.name.reason == "no permission"


@pytest.mark.parametrize(
    ("mask", "words"),
    [
        (0, ()),
        (1, ("gpu idle",)),
        (0x4, ("sw power cap",)),
        (0x20, ("sw thermal slowdown",)),
        (0x80, ("hw power brake slowdown",)),
        (0x7FF, 11),
        (0x800, ("unknown (0x800)",)),
    ],
)
def test_clock_reasons_are_words(mask: int, words: Any) -> None:
    """Each bit has its word; a bit newer than this table is told by its number."""
    found = clock_reasons(mask)
    assert (len(found) if isinstance(words, int) else found) == words


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("GpuIdle", "gpu idle"),
        ("ApplicationsClocksSetting", "applications clocks setting"),
        ("SwPowerCap", "sw power cap"),
        ("HwSlowdown", "hw slowdown"),
        ("SyncBoost", "sync boost"),
        ("SwThermalSlowdown", "sw thermal slowdown"),
        ("HwThermalSlowdown", "hw thermal slowdown"),
        ("HwPowerBrakeSlowdown", "hw power brake slowdown"),
        ("DisplayClockSetting", "display clock setting"),
    ],
)
def test_the_words_are_those_of_the_bits(name: str, value: str) -> None:
    """A word belongs to the bit that nvidia-ml-py gives that name."""
    assert clock_reasons(getattr(pynvml, f"nvmlClocksEventReason{name}")) == (value,)


def test_the_firmware_names_no_node(root: Path) -> None:
    """-1 is what the kernel tells, and is kept."""
    write(root, f"{NODE}/numa_node", "-1\n")
    assert first(SimulatedNvml(1), root).numa_node == -1


def test_a_card_whose_place_in_the_kernel_is_not_shown() -> None:
    """Without sysfs the node is absent, and every fact of NVML is there."""
    card = first(SimulatedNvml(1))
    assert isinstance(card.numa_node, Absence)
    assert card.numa_node.what == f"{NODE}/numa_node"
    assert card.serial == "1650523012345"
