"""What tells one NVIDIA card from another."""

from __future__ import annotations

import pynvml
import pytest

from preflight.facts import Absence
from preflight.hardware.nvidia_identity import MEMORY_INFO_V2, pci_address
from preflight.hardware.simulated_nvml import SimulatedNvml, SimulatedSlice

from .nvml_in_place import look

UUID = "MIG-0a1b2c3d-1111-2222-3333-444455556666"


@pytest.mark.parametrize(
    ("bus_id", "address"),
    [
        ("00000000:9A:00.0", "0000:9a:00.0"),
        ("0000:9A:00.0", "0000:9a:00.0"),
        ("00000009:01:00.0", "0009:01:00.0"),
        ("00010001:01:00.0", "10001:01:00.0"),
    ],
)
def test_an_address_is_written_as_the_kernel_writes_it(bus_id: str, address: str) -> None:
    """NVML pads the domain to 8 digits, the kernel to 4; a domain that needs more keeps them."""
    assert pci_address(bus_id) == address


@pytest.mark.parametrize("bus_id", ["", "garbage", "FFFFFFFF:FFFF:FF.F", "0000:9a:00"])
def test_what_is_no_address_is_refused(bus_id: str) -> None:
    """Nothing is made of text that is no address."""
    with pytest.raises(ValueError, match="no PCI address"):
        pci_address(bus_id)


@pytest.mark.parametrize("bus", ["", b"\xff\xfe", "00000000:ZZ:00.0"])
def test_an_address_that_makes_no_sense_is_absent(bus: str | bytes) -> None:
    """A broken address costs the address, and the card is still a device."""
    library = SimulatedNvml(1)
    library.cards[0].bus = bus
    sighting = look(library)
    assert sighting.devices[0].pci is None
    (absence,) = sighting.absences
    assert (absence.what, absence.reason) == ("PCI address of gpu0", "not readable")


def test_a_product_that_is_no_text() -> None:
    """A name that is no UTF-8 is told with replacement characters."""
    library = SimulatedNvml(1)
    library.cards[0].name = b"NVIDIA H100\xa9"
    assert look(library).devices[0].product == "NVIDIA H100\ufffd"


def test_a_memory_of_nothing_is_absent() -> None:
    """A driver that tells 0 bytes has told nothing."""
    library = SimulatedNvml(1)
    library.cards[0].memory_bytes = 0
    sighting = look(library)
    assert sighting.devices[0].memory_GiB is None
    (absence,) = sighting.absences
    assert (absence.what, absence.reason) == ("memory of gpu0", "not readable")


def test_the_version_of_the_memory_struct() -> None:
    """Our number is that of nvidia-ml-py."""
    assert pynvml.nvmlMemory_v2 == MEMORY_INFO_V2


def test_a_card_that_cannot_be_divided() -> None:
    """Cards without MIG tell neither a mode nor slices."""
    library = SimulatedNvml(1)
    library.cards[0].mig = None
    (card,) = look(library).cards
    assert isinstance(card.mig, Absence)
    assert card.mig.reason == "not supported"
    assert card.mig_slices == card.mig


def divided(*slices: SimulatedSlice) -> SimulatedNvml:
    """One card in MIG mode."""
    library = SimulatedNvml(1)
    library.cards[0].mig = True
    library.cards[0].slices = list(slices)
    return library


def test_a_card_in_mig_mode_without_slices() -> None:
    """A card that is prepared and not divided has none, which is known."""
    (card,) = look(divided()).cards
    assert (card.mig, card.mig_slices) == (True, ())


@pytest.mark.parametrize(
    ("compute", "memory_MiB", "profile"),
    [(1, 9856, "1g.10gb"), (3, 40448, "3g.40gb"), (7, 81079, "7g.80gb"), (1, 4864, "1g.5gb")],
)
def test_a_slice_that_is_named_like_its_card(compute: int, memory_MiB: int, profile: str) -> None:
    """Without a profile in its name a slice is named by its share and its memory."""
    one = SimulatedSlice(
        "", UUID, name="NVIDIA H100", compute_slices=compute, memory_MiB=memory_MiB
    )
    assert look(divided(one)).cards[0].mig_slices == (profile,)


def test_a_slice_that_tells_nothing() -> None:
    """It is counted all the same."""
    one = SimulatedSlice("1g.10gb", UUID)
    one.broken = dict.fromkeys(
        ("nvmlDeviceGetName", "nvmlDeviceGetUUID", "nvmlDeviceGetAttributes_v2"), 999
    )
    assert look(divided(one)).cards[0].mig_slices == ("unknown",)


def test_slices_that_may_not_be_seen() -> None:
    """An error other than an empty place makes the slices absent, not fewer."""
    library = divided(SimulatedSlice("1g.10gb", UUID))
    denied = pynvml.NVML_ERROR_NO_PERMISSION
    library.cards[0].broken["nvmlDeviceGetMigDeviceHandleByIndex"] = denied
    (card,) = look(library).cards
    assert card.mig is True
    assert isinstance(card.mig_slices, Absence)
    assert card.mig_slices.reason == "no permission"


def test_a_number_of_places_that_is_not_told() -> None:
    """Without it no slice can be looked for."""
    library = divided(SimulatedSlice("1g.10gb", UUID))
    library.cards[0].broken["nvmlDeviceGetMaxMigDeviceCount"] = 999
    assert isinstance(look(library).cards[0].mig_slices, Absence)
