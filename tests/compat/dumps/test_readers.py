"""NCCL logs, topology, ROCm's tools, the kernel's log, frameworks."""

from __future__ import annotations

from typing import Protocol, TypeVar

import pytest

from preflight.compat.dumps.frameworks import Frameworks
from preflight.compat.dumps.kernel_log import KernelLog
from preflight.compat.dumps.nccl_log import NcclLog
from preflight.compat.dumps.rocm_tools import RocmTools
from preflight.compat.dumps.text import Line, unwrap
from preflight.compat.dumps.topology import Topology


class Reader(Protocol):
    """Takes a line."""

    def read(self, line: Line) -> object:
        """Take what a line has of interest."""


R = TypeVar("R", bound=Reader)


def read(reader: R, text: str) -> R:
    """The reader after a text."""
    for number, line in enumerate(text.splitlines(), 1):
        reader.read(Line(number, unwrap(line)))
    return reader


def test_a_log_of_nccl_tells_version_ranks_and_network() -> None:
    """Old and new spellings; of ranks and nodes the largest number counts."""
    log = read(
        NcclLog(),
        "h:1:1 [0] NCCL INFO Bootstrap: Using eth0:10.0.0.5<0>\n"
        "h:1:1 [0] NCCL INFO NCCL version 2.26.2+cuda12.2\n"
        "h:1:1 [0] NCCL INFO comm 0x1 rank 0 nRanks 2 nNodes 1 localRanks 2\n"
        "h:1:1 [0] NCCL INFO comm 0x2 rank 0 nRanks 16 nNodes 2 localRanks 8\n"
        "h:1:1 [0] NCCL INFO Using network Socket\n"
        "h:1:1 [0] NCCL INFO Init COMPLETE\n",
    ).finish()
    values = (log.version, log.ranks, log.nodes, log.network, log.interface)
    assert [one.value if one else None for one in values] == [
        "2.26.2+cuda12.2",
        "16",
        "2",
        "Socket",
        "eth0:10.0.0.5<0>",
    ]
    assert log.completed is not None and log.completed.line == 6 and log.lines == 6


@pytest.mark.parametrize(
    ("words", "may_be_trouble"),
    [
        ("INFO Channel 00/0 : 0[0] -> 1[1] via P2P/CUMEM/read", False),
        ("INFO NET/Plugin: Could not find: libnccl-net.so. Using internal", False),
        ("INFO Trees [0] 1/-1/-1->0->-1", False),
        ("INFO misc/socket.cc:484 Connect to 10.0.0.3<4> failed : No route to host", True),
        ("WARN Duplicate GPU detected", True),
    ],
)
def test_ordinary_lines_of_a_log_are_passed_over(words: str, may_be_trouble: bool) -> None:
    """Signatures are looked for in warnings and in what names a failure."""
    assert NcclLog().read(Line(1, f"h:1:1 [0] NCCL {words}")) is may_be_trouble


@pytest.mark.parametrize(
    ("line", "number", "status"),
    [
        ("NVRM: Xid (PCI:0000:3b:00): 79, pid=1, GPU has fallen off the bus.", "79", "fail"),
        ("NVRM: Xid (PCI:0000:3b:00.0): 48, pid=1", "48", "fail"),
        ("NVRM: Xid (0000:03:00): 31, Ch 00000001", "31", "warn"),
        ("[ 99.1] NVRM: Xid (PCI:0000:41:00): 63, pid=1", "63", "warn"),
        ("a GPU with an XID 94 after an hour", "94", "fail"),
        ("NVRM: Xid (PCI:0000:3b:00): 998, pid=1", "998", "warn"),
    ],
)
def test_an_xid_is_judged_by_its_number(line: str, number: str, status: str) -> None:
    """In each spelling of the driver, with the place of the card where it stands there."""
    (condition,) = read(KernelLog(), line).conditions
    assert condition.status == status and condition.reason.startswith(f"Xid {number}")
    assert condition.stage == "system" and condition.action


@pytest.mark.parametrize("line", ["Xid", "no Xid in dmesg", "NVRM: Xid (PCI:0000:3b:00): 106, t"])
def test_a_word_or_a_test_message_is_no_xid(line: str) -> None:
    """The word alone, and numbers that the catalogue ignores."""
    assert read(KernelLog(), line).conditions == []


def test_each_xid_is_told_once() -> None:
    """A storm of one number is one condition."""
    line = "NVRM: Xid (PCI:0000:3b:00): 94, pid=1\n"
    assert len(read(KernelLog(), line * 1000).conditions) == 1


def test_rocm_smi_and_rocminfo_name_cards() -> None:
    """A card is counted once, whatever is said of it."""
    smi = "GPU[0]\t\t: Card Series: \t\tAMD Instinct MI300X OAM\nGPU[0]\t: GFX Version: gfx942\n"
    (card,) = read(RocmTools(), smi).finish()
    assert (card.name, card.architecture) == ("AMD Instinct MI300X OAM", "gfx942")
    info = "  Name:                    gfx90a\n  Name:    amdgcn-amd-amdhsa--gfx90a:xnack-\n"
    assert [gpu.architecture for gpu in read(RocmTools(), info * 2).finish()] == ["gfx90a"] * 2


def test_a_topology_counts_its_rows() -> None:
    """NVIDIA's words and AMD's weights; the heading is no card."""
    nvidia = (
        "        GPU0    GPU1    NIC0\nGPU0     X      NV18    PIX\nGPU1    NV18     X      SYS\n"
    )
    amd = "       GPU0         GPU1\nGPU0   0            15\nGPU1   15           0\n"
    assert [len(read(Topology(), text).finish()) for text in (nvidia, amd)] == [2, 2]


def test_lspci_shows_cards_and_narrow_links() -> None:
    """NVIDIA's and AMD's accelerators; a lower speed alone is what an idle card does."""
    found = read(
        Topology(),
        "16:00.0 3D controller: NVIDIA Corporation Device 26b9 (rev a1)\n"
        "0000:c1:00.0 Processing accelerators: Advanced Micro Devices, Inc. [AMD/ATI] Aqua\n"
        "00:1f.0 ISA bridge: Intel Corporation\n"
        "\tLnkSta: Speed 2.5GT/s (downgraded), Width x16\n"
        "\tLnkSta: Speed 16GT/s, Width x8 (downgraded)\n",
    )
    assert [one.value for one in found.pci_cards] == ["16:00.0", "0000:c1:00.0"]
    assert [one.line for one in found.conditions] == [5]


def test_frameworks_say_what_they_run_on() -> None:
    """bitsandbytes in both forms, and the report of DeepSpeed."""
    new = "PyTorch settings found: CUDA_VERSION=124, Highest Compute Capability: (8, 6)."
    old = "CUDA SETUP: Highest compute capability among GPUs detected: 7.5"
    for text, capability in ((new, "sm_86"), (old, "sm_75")):
        found = read(Frameworks(), text).capability
        assert found is not None and found.value == capability
    report = read(
        Frameworks(), "torch version .................... 2.4.1+cu121\nnvcc version ..... 11.8\n"
    )
    assert report.torch is not None and report.torch.value == "2.4.1+cu121"
    assert report.nvcc is not None and report.nvcc.value == "11.8"
