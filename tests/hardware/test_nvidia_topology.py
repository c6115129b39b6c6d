"""How pairs of NVIDIA cards are connected."""

from __future__ import annotations

import pynvml
import pytest

from preflight.facts import Grid
from preflight.hardware.simulated_nvml import SimulatedCard, SimulatedLink, SimulatedNvml

from .nvml_in_place import look

GPU, SWITCH, UNKNOWN = 0, 2, 255


def topology(library: SimulatedNvml) -> Grid:
    """The topology of a machine that tells of one."""
    found = look(library).topology
    assert found is not None
    return found


def without_links(count: int) -> SimulatedNvml:
    """A machine of cards on PCI Express alone."""
    library = SimulatedNvml(count)
    for card in library.cards:
        card.links = []
    return library


def test_cards_on_switches() -> None:
    """Eight cards with 18 links to switches reach each other over all of them."""
    found = topology(SimulatedNvml(8))
    assert found.names == tuple(f"gpu{index}" for index in range(8))
    for row, words in enumerate(found.rows):
        assert words == tuple("X" if column == row else "NV18" for column in range(8))


def test_a_link_that_is_down_narrows_its_cards_pairs() -> None:
    """A pair has as many links as the card with fewer active ones."""
    library = SimulatedNvml(3)
    library.cards[1].links[5].active = False
    assert topology(library).rows == (
        ("X", "NV17", "NV18"),
        ("NV17", "X", "NV17"),
        ("NV18", "NV17", "X"),
    )


def pair_over(links: list[SimulatedLink], back: list[SimulatedLink]) -> SimulatedNvml:
    """Two cards with these links."""
    library = without_links(2)
    library.cards[0].links, library.cards[1].links = links, back
    return library


def bridge(count: int, bus: str) -> list[SimulatedLink]:
    """Direct links to the card at ``bus``."""
    return [SimulatedLink(remote=GPU, remote_bus=bus) for _ in range(count)]


def test_cards_on_a_bridge() -> None:
    """Direct links are counted by the address at their far end; others of the machine have none."""
    library = without_links(3)
    library.cards[0].links = bridge(4, library.cards[1].bus)
    library.cards[1].links = bridge(4, library.cards[0].bus)
    assert topology(library).rows == (
        ("X", "NV4", "SYS"),
        ("NV4", "X", "SYS"),
        ("SYS", "SYS", "X"),
    )


def test_a_bridge_with_a_link_that_is_down_on_one_side() -> None:
    """A link counts only where both of its ends are active."""
    first, second = SimulatedNvml().cards
    there, back = bridge(4, second.bus), bridge(4, first.bus)
    back[0].active = False
    assert topology(pair_over(there, back)).rows[0][1] == "NV3"


@pytest.mark.parametrize("kind", [SWITCH, UNKNOWN])
def test_far_ends_in_a_virtual_machine_are_switches(kind: int) -> None:
    """Links whose far end nobody shows lead to switches."""
    blind = [SimulatedLink(remote=kind, remote_bus="FFFFFFFF:FFFF:FF.F") for _ in range(18)]
    assert topology(pair_over(blind, blind)).rows[0][1] == "NV18"


def test_links_to_cards_that_are_not_shown_connect_nobody_here() -> None:
    """A card whose links lead to a third one has no NVLink to the second."""
    elsewhere = bridge(4, "00000000:EE:00.0")
    assert topology(pair_over(elsewhere, elsewhere)).rows[0][1] == "SYS"


@pytest.mark.parametrize(
    ("level", "word"),
    [
        (pynvml.NVML_TOPOLOGY_INTERNAL, "PIX"),
        (pynvml.NVML_TOPOLOGY_SINGLE, "PIX"),
        (pynvml.NVML_TOPOLOGY_MULTIPLE, "PXB"),
        (pynvml.NVML_TOPOLOGY_HOSTBRIDGE, "PHB"),
        (pynvml.NVML_TOPOLOGY_NODE, "NODE"),
        (pynvml.NVML_TOPOLOGY_SYSTEM, "SYS"),
    ],
)
def test_cards_without_nvlink(level: int, word: str) -> None:
    """Cards on PCI Express are told by what they have in common, in nvidia-smi's words."""
    library = without_links(2)
    library.levels[0, 1] = level
    assert topology(library).rows == (("X", word), (word, "X"))


def test_one_card() -> None:
    """A single card is connected to itself; there is no pair to reach."""
    sighting = look(SimulatedNvml(1))
    assert sighting.topology == Grid(names=("gpu0",), rows=(("X",),))
    assert sighting.peers is None


def test_a_driver_that_tells_no_topology() -> None:
    """Where no pair is told there is no grid, and one absence for all pairs."""
    library = without_links(3)
    library.broken["nvmlDeviceGetTopologyCommonAncestor"] = pynvml.NVML_ERROR_NOT_SUPPORTED
    sighting = look(library)
    assert sighting.topology is None
    (absence,) = sighting.absences
    assert absence.what == "nvmlDeviceGetTopologyCommonAncestor"
    assert absence.reason == "not supported"


def test_a_pair_that_is_not_told() -> None:
    """A pair that fails is no connection, and says why in its place."""
    library = without_links(3)
    library.cards[1].broken["nvmlDeviceGetTopologyCommonAncestor"] = pynvml.NVML_ERROR_UNKNOWN
    sighting = look(library)
    assert sighting.topology is not None
    assert sighting.topology.rows[1] == ("SYS", "X", "unknown: failed")
    assert len(sighting.absences) == 1


def test_peers_that_reach_each_other() -> None:
    """Reads and writes that work both are OK."""
    assert look(SimulatedNvml()).peers == Grid(
        names=("gpu0", "gpu1"), rows=(("X", "OK"), ("OK", "X"))
    )


def test_peers_by_ordered_pair() -> None:
    """Each direction is told by itself, and reading and writing apart where they differ."""
    library = SimulatedNvml(3)
    for what in (0, 1):
        library.peer_status[0, 1, what] = pynvml.NVML_P2P_STATUS_CHIPSET_NOT_SUPPORED
        library.peer_status[0, 2, what] = pynvml.NVML_P2P_STATUS_DISABLED_BY_REGKEY
        library.peer_status[2, 0, what] = pynvml.NVML_P2P_STATUS_IOH_TOPOLOGY_NOT_SUPPORTED
    library.peer_status[1, 0, 1] = pynvml.NVML_P2P_STATUS_GPU_NOT_SUPPORTED
    peers = look(library).peers
    assert peers is not None
    assert peers.rows == (
        ("X", "chipset not supported", "disabled by regkey"),
        ("read OK, write gpu not supported", "X", "OK"),
        ("topology not supported", "OK", "X"),
    )


def test_peers_that_nobody_tells() -> None:
    """Without the call there is no grid of peers, and one absence."""
    library = SimulatedNvml(3)
    library.lacking.add("nvmlDeviceGetP2PStatus")
    sighting = look(library)
    assert sighting.peers is None
    assert [absence.reason for absence in sighting.absences] == ["driver lacks the call"]


def test_cards_without_an_address_have_no_direct_links() -> None:
    """A card whose address is not told is nobody's far end."""
    cards = [SimulatedCard(uuid=f"GPU-{n}", bus="garbage", links=bridge(4, "")) for n in "ab"]
    sighting = look(SimulatedNvml(cards))
    assert sighting.topology is not None
    assert sighting.topology.rows[0][1] == "SYS"
    assert {absence.what for absence in sighting.absences} == {
        "PCI address of gpu0",
        "PCI address of gpu1",
    }
