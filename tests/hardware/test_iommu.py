"""Whether an IOMMU translates."""

from __future__ import annotations

from pathlib import Path

import pytest

from preflight.hardware.files import Files
from preflight.hardware.iommu import OFF, PASSTHROUGH, TRANSLATING, iommu_mode
from preflight.hardware.pci import BUS

from .machines import machine, reason

GPU = "0000:1b:00.0"
OTHER = "0000:9a:00.0"
CARDS = {"gpu": GPU, "other": OTHER}


def with_iommu(root: Path, options: str = "", **types: str) -> Files:
    """A machine with an IOMMU, boot options, and the type of the group of each card."""
    texts: dict[str, object] = {"/proc/cmdline": options, "/sys/class/iommu/dmar0/x": ""}
    links = {}
    for number, (name, kind) in enumerate(types.items()):
        group = f"/sys/kernel/iommu_groups/{number}"
        texts[f"{group}/type"] = kind
        links[f"{BUS}/{CARDS[name]}/iommu_group"] = group
    return machine(root, texts, links)


@pytest.mark.parametrize(
    ("kind", "mode"), [("identity", PASSTHROUGH), ("DMA", TRANSLATING), ("DMA-FQ", TRANSLATING)]
)
@pytest.mark.parametrize("options", ["", "iommu=pt", "iommu=off", "intel_iommu=on"])
def test_the_group_has_the_last_word(tmp_path: Path, kind: str, mode: str, options: str) -> None:
    """Boot options may be overruled by firmware and driver."""
    assert iommu_mode(with_iommu(tmp_path, options, gpu=kind), [GPU]) == mode


def test_one_translated_card_makes_the_machine_translating(tmp_path: Path) -> None:
    """Cards in passthrough do not hide it."""
    files = with_iommu(tmp_path, gpu="identity", other="DMA")
    assert iommu_mode(files, [GPU, OTHER]) == TRANSLATING
    assert iommu_mode(files, [GPU]) == PASSTHROUGH


@pytest.mark.parametrize(
    ("options", "mode"),
    [
        ("iommu=pt", PASSTHROUGH),
        ("amd_iommu=on iommu=pt", PASSTHROUGH),
        ("iommu=force,pt", PASSTHROUGH),
        ("iommu.passthrough=1", PASSTHROUGH),
        ("iommu.passthrough=0", TRANSLATING),
        ("iommu=nopt", TRANSLATING),
        ("iommu=off", OFF),
        ("intel_iommu=off", OFF),
        ("amd_iommu=off iommu=pt", OFF),
    ],
)
@pytest.mark.parametrize("cards", [[], [GPU]])
def test_options_count_where_no_group_tells(
    tmp_path: Path, options: str, mode: str, cards: list[str]
) -> None:
    """Old kernels do not tell the type of a group."""
    assert iommu_mode(with_iommu(tmp_path, options), cards) == mode


@pytest.mark.parametrize("options", ["", "intel_iommu=on", "quiet"])
def test_the_default_of_a_kernel_is_not_guessed(tmp_path: Path, options: str) -> None:
    """Without group and option it depends on who built the kernel."""
    assert reason(iommu_mode(with_iommu(tmp_path, options), [GPU])) == "not readable"


@pytest.mark.parametrize("kind", ["unmanaged", "blocked", "", "torn"])
def test_a_type_that_says_neither(tmp_path: Path, kind: str) -> None:
    """A group that a driver of user space holds is neither; options do not overrule it here."""
    assert reason(iommu_mode(with_iommu(tmp_path, gpu=kind), [GPU])) == "not readable"


def test_no_iommu(tmp_path: Path) -> None:
    """An empty class, or none at all beside the others, is off; without /sys nothing is known."""
    empty = machine(tmp_path / "a", {"/sys/class/net/lo/mtu": 1})
    assert iommu_mode(empty, [GPU]) == OFF
    (tmp_path / "a/sys/class/iommu").mkdir()
    assert iommu_mode(empty, [GPU]) == OFF
    assert reason(iommu_mode(Files(tmp_path / "b"), [GPU])) == "not found"
