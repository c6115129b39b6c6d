"""Device files that cannot be opened."""

from __future__ import annotations

import pytest

from preflight.compat.device_files import explain, troubles
from preflight.facts import Absence, DeviceFile


def shut(path: str, reason: str, detail: str = "") -> DeviceFile:
    """A file that cannot be opened."""
    return DeviceFile(path=path, is_open=Absence(what=path, reason=reason, detail=detail))


def opened(path: str) -> DeviceFile:
    """A file that can."""
    return DeviceFile(path=path, is_open=True)


def test_groups_are_the_answer_to_eacces_alone() -> None:
    """A user outside the groups is told to join them, in a container by number."""
    trouble = explain("/dev/kfd", Absence(reason="no permission", detail="Permission denied"))
    assert trouble.sentence == "/dev/kfd may not be opened by this user: Permission denied"
    assert "usermod -aG render,video" in trouble.action and "--group-add" in trouble.action


def test_eperm_is_the_containers_list_of_devices() -> None:
    """The device cgroup refuses with another error than groups do, and no group mends it."""
    trouble = explain("/dev/kfd", Absence(reason="no permission", detail="Operation not permitted"))
    assert trouble.sentence.startswith("/dev/kfd is kept from us by a device cgroup")
    assert "--device /dev/kfd" in trouble.action and "usermod" not in trouble.action


def test_einval_is_no_matter_of_groups() -> None:
    """The kernel refuses: the runtime or the driver, and nobody is sent to usermod."""
    trouble = explain("/dev/kfd", Absence(reason="failed", detail="Invalid argument"))
    assert "the kernel refuses to open it (failed: Invalid argument)" in trouble.sentence
    assert "usermod" not in trouble.action and "ask the seller" in trouble.action


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("/dev/kfd", "--device /dev/kfd"),
        ("/dev/dri/renderD128", "--device /dev/dri"),
        ("/dev/nvidiactl", "--gpus all"),
        ("/dev/dxg", "wsl --update"),
    ],
)
def test_an_absent_file_is_passed_in(path: str, words: str) -> None:
    """What makes the file, or lets the container have it."""
    trouble = explain(path, Absence(reason="not found"))
    assert trouble.sentence == f"{path} is not there"
    assert words in trouble.action


def test_nvidias_files_are_not_of_amds_groups() -> None:
    """NVIDIA's files belong to no group render."""
    assert "usermod" not in explain("/dev/nvidia0", Absence(reason="no permission")).action


def test_only_what_is_needed_is_a_trouble() -> None:
    """The files of display and profilers, and what nobody looked at, stand in no way."""
    files = (
        opened("/dev/nvidiactl"),
        shut("/dev/nvidia-modeset", "not found"),
        shut("/dev/nvidia-uvm-tools", "not found"),
        shut("/dev/nvidia0", "not asked"),
    )
    assert troubles(files, cards=1) == ()


def test_the_files_of_other_peoples_cards_are_no_trouble() -> None:
    """A container with two of eight cards opens two files; one file too few is a trouble."""
    files = (
        opened("/dev/nvidia2"),
        opened("/dev/nvidia5"),
        shut("/dev/nvidia0", "no permission"),
    )
    assert troubles(files, cards=2) == ()
    assert [one.path for one in troubles(files, cards=3)] == ["/dev/nvidia0"]
    assert [one.path for one in troubles(files, cards=0)] == ["/dev/nvidia0"]


def test_the_file_of_all_cards_is_always_needed() -> None:
    """Open files of cards do not make up for a shut /dev/kfd."""
    files = (opened("/dev/dri/renderD128"), shut("/dev/kfd", "failed", "Invalid argument"))
    assert [one.path for one in troubles(files, cards=1)] == ["/dev/kfd"]
