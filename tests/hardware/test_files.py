"""The one door to files: every answer is a value or a reason, and a root is never left."""

from __future__ import annotations

import errno
import json
import os
import threading
from pathlib import Path

import pytest

from preflight.facts import ABSENCE_REASONS, Absence
from preflight.hardware.files import STAND_INS, THIS_MACHINE, Files, Space, absence

from .machines import machine, reason, without_privileges


def test_text_has_no_blanks_at_its_ends(tmp_path: Path) -> None:
    """A value of the kernel ends with a line feed, which is no part of it."""
    assert machine(tmp_path, {"/proc/version": " Linux \n"}).text("/proc/version") == "Linux"


def test_bytes_that_are_no_text_are_replaced(tmp_path: Path) -> None:
    """A name in another encoding does not stop the reading."""
    files = machine(tmp_path, {})
    (tmp_path / "name").write_bytes(b"Caf\xe9")
    assert files.text("/name") == "Caf\ufffd"


@pytest.mark.parametrize(
    ("text", "number"),
    [("42", 42), ("-1", -1), ("0x1f", 31), ("0X10", 16), (str(2**64 - 1), 2**64 - 1)],
)
def test_a_whole_number(tmp_path: Path, text: str, number: int) -> None:
    """Decimal and hexadecimal numbers are read."""
    assert machine(tmp_path, {"/n": text}).whole("/n") == number


@pytest.mark.parametrize("text", ["", "many", "1.5", "0x", "1 2", str(2**64), "9" * 5000])
def test_what_is_no_whole_number_of_64_bits_is_absent(tmp_path: Path, text: str) -> None:
    """Nothing is guessed, and no number is larger than a record can hold."""
    assert reason(machine(tmp_path, {"/n": text}).whole("/n")) == "not readable"


def test_a_file_that_is_not_there_is_not_found(tmp_path: Path) -> None:
    """Every question about a missing file is answered with its path."""
    files = Files(tmp_path)
    answers = (
        files.text("/x/y"),
        files.whole("/x/y"),
        files.raw("/x/y", 64),
        files.tail("/x/y", 64),
        files.names("/x/y"),
        files.target("/x/y"),
        files.space("/x/y"),
        files.opens("/x/y"),
    )
    for answer in answers:
        assert isinstance(answer, Absence)
        assert (answer.what, answer.reason) == ("/x/y", "not found")
    assert not files.exists("/x/y")


def test_a_path_that_no_file_can_have_is_not_readable(tmp_path: Path) -> None:
    """A zero byte in a path, as a torn table may give one, raises nothing."""
    for files in (Files(tmp_path), THIS_MACHINE):
        for ask in (files.text, files.names, files.whole):
            assert reason(ask("/proc/\0")) == "not readable"
        assert reason(files.tail("/proc/\0", 1)) == "not readable"
        assert reason(files.raw("/proc/\0", 1)) == "not readable"
        assert not files.exists("/proc/\0")


def test_a_folder_is_no_file_and_a_file_no_folder(tmp_path: Path) -> None:
    """The wrong kind of thing is an absence too."""
    files = machine(tmp_path, {"/a/b": "1"})
    assert reason(files.text("/a")) == "failed"
    assert reason(files.names("/a/b")) == "not found"
    assert reason(files.text("/a/b/c")) == "not found"


def test_a_file_that_we_may_not_read(tmp_path: Path) -> None:
    """What this user may not read says so."""
    files = machine(tmp_path, {"/secret": "1"})
    (tmp_path / "secret").chmod(0)
    with without_privileges():
        assert reason(files.text("/secret")) == "no permission"
        assert reason(files.tail("/secret", 1)) == "no permission"
        assert reason(files.raw("/secret", 1)) == "no permission"


def test_names_are_sorted(tmp_path: Path) -> None:
    """The order of a folder does not depend on its file system."""
    assert machine(tmp_path, {"/d/b": 1, "/d/a": 1, "/d/c": 1}).names("/d") == ("a", "b", "c")


def test_the_target_of_a_link_is_its_last_name(tmp_path: Path) -> None:
    """A link need not lead anywhere to be read."""
    files = machine(tmp_path, {}, {"/device/driver": "/sys/bus/pci/drivers/nvidia"})
    assert files.target("/device/driver") == "nvidia"
    assert not files.exists("/device/driver")


def test_resolving_follows_links_and_dots(tmp_path: Path) -> None:
    """The path without links is the one that the machine itself would name."""
    files = machine(tmp_path, {"/sys/devices/pci0/a/x": 1}, {"/sys/class/a": "/sys/devices/pci0/a"})
    assert files.resolved("/sys/class/a") == "/sys/devices/pci0/a"
    assert files.resolved("/sys/class/a/../b") == "/sys/devices/pci0/b"
    assert files.resolved("/data/later") == "/data/later"


def test_a_link_never_leads_out_of_a_root(tmp_path: Path) -> None:
    """An absolute link, or one with many dots, stays among the files of the other machine."""
    (tmp_path / "etc").mkdir()
    (tmp_path / "etc/passwd").symlink_to("/etc/passwd")
    (tmp_path / "etc/hostname").symlink_to("../../../../../../../../etc/hostname")
    (tmp_path / "proc").symlink_to("/proc")
    files = Files(tmp_path)
    assert reason(files.text("/etc/passwd")) == "failed"  # a link to itself
    assert reason(files.text("/etc/hostname")) == "failed"
    assert reason(files.text("/proc/version")) == "failed"
    assert not files.exists("/proc/self/status")


def test_a_link_may_name_its_own_root(tmp_path: Path) -> None:
    """A link to a path below the folder leads to the same file of the machine."""
    files = machine(tmp_path, {"/a": "1"})
    (tmp_path / "b").symlink_to(tmp_path / "a")
    assert files.text("/b") == "1"


def test_links_in_a_circle_end(tmp_path: Path) -> None:
    """A circle is an absence, not an endless walk."""
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    assert reason(Files(tmp_path).text("/a")) == "failed"
    assert reason(Files(tmp_path).resolved("/a")) == "failed"


def test_the_first_bytes_of_a_binary_file(tmp_path: Path) -> None:
    """No more is read than was asked for."""
    (tmp_path / "config").write_bytes(bytes(range(256)) * 16)
    assert Files(tmp_path).raw("/config", 4) == b"\x00\x01\x02\x03"


@pytest.mark.parametrize("size", [0, 5, 6, 7, 200_000])
def test_the_last_bytes_of_a_log(tmp_path: Path, size: int) -> None:
    """A short log is read whole, a long one from its end."""
    data = os.urandom(size)
    (tmp_path / "log").write_bytes(data)
    assert Files(tmp_path).tail("/log", 6) == data[-6:]


def test_a_pipe_without_a_writer_does_not_hold_us(tmp_path: Path) -> None:
    """What would block is read to where it would."""
    os.mkfifo(tmp_path / "pipe")
    assert Files(tmp_path).tail("/pipe", 100) == b""


def test_what_keeps_its_writer_is_read_to_where_it_would_block(tmp_path: Path) -> None:
    """A stream like /dev/kmsg has no end: what is there counts, its last bytes first."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = os.open(pipe, os.O_RDWR)
    try:
        os.write(writer, b"one\ntwo\nthree\n")
        answers: list[bytes | Absence] = []
        reading = threading.Thread(target=lambda: answers.append(Files(tmp_path).tail("/pipe", 6)))
        reading.start()
        reading.join(30)
        assert answers == [b"three\n"]
    finally:
        os.close(writer)


def test_room_of_a_file_system_is_that_of_statvfs() -> None:
    """On this machine the size is the kernel's, and the free room that of a plain user."""
    room, found = THIS_MACHINE.space("/"), os.statvfs("/")
    assert isinstance(room, Space)
    assert room.size_bytes == found.f_blocks * found.f_frsize
    assert 0 <= room.free_bytes <= room.size_bytes


def test_room_below_another_root_is_what_stands_in_for_it(tmp_path: Path) -> None:
    """A folder cannot have a size of its own: without a stand-in nothing is known."""
    (tmp_path / STAND_INS).write_text(json.dumps({"space": {"/dev/shm": [64, 32]}}))
    files = Files(tmp_path)
    assert files.space("/dev/shm") == Space(size_bytes=64, free_bytes=32)
    assert reason(files.space("/")) == "not found"


@pytest.mark.parametrize("pair", ['"much"', "[1]", "[null, 2]", "7", '["a", "b"]', "{}"])
def test_a_broken_stand_in_for_room_is_not_readable(tmp_path: Path, pair: str) -> None:
    """A stand-in of another form is no size."""
    (tmp_path / STAND_INS).write_text(f'{{"space": {{"/": {pair}}}}}')
    assert reason(Files(tmp_path).space("/")) == "not readable"


def test_opening_below_another_root_is_what_stands_in_for_it(tmp_path: Path) -> None:
    """A file opens unless the stand-in has an errno for it, which becomes the reason."""
    files = machine(tmp_path, {"/dev/kfd": "", "/dev/nvidia0": "", "/dev/nvidiactl": ""})
    errors = {"/dev/kfd": errno.EACCES, "/dev/nvidia0": errno.EINVAL}
    (tmp_path / STAND_INS).write_text(json.dumps({"opening": errors}))
    files = Files(tmp_path)
    assert reason(files.opens("/dev/kfd")) == "no permission"
    assert reason(files.opens("/dev/nvidia0")) == "failed"
    assert files.opens("/dev/nvidiactl") is True


@pytest.mark.parametrize("text", ["{", "[]", "\x00"])
def test_broken_stand_ins_are_not_taken_for_none(tmp_path: Path, text: str) -> None:
    """A file that holds no object makes room and opening unknown, never healthy."""
    machine(tmp_path, {f"/{STAND_INS}": text, "/dev/kfd": ""})
    files = Files(tmp_path)
    assert reason(files.space("/")) == "not readable"
    assert reason(files.opens("/dev/kfd")) == "not readable"


def test_a_device_of_this_machine_opens() -> None:
    """/dev/null opens everywhere, a folder not."""
    assert THIS_MACHINE.opens("/dev/null") is True
    assert reason(THIS_MACHINE.opens("/proc/self/nothing")) == "not found"


@pytest.mark.parametrize("number", [*range(1, 134), None])
def test_every_error_has_one_of_the_known_reasons(number: int | None) -> None:
    """Whatever the system returns, the reason is a word that checks know."""
    error = OSError(number, "words") if number else OSError("words")
    assert absence("/x", error).reason in ABSENCE_REASONS
    assert absence("/x", error).detail == "words"
