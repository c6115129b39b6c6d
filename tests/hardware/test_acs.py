"""Access Control Services, from configuration spaces as bytes."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from preflight.hardware.acs import redirecting_bridges
from preflight.hardware.files import THIS_MACHINE, Files
from preflight.hardware.pci import BUS
from preflight.hardware.simulated_tree import Tree

from .machines import reason

GPU = "0000:1b:00.0"
ROOT_PORT, SWITCH = "0000:15:01.0", "0000:17:02.0"
FOLDER = f"/sys/devices/pci0000:15/{ROOT_PORT}/{SWITCH}"
RR, CR = 0x04, 0x08


def space(control: int | None, *, at: int = 0x100, before: tuple[int, ...] = ()) -> bytes:
    """A configuration space whose ACS capability stands after capabilities of other ids."""
    data = bytearray(4096)
    struct.pack_into("<HH", data, 0, 0x8086, 0x352A)
    for capability in before:
        following = at + 0x48
        struct.pack_into("<I", data, at, capability | 1 << 16 | following << 20)
        at = following
    if control is not None:
        struct.pack_into("<I", data, at, 0x000D | 1 << 16)
        struct.pack_into("<HH", data, at + 4, 0x005F, control)
    return bytes(data)


def below(root: Path, port: bytes | None, switch: bytes | None) -> Files:
    """A card below a root port and a switch with these configuration spaces."""
    tree = Tree(root)
    tree.folder(f"{FOLDER}/{GPU}")
    tree.link(f"{BUS}/{GPU}", f"{FOLDER}/{GPU}")
    for address, folder, data in (
        (ROOT_PORT, FOLDER.rpartition("/")[0], port),
        (SWITCH, FOLDER, switch),
    ):
        tree.link(f"{BUS}/{address}", folder)
        if data is not None:
            tree.data(f"{folder}/config", data)
    return Files(root)


@pytest.mark.parametrize(
    ("control", "redirects"),
    [
        (0x0000, False),
        (0x0001, False),
        (0x0011, False),
        (0x0040, False),
        (RR, True),
        (CR, True),
        (0x001D, True),
        (0x005F, True),
    ],
)
def test_redirecting_requests_or_completions_counts(
    tmp_path: Path, control: int, redirects: bool
) -> None:
    """Source validation, upstream forwarding and direct translated traffic redirect nothing."""
    files = below(tmp_path, space(control), space(0))
    assert redirecting_bridges(files, [GPU]) == ((ROOT_PORT,) if redirects else ())


def test_the_capability_is_found_behind_others(tmp_path: Path) -> None:
    """The list of extended capabilities is followed to its end."""
    files = below(tmp_path, space(0), space(RR, before=(0x0001, 0x0019, 0x001E)))
    assert redirecting_bridges(files, [GPU]) == (SWITCH,)


def test_a_bridge_without_the_capability_redirects_nothing(tmp_path: Path) -> None:
    """A list without ACS, an empty one, and a conventional bridge of 256 bytes."""
    for number, data in enumerate((space(None, before=(0x0001,)), space(None), bytes(256))):
        files = below(tmp_path / str(number), data, data)
        assert redirecting_bridges(files, [GPU]) == ()


def test_without_root_only_64_bytes_are_shown(tmp_path: Path) -> None:
    """What lies behind them is unknown, not switched off."""
    files = below(tmp_path, space(RR)[:64], space(RR)[:64])
    assert reason(redirecting_bridges(files, [GPU])) == "no permission"


def test_a_bridge_that_was_read_is_told_beside_one_that_was_not(tmp_path: Path) -> None:
    """A finding stands; only the good word needs every bridge."""
    assert redirecting_bridges(below(tmp_path / "a", None, space(RR)), [GPU]) == (SWITCH,)
    assert reason(redirecting_bridges(below(tmp_path / "b", None, space(0)), [GPU])) == "not found"


def test_a_bridge_that_answers_with_ones_is_lost(tmp_path: Path) -> None:
    """A dead link reads as ones, in which every bit of control would be set."""
    files = below(tmp_path, b"\xff" * 4096, space(0))
    assert reason(redirecting_bridges(files, [GPU])) == "device lost"


def test_a_list_in_a_circle_ends(tmp_path: Path) -> None:
    """A capability that names itself as the next one."""
    data = bytearray(4096)
    data[0:2] = b"\x86\x80"
    struct.pack_into("<I", data, 0x100, 0x0001 | 1 << 16 | 0x100 << 20)
    assert redirecting_bridges(below(tmp_path, bytes(data), bytes(data)), [GPU]) == ()


@pytest.mark.parametrize("size", [65, 255, 257, 260, 263, 264, 300])
def test_a_torn_space_raises_nothing(tmp_path: Path, size: int) -> None:
    """A space that ends inside a capability has none that counts."""
    data = space(RR, at=0x100)[:size]
    found = redirecting_bridges(below(tmp_path, data, data), [GPU])
    assert found == ((ROOT_PORT, SWITCH) if size >= 264 else ())


def test_a_card_whose_place_is_unknown(tmp_path: Path) -> None:
    """No bridge was looked at, which is no good word."""
    assert reason(redirecting_bridges(Files(tmp_path), [GPU])) == "not found"


def test_bridges_above_two_cards_are_told_once(tmp_path: Path) -> None:
    """A switch that two cards share is one bridge."""
    files = below(tmp_path, space(0), space(RR))
    Tree(tmp_path).folder(f"{FOLDER}/0000:1c:00.0")
    Tree(tmp_path).link(f"{BUS}/0000:1c:00.0", f"{FOLDER}/0000:1c:00.0")
    assert redirecting_bridges(files, [GPU, "0000:1c:00.0"]) == (SWITCH,)


def test_no_card(tmp_path: Path) -> None:
    """Without a card there is no bridge above one."""
    assert redirecting_bridges(Files(tmp_path), []) == ()


def test_a_real_configuration_space_can_be_decoded() -> None:
    """Each device of this machine is an answer, or a reason why not."""
    names = THIS_MACHINE.names(BUS)
    if not isinstance(names, tuple):
        pytest.skip("this machine shows no PCI bus")
    found = redirecting_bridges(THIS_MACHINE, names)
    assert isinstance(found, tuple) or reason(found) in ("no permission", "not found")
