"""NVLink and the NVSwitch fabric of a card."""

from __future__ import annotations

import ctypes
from typing import Any

import pynvml
import pytest

from preflight.facts import Absence, Card, Link
from preflight.hardware import nvidia_links
from preflight.hardware.nvml_calls import Field
from preflight.hardware.simulated_nvml import SimulatedLink, SimulatedNvml

from .nvml_in_place import flat, look, newer

HOPPER_COUNTERS = (
    Field.NVLINK_ERROR_DL_REPLAY,
    Field.NVLINK_ERROR_DL_RECOVERY,
    Field.NVLINK_ERROR_DL_CRC,
)


def first(library: SimulatedNvml) -> Card:
    """The first card of a look."""
    return look(library).cards[0]


def links(library: SimulatedNvml) -> tuple[Link, ...]:
    """Links of the first card, which tells of some."""
    found = first(library).links
    assert not isinstance(found, Absence)
    return found


def test_the_links_of_a_healthy_card() -> None:
    """18 links of NVLink 4, each to a switch, at 26.562 GB/s and without an error."""
    found = links(SimulatedNvml())
    assert [link.index for link in found] == list(range(18))
    assert found[1] == Link(
        index=1,
        state="active",
        version="4.0",
        remote="switch 0000:06:00.0",
        rate_GBps=26.562,
        errors=0,
    )


def test_a_link_that_is_down() -> None:
    """A link that is down is told as inactive, at its index, and its far end is not known."""
    library = SimulatedNvml()
    library.cards[0].links[7].active = False
    found = links(library)
    assert [link.index for link in found if link.state == "inactive"] == [7]
    assert len(found) == 18
    assert isinstance(found[7].remote, Absence)


def test_a_card_without_nvlink() -> None:
    """A card that counts no link has none: that is known."""
    library = SimulatedNvml()
    library.cards[0].links = []
    assert links(library) == ()


def test_a_driver_that_does_not_count_links() -> None:
    """Without a count links are asked for until the card has no more of them."""
    library = SimulatedNvml()
    library.cards[0].broken_fields[Field.NVLINK_LINK_COUNT] = pynvml.NVML_ERROR_NOT_SUPPORTED
    assert len(links(library)) == 18
    library.cards[0].links = []
    none = first(library).links
    assert isinstance(none, Absence)
    assert (none.what, none.reason) == ("nvmlDeviceGetNvLinkState", "not supported")


@pytest.mark.parametrize("counted", [True, False])
def test_a_link_that_does_not_answer_is_not_passed_over(counted: bool) -> None:
    """A link whose state is an error keeps its place, and those after it are told."""

    class Sick(SimulatedNvml):
        def _function(self, name: str, answer: Any) -> Any:
            function = super()._function(name, answer)

            def sick(handle: Any, link: int, state: Any) -> int:
                return pynvml.NVML_ERROR_TIMEOUT if link == 3 else function(handle, link, state)

            return sick if name == "nvmlDeviceGetNvLinkState" else function

    library = Sick(1)
    if not counted:
        library.cards[0].broken_fields[Field.NVLINK_LINK_COUNT] = pynvml.NVML_ERROR_UNKNOWN
    found = links(library)
    assert len(found) == 18
    assert isinstance(found[3].state, Absence)
    assert found[3].state.reason == "deadline"
    assert found[17].state == "active"


@pytest.mark.parametrize("counted", [True, False])
def test_links_of_a_lost_card_are_absent_as_a_whole(counted: bool) -> None:
    """Where no link answers, the links are one absence, not 18 links without a state."""
    library = SimulatedNvml()
    library.cards[0].broken["nvmlDeviceGetNvLinkState"] = pynvml.NVML_ERROR_GPU_IS_LOST
    if not counted:
        library.cards[0].broken_fields[Field.NVLINK_LINK_COUNT] = pynvml.NVML_ERROR_GPU_IS_LOST
    found = first(library).links
    assert isinstance(found, Absence)
    assert found.reason == "device lost"


@pytest.mark.parametrize(
    ("number", "version"), [(1, "1.0"), (4, "3.0"), (5, "3.1"), (7, "5.0"), (77, "unknown (77)")]
)
def test_versions(number: int, version: str) -> None:
    """NVML numbers its versions otherwise than NVIDIA does."""
    library = SimulatedNvml()
    library.cards[0].links[0].version = number
    assert links(library)[0].version == version


def test_a_version_that_is_none() -> None:
    """0 is no version of NVLink."""
    library = SimulatedNvml()
    library.cards[0].links[0].version = 0
    assert isinstance(links(library)[0].version, Absence)


@pytest.mark.parametrize(
    ("kind", "bus", "remote"),
    [
        (0, "00000000:9A:00.0", "gpu 0000:9a:00.0"),
        (1, "00000004:00:00.0", "cpu 0004:00:00.0"),
        (2, "00000000:05:00.0", "switch 0000:05:00.0"),
        (2, "FFFFFFFF:FFFF:FF.F", "switch"),
        (255, "", "unknown"),
        (7, "00000000:05:00.0", "unknown (7) 0000:05:00.0"),
    ],
)
def test_far_ends(kind: int, bus: str, remote: str) -> None:
    """Kind and address of the far end; an address of ones is none (virtual machine)."""
    library = SimulatedNvml()
    library.cards[0].links[0] = SimulatedLink(remote=kind, remote_bus=bus)
    assert links(library)[0].remote == remote


def test_a_far_end_without_a_kind_or_without_an_address() -> None:
    """Each of the two is told without the other."""
    library = SimulatedNvml()
    library.cards[0].broken["nvmlDeviceGetNvLinkRemoteDeviceType"] = 3
    assert links(library)[0].remote == "0000:05:00.0"
    library.cards[0].broken = {"nvmlDeviceGetNvLinkRemotePciInfo_v2": 3}
    assert links(library)[0].remote == "switch"


def test_errors_of_hopper() -> None:
    """Replays, recoveries and CRC errors are told as one number, of that link."""
    library = SimulatedNvml()
    link = library.cards[0].links[4]
    link.replays, link.recoveries, link.crc_errors = 1, 2, 4
    assert [one.errors for one in links(library)][3:6] == [0, 7, 0]


def test_errors_of_blackwell() -> None:
    """NVLink 5 counts otherwise; its errors are told in the same place."""
    library = SimulatedNvml()
    library.cards[0].links[4] = SimulatedLink(
        version=7, replays=None, recoveries=None, crc_errors=None, packet_errors=9
    )
    assert links(library)[4].errors == 9


def test_errors_before_hopper() -> None:
    """Cards without the fields are asked link by link and counter by counter."""
    library = SimulatedNvml()
    library.cards[0].broken_fields = dict.fromkeys(HOPPER_COUNTERS, 3)
    link = library.cards[0].links[4]
    link.replays, link.recoveries, link.crc_errors = 1, 2, 4
    assert links(library)[4].errors == 7


def test_errors_that_nobody_counts() -> None:
    """Without any counter the errors are absent, not 0."""
    library = SimulatedNvml()
    library.cards[0].broken_fields = dict.fromkeys(HOPPER_COUNTERS, 3)
    library.cards[0].broken["nvmlDeviceGetNvLinkErrorCounter"] = 3
    errors = links(library)[4].errors
    assert isinstance(errors, Absence)
    assert errors.reason == "not supported"


def test_the_rate_before_hopper_is_that_of_all_active_links() -> None:
    """Where a link tells no rate of its own, an active one has the common one."""
    library = SimulatedNvml()
    library.cards[0].broken_fields[Field.NVLINK_GET_SPEED] = 3
    library.cards[0].links[1].active = False
    found = links(library)
    assert found[0].rate_GBps == 26.562
    assert isinstance(found[1].rate_GBps, Absence)


FABRIC_STATES = [(0, "not supported"), (1, "not started"), (2, "in progress")]


@pytest.mark.parametrize(("number", "word"), FABRIC_STATES)
def test_a_fabric_that_is_not_complete(number: int, word: str) -> None:
    """The state is told; status and clique mean nothing before it is completed."""
    library = SimulatedNvml()
    assert library.cards[0].fabric is not None
    library.cards[0].fabric.state = number
    fabric = first(library).fabric
    assert fabric.state == word
    assert all(isinstance(fact, Absence) for fact in (fabric.status, fabric.clique, fabric.cluster))


def test_a_fabric_that_has_failed() -> None:
    """The status of a completed registration is told in NVML's words."""
    library = SimulatedNvml()
    assert library.cards[0].fabric is not None
    library.cards[0].fabric.status = pynvml.NVML_ERROR_UNKNOWN
    fabric = first(library).fabric
    assert (fabric.state, fabric.status) == ("completed", "unknown error")


def test_the_cluster_and_clique_of_a_rack() -> None:
    """Cards of one NVLink domain show one cluster and one clique."""
    library = SimulatedNvml()
    assert library.cards[0].fabric is not None
    library.cards[0].fabric.cluster = bytes(range(16))
    library.cards[0].fabric.clique = 32766
    fabric = first(library).fabric
    assert (fabric.cluster, fabric.clique) == ("00010203-0405-0607-0809-0a0b0c0d0e0f", 32766)


@newer
@pytest.mark.parametrize(
    ("mask", "summary", "health"),
    [
        (0b10_10_10_10, 0, "healthy"),
        (0, 1, "healthy"),
        (1 << 8, 0, "healthy"),
        (0b10_10_10_01, 0, "degraded bandwidth"),
        (0b10_10_01_10, 0, "route recovery"),
        (0b10_01_10_10, 0, "route unhealthy"),
        (0b01_10_10_10, 0, "access timeout recovery"),
        (2 << 8, 0, "incorrect configuration: incorrect system GUID"),
        (5 << 8, 0, "incorrect configuration: insufficient NVLinks"),
        (15 << 8, 0, "incorrect configuration: unknown (15)"),
        (0b01_01, 2, "degraded bandwidth, route recovery, unhealthy"),
        (0, 3, "limited capacity"),
    ],
)
def test_the_health_of_the_fabric(mask: int, summary: int, health: str) -> None:
    """The health mask and the summary are told in words; only a stated health is healthy."""
    library = SimulatedNvml()
    assert library.cards[0].fabric is not None
    library.cards[0].fabric.health_mask = mask
    library.cards[0].fabric.health_summary = summary
    assert first(library).fabric.health == health


@newer
def test_a_fabric_that_tells_no_health() -> None:
    """A mask of which nothing is supported is no health."""
    library = SimulatedNvml()
    assert library.cards[0].fabric is not None
    library.cards[0].fabric.health_mask = library.cards[0].fabric.health_summary = 0
    health = first(library).fabric.health
    assert isinstance(health, Absence)
    assert health.reason == "not supported"


@newer
def test_a_driver_with_the_second_struct() -> None:
    """A driver that refuses the newest struct is asked with the one before, without a summary."""
    library = SimulatedNvml()
    library.fabric_version = 2
    assert library.cards[0].fabric is not None
    library.cards[0].fabric.health_summary = 2
    fabric = first(library).fabric
    assert (fabric.state, fabric.health) == ("completed", "healthy")


@pytest.mark.parametrize("lacks", ["the call", "both structs"])
def test_a_driver_of_r535(lacks: str) -> None:
    """The first call tells state and status, and the health is absent."""
    library = SimulatedNvml()
    if lacks == "the call":
        library.lacking.add("nvmlDeviceGetGpuFabricInfoV")
    library.fabric_version = 1
    fabric = first(library).fabric
    assert (fabric.state, fabric.status, fabric.clique) == ("completed", "success", 0)
    assert isinstance(fabric.health, Absence)
    assert fabric.health.reason == "driver lacks the call"


def test_a_card_without_a_fabric() -> None:
    """A card outside any NVSwitch fabric has none of its facts."""
    library = SimulatedNvml()
    library.cards[0].fabric = None
    fabric = first(library).fabric
    reasons = {fact.reason for fact in flat(fabric).values()}
    assert reasons == {"not supported"}


@newer
@pytest.mark.parametrize(
    ("ours", "theirs", "version"),
    [
        ("_FabricInfo2", "c_nvmlGpuFabricInfo_v2_t", "nvmlGpuFabricInfo_v2"),
        ("_FabricInfo3", "c_nvmlGpuFabricInfo_v3_t", "nvmlGpuFabricInfo_v3"),
    ],
)
def test_our_structs_are_as_large_as_nvidias(ours: str, theirs: str, version: str) -> None:
    """Size and version of our structs are those of nvidia-ml-py."""
    kind = getattr(nvidia_links, ours)
    assert ctypes.sizeof(kind) == ctypes.sizeof(getattr(pynvml, theirs))
    assert ctypes.sizeof(kind) | int(version[-1]) << 24 == getattr(pynvml, version)
