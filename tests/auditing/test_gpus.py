"""Which GPUs an audit is about."""

from __future__ import annotations

import pytest
from faults.runs import device

from preflight.auditing.gpus import choose_gpus, gpu_of_architecture, gpus_named
from preflight.errors import UsageError
from preflight.events import Inventory
from preflight.hardware.catalog import products
from preflight.harness import inventory_child
from preflight.records import Device, Host


def test_a_product_by_its_name() -> None:
    """With the oldest driver that knows it, and the oldest CUDA that builds for it."""
    (b200,) = gpus_named("B200")
    assert (b200.architecture, b200.first_driver, b200.first_toolkit) == (
        "sm_100",
        "570.133.20",
        "12.8",
    )
    assert b200.takes_compat_packages
    (radeon,) = gpus_named("7900 XTX")
    assert (radeon.architecture, radeon.first_driver, radeon.kind) == ("gfx1100", None, "hip")


def test_a_family_is_one_gpu() -> None:
    """H100 is sold in several forms of one architecture."""
    (h100,) = gpus_named("H100")
    assert (h100.name, h100.architecture, len(h100.products) > 1) == ("H100", "sm_90", True)


def test_a_name_for_several_architectures_is_several_gpus() -> None:
    """Alternatives that are parted by a slash each have their own column."""
    found = gpus_named("B200/B300")
    assert [gpu.name for gpu in found] == ["B200/B300 (sm_100)", "B200/B300 (sm_103)"]


def test_older_cards_are_known_by_name() -> None:
    """The catalogue of products begins with the A100; a T4 is known all the same."""
    (t4,) = gpus_named("T4")
    assert (t4.name, t4.architecture, t4.first_driver) == ("T4", "sm_75", "410.48")
    assert t4.takes_compat_packages


@pytest.mark.parametrize(("name", "near"), [("B20", "B200"), ("H10", "H100"), ("MI300Z", "MI300X")])
def test_an_unknown_name_is_a_mistake_with_near_ones(name: str, near: str) -> None:
    """It names the flag and what may have been meant."""
    with pytest.raises(UsageError, match="--gpu") as caught:
        choose_gpus([name], [])
    assert near in str(caught.value)
    assert caught.value.exit_code == 2


def test_an_architecture_by_its_name() -> None:
    """Its driver is the oldest that knows the chip, whichever product it is in."""
    found = gpu_of_architecture("sm_100")
    assert (found.name, found.first_driver) == ("sm_100", "570.26")
    assert gpu_of_architecture("sm_75").first_driver == "410.48"
    assert gpu_of_architecture("gfx942:xnack+").architecture == "gfx942:xnack+"


@pytest.mark.parametrize("name", ["sm_100a", "compute_90", "B200", "100", "gfx9-4-generic"])
def test_what_is_no_architecture_is_a_mistake(name: str) -> None:
    """Code is built for sm_100a, a GPU is sm_100."""
    with pytest.raises(UsageError, match="--arch"):
        choose_gpus([], [name])


def test_flags_may_be_given_again_or_hold_several() -> None:
    """--gpu A,B --gpu C and --arch together; each counts once."""
    chosen = choose_gpus(["B200, H100", "B200"], ["sm_90"])
    assert [gpu.name for gpu in chosen.gpus] == ["B200", "H100", "sm_90"]
    assert chosen.origin == "flags"


@pytest.mark.parametrize(("named", "architectures"), [([""], []), ([], [","])])
def test_a_flag_without_a_name_is_a_mistake(named: list[str], architectures: list[str]) -> None:
    """It is not taken for no flag."""
    with pytest.raises(UsageError, match="nothing is named"):
        choose_gpus(named, architectures)


def machine(monkeypatch: pytest.MonkeyPatch, *devices: Device) -> None:
    """Let the inventory have these devices."""
    found = Inventory(host=Host(name="node"), nodes=(), devices=devices)
    monkeypatch.setattr(inventory_child, "look_at_machine", lambda *_, **__: found)


def test_without_flags_the_cards_of_this_machine_count(monkeypatch: pytest.MonkeyPatch) -> None:
    """Equal cards are one GPU, and their driver is known."""
    cards = [
        device(f"gpu{i}", product="NVIDIA B200", architecture="sm_100", driver="580.95.05")
        for i in range(8)
    ]
    machine(monkeypatch, *cards)
    chosen = choose_gpus([], [])
    assert [gpu.architecture for gpu in chosen.gpus] == ["sm_100"]
    assert (chosen.origin, chosen.driver) == ("machine", "580.95.05")


def test_a_card_that_the_catalogue_does_not_know(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its own name and architecture are enough."""
    machine(monkeypatch, device("gpu0", product="Some Card", architecture="sm_75"))
    (gpu,) = choose_gpus([], []).gpus
    assert (gpu.name, gpu.architecture, gpu.products) == ("Some Card", "sm_75", ())


def test_without_cards_all_architectures_count(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of the catalogue, each once, NVIDIA's by number before AMD's."""
    machine(monkeypatch)
    chosen = choose_gpus([], [])
    names = [gpu.name for gpu in chosen.gpus]
    assert chosen.origin == "catalogue"
    assert set(names) == {product.architecture for product in products()}
    assert names[:3] == ["sm_80", "sm_89", "sm_90"]
    assert names[-1].startswith("gfx1")
