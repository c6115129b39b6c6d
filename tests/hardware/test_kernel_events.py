"""What lines of the kernel's log mean."""

from __future__ import annotations

import pytest

from preflight.facts import KernelEvent
from preflight.hardware.kernel_events import LONGEST_TEXT, Line, kernel_events

GPU, PORT = "0000:1b:00.0", "0000:17:02.0"
PORTS = {GPU: GPU, PORT: GPU}
UPTIME_s = 1000.0


def events(*texts: str) -> tuple[KernelEvent, ...]:
    """Events of these lines, each a second after the one before."""
    lines = [Line(text=text, at_s=100.0 + second) for second, text in enumerate(texts)]
    return kernel_events(lines, PORTS, UPTIME_s)


def only(*texts: str) -> KernelEvent:
    """The one event of these lines."""
    (event,) = events(*texts)
    return event


@pytest.mark.parametrize(
    ("text", "code", "pci"),
    [
        ("NVRM: Xid (PCI:0000:1b:00): 79, pid=4242, GPU has fallen off the bus.", 79, GPU),
        (
            "NVRM: Xid (PCI:0000:1B:00): 31, pid=7, name=python3, Ch 00000010, intr 10000000",
            31,
            GPU,
        ),
        ("NVRM: Xid (PCI:0000:1b:00): 48, An uncorrectable double bit error (DBE)", 48, GPU),
        ("NVRM: Xid (0000:1b:00): 13, 0003 00000000 0000b197", 13, GPU),
        ("NVRM: Xid (PCI:0009:01:00): 149, GPU 0, NETIR_LINK_EVT", 149, "0009:01:00.0"),
        ("NVRM: Xid (PCI:0000:1b:00.0): 94, Contained: CE User Channel", 94, GPU),
        ("nvidia-gpu: NVRM: Xid (PCI:0000:1b:00): 119, Timeout waiting for RPC", 119, GPU),
    ],
)
def test_xids(text: str, code: int, pci: str) -> None:
    """The number and the card, with and without the bus, the function and small letters."""
    assert only(text) == KernelEvent(kind="xid", code=code, pci=pci, text=text, age_s=900.0)


@pytest.mark.parametrize(
    "text",
    [
        "NVRM: Xid handling enabled",
        "NVRM: Xid (PCI:0000:1b:00): unknown",
        "pci 0000:1b:00.0: [10de:2330] type 00 class 0x030200",
        "NVRM: loading NVIDIA UNIX Open Kernel Module for x86_64  580.65.06",
        "nvidia-nvlink: Nvlink Core is being initialized",
        "my-app: NVRM Xid (PCI:0000:1b:00): 79",
        "amdgpu 0000:05:00.0: amdgpu: GPU mode1 reset",
        "amdgpu 0000:05:00.0: amdgpu: GPU reset(1) succeeded!",
        "amdgpu 0000:05:00.0: amdgpu: no uncorrectable hardware errors detected in umc block",
        "amdgpu 0000:05:00.0: amdgpu: 0 uncorrectable hardware errors detected in umc block",
        "amdgpu 0000:05:00.0: amdgpu: 1048560 uncorrectable hardware errors detected in umc block",
        "amdgpu 0000:05:00.0: amdgpu: 3145680 uncorrectable hardware errors detected in umc block",
        "amdgpu 0000:05:00.0: amdgpu: 3 correctable hardware errors detected in umc block",
        "ahci 0000:00:17.0: PCIe Bus Error: severity=Corrected, type=Physical Layer, (Receiver ID)",
        "pcieport 0000:00:1c.0: pciehp: Slot(3): Link Down",
        "oom_reaper: reaped process 4242 (python3)",
        "",
    ],
)
def test_lines_that_are_no_trouble_of_ours(text: str) -> None:
    """Greetings, all-clears, false counts and errors of other devices make no event."""
    assert events(text) == ()


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("nvidia-nvswitch3: SXid (PCI:0000:c1:00.0): 20034, Fatal, Link 30 LTSSM Fault Up", 20034),
        ("nvidia-nvswitch0: SXid (PCI:0000:c1:00.0): 12028, Non-fatal, Link 32 egress", 12028),
    ],
)
def test_sxids(text: str, code: int) -> None:
    """A switch has numbers of its own, which are no XIDs."""
    event = only(text)
    assert (event.kind, event.code, event.pci) == ("sxid", code, "0000:c1:00.0")


def test_a_card_that_falls_off_the_bus_without_an_xid() -> None:
    """The driver tells the address some lines before."""
    event = only(
        "NVRM: The NVIDIA GPU 0000:b3:00.0",
        "NVRM: (PCI ID: 10de:26b9) installed in this system has",
        "NVRM: fallen off the bus and is not responding to commands.",
    )
    assert (event.kind, event.code, event.pci) == ("pcie", None, "0000:b3:00.0")


def test_a_card_that_falls_off_the_bus_in_one_line() -> None:
    """Later drivers put the address into the same line."""
    event = only("NVRM: GPU 0000:1b:00.0: GPU has fallen off the bus.")
    assert (event.kind, event.pci) == ("pcie", GPU)


@pytest.mark.parametrize(
    "text",
    [
        "NVRM: GPU 0000:1b:00.0: RmInitAdapter failed! (0x22:0x56:884)",
        "NVRM: GPU 0000:1b:00.0 requires use of the NVIDIA open kernel modules.",
    ],
)
def test_a_card_that_its_driver_cannot_start(text: str) -> None:
    """It is there and never shows up in NVML: the log alone says why."""
    event = only(text)
    assert (event.kind, event.pci) == ("nvidia", GPU)


@pytest.mark.parametrize(
    "text",
    [
        "amdgpu 0000:05:00.0: amdgpu: 2 uncorrectable hardware errors detected in umc block",
        "amdgpu 0000:05:00.0: amdgpu: 1 new uncorrectable hardware errors detected in gfx block",
        "amdgpu 0000:05:00.0: {7} socket: 0, die: 0, 3 uncorrectable hardware errors detected in"
        " total in umc block",
        "amdgpu 0000:05:00.0: amdgpu: 1048561 uncorrectable hardware errors detected in umc block",
    ],
)
def test_errors_that_memory_could_not_correct(text: str) -> None:
    """Any count but 0 and the multiples that a driver makes up."""
    event = only(text)
    assert (event.kind, event.pci) == ("ras", "0000:05:00.0")


@pytest.mark.parametrize(
    ("text", "pci"),
    [
        ("amdgpu 0000:05:00.0: amdgpu: GPU reset begin!", "0000:05:00.0"),
        ("amdgpu 0000:05:00.0: amdgpu: GPU reset begin!. Source:  4", "0000:05:00.0"),
        ("amdgpu 0000:05:00.0: amdgpu: GPU reset(1) failed with error -110", "0000:05:00.0"),
        ("amdgpu 0000:05:00.0: amdgpu: ring comp_1.0.0 timeout, signaled seq=7", "0000:05:00.0"),
        ("[drm:amdgpu_job_timedout [amdgpu]] *ERROR* ring sdma0 timeout, signaled seq=1", None),
    ],
)
def test_hangs_and_resets_of_amd(text: str, pci: str | None) -> None:
    """The driver's words of today and of some years ago."""
    event = only(text)
    assert (event.kind, event.pci) == ("amdgpu", pci)


@pytest.mark.parametrize(
    "text",
    [
        f"nvidia {GPU}: PCIe Bus Error: severity=Uncorrected (Fatal), type=Transaction Layer",
        f"nvidia {GPU}: AER: PCIe Bus Error: severity=Corrected, type=Data Link Layer",
        f"pcieport {PORT}: PCIe Bus Error: severity=Corrected, type=Physical Layer, (Receiver ID)",
        f"pcieport {PORT}: pciehp: Slot(5): Link Down",
        f"pcieport {PORT}: pciehp: Slot(5): Card not present",
    ],
)
def test_errors_of_the_bus_at_a_card_or_its_port(text: str) -> None:
    """Both ends of the card's link count, and are told as the card's."""
    event = only(text)
    assert (event.kind, event.pci) == ("pcie", GPU)


def test_severities_are_kept_apart() -> None:
    """Many corrected errors do not bury one that was not corrected."""
    corrected = f"nvidia {GPU}: PCIe Bus Error: severity=Corrected, type=Physical Layer"
    found = events(corrected, corrected, corrected.replace("Corrected", "Uncorrected (Fatal)"))
    assert [(event.count, "Uncorrected" in event.text) for event in found] == [
        (2, False),
        (1, True),
    ]


@pytest.mark.parametrize(
    "text",
    [
        "Out of memory: Killed process 4242 (python3) total-vm:1kB, anon-rss:1kB",
        "Memory cgroup out of memory: Killed process 4242 (python3) total-vm:1kB",
        "Out of memory: Kill process 4242 (python3) score 900 or sacrifice child",
    ],
)
def test_processes_that_were_killed_for_memory(text: str) -> None:
    """By the machine or by a control group, in the words of old and new kernels."""
    assert only(text).kind == "memory"


def test_equal_events_are_counted() -> None:
    """The last line stands for all, with its age."""
    event = only(*(f"NVRM: Xid (PCI:0000:1b:00): 63, Row Remapper: {n}" for n in range(3)))
    assert (event.count, event.age_s) == (3, 898.0)
    assert event.text.endswith("Row Remapper: 2")


def test_cards_and_codes_are_kept_apart() -> None:
    """Events stand in the order in which they began."""
    found = events(
        "NVRM: Xid (PCI:0000:9a:00): 48, DBE",
        "NVRM: Xid (PCI:0000:1b:00): 48, DBE",
        "NVRM: Xid (PCI:0000:9a:00): 63, Row Remapper",
        "NVRM: Xid (PCI:0000:9a:00): 48, DBE",
    )
    assert [(event.pci, event.code, event.count) for event in found] == [
        ("0000:9a:00.0", 48, 2),
        ("0000:1b:00.0", 48, 1),
        ("0000:9a:00.0", 63, 1),
    ]


@pytest.mark.parametrize(("at_s", "uptime_s"), [(None, 10.0), (5.0, None), (20.0, 10.0)])
def test_an_age_that_is_not_known(at_s: float | None, uptime_s: float | None) -> None:
    """Without stamp or clock, or with a clock that began later, there is no age."""
    line = Line(text="NVRM: Xid (PCI:0000:1b:00): 79, x", at_s=at_s)
    assert kernel_events([line], PORTS, uptime_s)[0].age_s is None


def test_long_and_strange_lines_are_kept_short_and_plain() -> None:
    """A text fits a table and holds no control letters."""
    event = only("NVRM: Xid (PCI:0000:1b:00): 79, \x1b[31m" + "x" * 1000)
    assert len(event.text) == LONGEST_TEXT
    assert event.text.endswith("...") and event.text.isprintable()


@pytest.mark.parametrize(
    "text",
    [
        "NVRM: Xid (PCI::::): 79, x",
        "NVRM: Xid (PCI:ffffffffffff:1b:00): 79, x",
        "NVRM: Xid (PCI:0000:1b:00): 99999999999999999, x",
        "NVRM: Xid (PCI:" + ":" * 100_000,
        "amdgpu " + "9" * 100_000 + " uncorrectable hardware errors detected in umc block",
        "NVRM: " * 20_000,
        "ring " + "a" * 100_000 + " amdgpu",
        "PCIe Bus Error: severity=",
    ],
)
def test_torn_lines_raise_nothing(text: str) -> None:
    """A line that a crash cut short, or made long, ends quickly with an event or none."""
    assert all(event.pci is None for event in events(text))
