"""Drivers and cards that are not what the order or torch needs."""

from __future__ import annotations

from pathlib import Path

import pytest
from fakegpu.build import Libraries

from certify.command import plan_text, run_command

TWO = {"FAKEGPU_COUNT": "2"}


def test_a_driver_that_is_too_old_fails_with_its_floor(
    libraries: Libraries, tmp_path: Path
) -> None:
    """CUDA 13 over a driver of CUDA 12.2: the floor is named, and torch's own words."""
    old = {"FAKEGPU_DRIVER": "535.183.01", "FAKEGPU_DRIVER_CUDA": "12020", **TWO}
    run = run_command(libraries, tmp_path, plan=plan_text(gpus=2), only="driver,import", **old)
    assert run.exit_code == 1, run.table()
    for device in ("gpu0", "gpu1"):
        reason = run.named("driver.toolkit", device).reason
        assert "driver 535.183.01 is older than 580.65.06" in reason
    assert (
        "driver on your system is too old (found version 12020)" in run.named("import.torch").reason
    )


@pytest.mark.long
def test_hidden_cards_are_named(libraries: Libraries, tmp_path: Path) -> None:
    """A card that CUDA_VISIBLE_DEVICES hides is missing, and the variable is told."""
    run = run_command(
        libraries, tmp_path, plan=plan_text(gpus=2), only="order", CUDA_VISIBLE_DEVICES="1", **TWO
    )
    count = run.named("order.count")
    assert (count.status, run.exit_code) == ("fail", 1), run.table()
    assert count.reason.startswith("1 of 2 H100 was found: gpu1 0000:02:00.0")
    assert "hidden: gpu0 (NVIDIA H100 80GB HBM3) by CUDA_VISIBLE_DEVICES=1" in count.reason


@pytest.mark.long
def test_the_card_that_is_shown_keeps_its_name(libraries: Libraries, tmp_path: Path) -> None:
    """torch calls the second card cuda:0 when the first is hidden; by UUID it stays gpu1.

    Nobody asked torch before this stage, since only this stage was chosen.
    """
    run = run_command(
        libraries, tmp_path, plan=plan_text(gpus=1), only="kernel", CUDA_VISIBLE_DEVICES="1", **TWO
    )
    assert run.record.verdict.word == "INCONCLUSIVE", run.table()  # only part was asked for
    assert run.exit_code == 3
    assert ("kernel.first", "gpu1") in run.of_status("pass"), run.table()
    assert [(d.name, d.torch_device) for d in run.record.devices] == [("gpu1", "cuda:0")]


@pytest.mark.long
def test_a_missing_card_fails_the_count(libraries: Libraries, tmp_path: Path) -> None:
    """Three bought, two there: both are listed with their PCI addresses."""
    run = run_command(libraries, tmp_path, plan=plan_text(gpus=3), only="order", **TWO)
    count = run.named("order.count")
    assert (count.status, run.exit_code) == ("fail", 1), run.table()
    assert count.reason.startswith("2 of 3 H100 were found: gpu0 0000:01:00.0, gpu1 0000:02:00.0")


@pytest.mark.long
def test_a_card_of_another_product_is_named(libraries: Libraries, tmp_path: Path) -> None:
    """One A100 among two H100 fails order.product by its name; the count is right."""
    names = "NVIDIA H100 80GB HBM3|NVIDIA A100-SXM4-80GB"
    run = run_command(
        libraries, tmp_path, plan=plan_text(gpus=2), only="order", FAKEGPU_NAME=names, **TWO
    )
    product = run.named("order.product")
    assert (product.status, run.exit_code) == ("fail", 1), run.table()
    assert product.reason == "H100 was bought; gpu1 is NVIDIA A100-SXM4-80GB"
    assert run.named("order.count").status == "pass"


def test_a_driver_that_is_not_loaded_is_no_health(libraries: Libraries, tmp_path: Path) -> None:
    """NVML says so, no accelerator is found: NOT READY, with NVML's reason."""
    run = run_command(
        libraries, tmp_path, plan=plan_text(gpus=2), only="driver", FAKENVML_INIT="9", **TWO
    )
    assert (run.record.verdict.word, run.exit_code) == ("NOT_READY", 1), run.table()
    assert "NVML: driver not loaded" in run.named("driver.present").reason
