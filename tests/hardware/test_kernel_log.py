"""The kernel's log, from the kernel's own file and from the copies of loggers."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from preflight.facts import Absence, KernelEvent
from preflight.hardware.files import THIS_MACHINE, Files
from preflight.hardware.kernel_log import MOST_BYTES, read_log
from preflight.hardware.pci import BUS

from .machines import MALFORMED, machine, reason, without_privileges

XID = "NVRM: Xid (PCI:0000:1b:00): 79, pid=4242, GPU has fallen off the bus."
START = "Linux version 6.8.0-60-generic (buildd@host)"
STARTED = 1_796_000_000
CLOCK: dict[str, object] = {
    "/proc/uptime": "1000.00 900.00",
    "/proc/stat": f"cpu 0 0\nbtime {STARTED}",
}
CARDS = {"gpu0": "0000:1b:00.0"}


def log(root: Path, path: str, *lines: str) -> tuple[KernelEvent, ...]:
    """Events of a machine with these lines in one of its logs."""
    found = read_log(machine(root, {**CLOCK, path: "\n".join(lines)}), CARDS)
    assert isinstance(found, tuple), found
    return found


def test_the_kernels_own_records(tmp_path: Path) -> None:
    """Priority, number, microseconds and flags stand before the text, devices below it."""
    (event,) = log(
        tmp_path,
        "/dev/kmsg",
        f"5,0,0,-;{START}",
        f"3,1042,400000000,-;{XID}",
        " SUBSYSTEM=pci",
        " DEVICE=+pci:0000:1b:00.0",
        "6,1043,401000000,-,caller=T1;nothing of ours",
    )
    assert event == KernelEvent(kind="xid", code=79, pci="0000:1b:00.0", text=XID, age_s=600.0)


def test_a_record_of_several_lines(tmp_path: Path) -> None:
    """The kernel writes a line feed inside a message as an escape."""
    text = (
        r"NVRM: The NVIDIA GPU 0000:1b:00.0\x0aNVRM: (PCI ID: 10de:26b9) installed in this system"
        r" has\x0aNVRM: fallen off the bus and is not responding to commands.\xff"
    )
    (event,) = log(tmp_path, "/dev/kmsg", f"4,7,5000000,-;{text}")
    assert (event.kind, event.pci) == ("pcie", "0000:1b:00.0")
    assert "\\x" not in event.text


@pytest.mark.parametrize("path", ["/var/log/kern.log", "/var/log/messages", "/var/log/dmesg"])
@pytest.mark.parametrize(
    "line",
    [
        f"Dec  1 09:04:12 node-a kernel: [  400.000000] {XID}",
        f"2026-11-30T09:06:40.000000+00:00 node-a kernel: [  400.000000] {XID}",
        f"[  400.000000] {XID}",
        f"[  400.000000] kernel: {XID}",
        f"[400.000000] {XID}",
    ],
)
def test_copies_of_loggers(tmp_path: Path, path: str, line: str) -> None:
    """The stamp of the kernel counts, whatever the logger writes around it."""
    (event,) = log(tmp_path, path, line)
    assert (event.code, event.age_s, event.text) == (79, 600.0, XID)


@pytest.mark.parametrize("zone", ["+00:00", "+0000", "Z"])
def test_a_copy_without_the_kernels_stamp(tmp_path: Path, zone: str) -> None:
    """A wall clock with a year and a zone gives the age as well."""
    moment = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(STARTED + 400))
    (event,) = log(tmp_path, "/var/log/kern.log", f"{moment}.250000{zone} node-a kernel: {XID}")
    assert event.age_s == 599.8


@pytest.mark.parametrize(
    "head", ["Dec  1 09:04:12", "2026-99-99T99:99:99Z", "0000-00-00T00:00:00Z"]
)
def test_a_stamp_that_tells_nothing(tmp_path: Path, head: str) -> None:
    """The event is told without an age."""
    (event,) = log(tmp_path, "/var/log/kern.log", f"{head} node-a kernel: {XID}")
    assert event.age_s is None


def test_what_an_earlier_start_has_left_is_past(tmp_path: Path) -> None:
    """A copy goes back for days: lines before the kernel's last greeting do not count."""
    found = log(
        tmp_path,
        "/var/log/kern.log",
        f"Nov 28 09:04:12 node-a kernel: [  400.000000] {XID}",
        f"Nov 29 09:04:12 node-a kernel: [    0.000000] {START}",
        f"Nov 29 09:04:12 node-a kernel: [   12.000000] {XID.replace('79', '31')}",
    )
    assert [event.code for event in found] == [31]


def test_a_stamp_that_this_start_cannot_have(tmp_path: Path) -> None:
    """Without a greeting, a stamp later than now or a day before the start is another start's."""
    moment = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(STARTED - 86400))
    assert log(tmp_path / "a", "/var/log/kern.log", f"x node-a kernel: [ 5000.000000] {XID}") == ()
    assert log(tmp_path / "b", "/var/log/kern.log", f"{moment} node-a kernel: {XID}") == ()


def test_other_programs_are_not_the_kernel(tmp_path: Path) -> None:
    """What a program writes into the same file proves nothing."""
    found = log(
        tmp_path,
        "/var/log/messages",
        f"Dec  1 09:04:12 node-a my-test[7]: {XID}",
        f"Dec  1 09:04:12 node-a sudo: echo {XID}",
    )
    assert found == ()


def test_what_a_program_writes_into_the_kernels_log_is_not_the_kernels(tmp_path: Path) -> None:
    """Its records carry the number of a facility, eight times over, in their priority."""
    assert log(tmp_path, "/dev/kmsg", f"11,1,1000000,-;{XID}", f"30,2,1000000,-;{XID}") == ()


def test_the_kernels_own_file_comes_first(tmp_path: Path) -> None:
    """A copy is read only where the kernel's file cannot be."""
    machine(tmp_path, {"/var/log/kern.log": f"x kernel: [  400.000000] {XID}"})
    assert log(tmp_path, "/dev/kmsg", "6,1,1,-;nothing") == ()


def test_an_empty_log_holds_no_event(tmp_path: Path) -> None:
    """A log that was read and is silent is an answer."""
    assert log(tmp_path, "/var/log/kern.log", "") == ()


def test_no_log_is_no_good_word(tmp_path: Path) -> None:
    """Without a log nothing is known, and with one that is refused the reason is told."""
    assert reason(read_log(machine(tmp_path, CLOCK), CARDS)) == "not found"
    files = machine(tmp_path, {"/var/log/kern.log": f"x kernel: [  400.000000] {XID}"})
    (tmp_path / "var/log/kern.log").chmod(0)
    for folder in (tmp_path, *tmp_path.parents):
        if folder.stat().st_uid == os.geteuid() and folder != Path("/"):
            folder.chmod(folder.stat().st_mode | 0o055)
    with without_privileges():
        found = read_log(files, CARDS)
    assert isinstance(found, Absence)
    assert (found.what, found.reason) == ("/var/log/kern.log", "no permission")


def test_errors_of_the_port_above_a_card_count(tmp_path: Path) -> None:
    """The port is found by the folders that sysfs nests; the bridge above it is another matter."""
    folder = "/sys/devices/pci0000:15/0000:15:01.0/0000:17:02.0/0000:1b:00.0"
    machine(tmp_path, {f"{folder}/vendor": "0x10de"}, {f"{BUS}/0000:1b:00.0": folder})
    error = "PCIe Bus Error: severity=Corrected, type=Physical Layer"
    found = log(
        tmp_path,
        "/dev/kmsg",
        f"4,1,1000000,-;pcieport 0000:17:02.0: {error}",
        f"4,2,2000000,-;pcieport 0000:15:01.0: {error}",
    )
    assert [(event.kind, event.pci, event.count) for event in found] == [
        ("pcie", "0000:1b:00.0", 1)
    ]


def test_a_log_of_100_megabytes_is_read_from_its_end(tmp_path: Path) -> None:
    """What is read is bounded, and the newest lines are what counts."""
    files = machine(tmp_path, CLOCK)
    path = tmp_path / "var/log/kern.log"
    path.parent.mkdir(parents=True)
    noise = f"Dec  1 09:04:12 node-a kernel: [  400.000000] {XID}\n" * 1000
    last = f"Dec  1 09:04:12 node-a kernel: [  999.000000] {XID.replace('79', '48')}\n"
    with path.open("wb") as file:
        file.seek(100 * 1024**2)  # a hole, which costs no room
        file.write(b"\n" + noise.encode() * (2 * MOST_BYTES // len(noise)) + last.encode())
    found = read_log(files, CARDS)
    assert isinstance(found, tuple)
    assert [(event.code, event.age_s) for event in found] == [(79, 600.0), (48, 1.0)]
    assert found[0].count == pytest.approx(MOST_BYTES / (len(noise) / 1000), rel=0.01)


@pytest.mark.parametrize("path", ["/dev/kmsg", "/var/log/kern.log"])
@pytest.mark.parametrize(
    "text", [*MALFORMED, "6,1,1,-;", "6,x,1,-;a", ";", "[", "[ 1.0", "[ . ]", " kernel: ", "\\x"]
)
def test_malformed_logs_raise_nothing(tmp_path: Path, path: str, text: str) -> None:
    """Torn lines and clocks make no event."""
    clocks = {"/proc/uptime": text, "/proc/stat": f"btime {text}"}
    assert read_log(machine(tmp_path, {**clocks, path: text}), {"gpu0": text}) == ()


def test_bytes_that_are_no_text(tmp_path: Path) -> None:
    """A log may hold anything, zero bytes after a crash as well."""
    files = machine(tmp_path, {**CLOCK, "/dev/kmsg": ""})
    (tmp_path / "dev/kmsg").write_bytes(
        b"\x00" * 4096 + b"\xff\xfe\n3,1,400000000,-;" + XID.encode()
    )
    found = read_log(files, CARDS)
    assert isinstance(found, tuple)
    assert [event.code for event in found] == [79]


def test_this_machine_answers() -> None:
    """The real log is read to its end without waiting for more, or is refused with a reason."""
    found = read_log(THIS_MACHINE, {})
    if isinstance(found, Absence):
        assert found.reason in ("no permission", "not found")
    else:
        assert all(event.age_s is None or event.age_s >= 0 for event in found)


def test_another_machine_borrows_no_log(tmp_path: Path) -> None:
    """Below another root the log of this machine is out of reach."""
    assert reason(read_log(Files(tmp_path), CARDS)) == "not found"
