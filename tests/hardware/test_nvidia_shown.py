"""Which NVIDIA cards and slices the environment shows, as the backend tells it."""

from __future__ import annotations

import pytest

from preflight.facts import Absence
from preflight.hardware.protocol import Sighting
from preflight.hardware.simulated_nvml import SimulatedNvml, SimulatedSlice

from .nvml_in_place import look

ON_SLICE = "MIG-0a1b2c3d-1111-2222-3333-444455556666"


def only(sighting: Sighting) -> Absence:
    """The only absence of a sighting."""
    (one,) = sighting.absences
    return one


@pytest.mark.parametrize(
    ("value", "shown", "hidden"),
    [
        ("1", ["gpu1"], ["gpu0"]),
        ("GPU-5e", ["gpu1"], ["gpu0"]),
        ("1,0", ["gpu0", "gpu1"], []),
        ("", [], ["gpu0", "gpu1"]),
        ("-1", [], ["gpu0", "gpu1"]),
        ("0,7,1", ["gpu0"], ["gpu1"]),
    ],
)
def test_hidden_cards_are_named_with_what_hides_them(
    value: str, shown: list[str], hidden: list[str]
) -> None:
    """Cards that the environment hides are no devices of the run, and are told apart from lost."""
    sighting = look(SimulatedNvml(), environ={"CUDA_VISIBLE_DEVICES": value})
    assert [device.name for device in sighting.devices] == shown
    assert [card.device for card in sighting.cards] == shown
    assert sighting.hidden == tuple(
        f"{name} (NVIDIA H100 80GB HBM3) by CUDA_VISIBLE_DEVICES={value}" for name in hidden
    )
    assert sighting.absences == ()


def test_a_hidden_card_is_asked_for_its_identity_only() -> None:
    """A card that is not ours to use is not woken for its health."""
    said: list[str] = []
    look(SimulatedNvml(), environ={"CUDA_VISIBLE_DEVICES": "1"}, say=said.append)
    assert "nvmlDeviceGetUUID gpu0" in said
    assert "nvmlDeviceGetEccMode gpu0" not in said
    assert "/dev/nvidia0" not in said


MIXED = {"CUDA_VISIBLE_DEVICES": "0"}


def mixed() -> SimulatedNvml:
    """A machine with an L4 before its H100."""
    library = SimulatedNvml()
    library.cards[0].name = "NVIDIA L4"
    return library


def test_plain_indices_among_several_products_are_uncertain() -> None:
    """CUDA may count the H100 first: the best guess is kept, and said to be one."""
    sighting = look(mixed(), environ=MIXED)
    assert [device.product for device in sighting.devices] == ["NVIDIA L4"]
    assert only(sighting).what == "CUDA_VISIBLE_DEVICES"
    assert only(sighting).reason == "failed"
    assert "CUDA_DEVICE_ORDER=PCI_BUS_ID" in only(sighting).detail
    assert "UUID" in only(sighting).detail


@pytest.mark.parametrize(
    "environ",
    [
        {**MIXED, "CUDA_DEVICE_ORDER": "PCI_BUS_ID"},
        {"CUDA_VISIBLE_DEVICES": "GPU-5d"},
        {"CUDA_VISIBLE_DEVICES": "1,0"},
        {"CUDA_VISIBLE_DEVICES": ""},
        {},
    ],
)
def test_a_selection_that_can_mean_only_one_thing_is_certain(environ: dict[str, str]) -> None:
    """The order by address, UUIDs, all cards and no card leave nothing to guess."""
    assert look(mixed(), environ=environ).absences == ()


def divided() -> SimulatedNvml:
    """A machine whose first card is divided into two MIG slices."""
    library = SimulatedNvml()
    library.cards[0].mig = True
    library.cards[0].slices = [
        SimulatedSlice("1g.10gb", ON_SLICE),
        SimulatedSlice("3g.40gb", "MIG-99999999-1111-2222-3333-444455556666"),
    ]
    return library


def test_slices_are_no_devices() -> None:
    """A divided card counts once, and its slices are named on it."""
    sighting = look(divided())
    assert [device.name for device in sighting.devices] == ["gpu0", "gpu1"]
    assert sighting.cards[0].mig is True
    assert sighting.cards[0].mig_slices == ("1g.10gb", "3g.40gb")
    assert (sighting.cards[1].mig, sighting.cards[1].mig_slices) == (False, ())
    assert sighting.absences == ()


@pytest.mark.parametrize("value", [ON_SLICE, "MIG-0a1b"])
def test_a_slice_in_the_environment_shows_a_part_of_its_card(value: str) -> None:
    """The card stays a device, and both the hidden and the absences say what is left of it."""
    sighting = look(divided(), environ={"CUDA_VISIBLE_DEVICES": value})
    assert [device.name for device in sighting.devices] == ["gpu0"]
    assert sighting.hidden == (
        f"gpu1 (NVIDIA H100 80GB HBM3) by CUDA_VISIBLE_DEVICES={value}",
        "gpu0 (NVIDIA H100 80GB HBM3) but for its MIG slice 1g.10gb by "
        f"CUDA_VISIBLE_DEVICES={value}",
    )
    assert only(sighting).what == "CUDA_VISIBLE_DEVICES"
    assert "1g.10gb of gpu0" in only(sighting).detail
    assert sighting.cards[0].mig is True


@pytest.mark.parametrize("value", ["MIG-", "MIG-ffff", f"GPU-ffff,{ON_SLICE}"])
def test_a_slice_that_does_not_exist_shows_nothing(value: str) -> None:
    """A slice of nobody, or after an invalid entry, shows no card and no part of one."""
    sighting = look(divided(), environ={"CUDA_VISIBLE_DEVICES": value})
    assert sighting.devices == ()
    assert len(sighting.hidden) == 2
    assert sighting.absences == ()
