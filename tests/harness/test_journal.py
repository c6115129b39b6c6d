"""The journal: whole lines of several processes, and what a crash leaves of them."""

from __future__ import annotations

import resource
import subprocess
import sys
from pathlib import Path

import pytest

from preflight.errors import OutputError, RecordError
from preflight.events import Closed, Event, Started
from preflight.harness.journal import FILE_NAME, Journal, read_journal


def started(name: str, pid: int = 1) -> Started:
    """An event."""
    return Started(id=name, device=None, pid=pid, at="2026-12-01T09:00:00Z")


def test_events_come_back_as_they_went(tmp_path: Path) -> None:
    """In order, with their types."""
    events: list[Event] = [started("a.b"), Closed(finished="2026-12-01T09:00:00Z", duration_s=1.5)]
    journal = Journal(tmp_path)
    for event in events:
        journal.append(event)
    assert list(read_journal(tmp_path)) == events


def test_each_reader_sees_every_event_once(tmp_path: Path) -> None:
    """``new_events`` gives what came since it was last asked, from whatever writer."""
    reader, writer, other = Journal(tmp_path), Journal(tmp_path), Journal(tmp_path)
    assert reader.new_events() == ()
    writer.append(started("a.b"))
    other.append(started("a.c"))
    assert [e.id for e in reader.new_events() if isinstance(e, Started)] == ["a.b", "a.c"]
    assert reader.new_events() == ()
    writer.append(started("a.d"))
    assert reader.new_events() == (started("a.d"),)


def test_a_line_that_is_half_there_waits_for_its_end(tmp_path: Path) -> None:
    """Reading while another process writes never gives half an event."""
    journal = Journal(tmp_path)
    journal.append(started("a.b"))
    data = journal.path.read_bytes()
    journal.path.write_bytes(data + data[:20])
    reader = Journal(tmp_path)
    assert reader.new_events() == (started("a.b"),)
    with journal.path.open("ab") as file:
        file.write(data[20:])
    assert reader.new_events() == (started("a.b"),)


def test_a_torn_last_line_is_passed_over(tmp_path: Path) -> None:
    """Power that went away in the middle of a line costs that line alone."""
    journal = Journal(tmp_path)
    journal.append(started("a.b"))
    with journal.path.open("ab") as file:
        file.write(b'{"type":"ended","che')
    assert read_journal(tmp_path) == (started("a.b"),)


def test_lines_of_several_processes_do_not_mix(tmp_path: Path) -> None:
    """Four writers at once, long lines: each line is whole, and none is lost."""
    code = (
        "import sys; from pathlib import Path\n"
        "from preflight.harness.journal import Journal\n"
        "from preflight.events import Started\n"
        f"journal = Journal(Path({str(tmp_path)!r}))\n"
        "for i in range(100):\n"
        "    journal.append(Started(id=sys.argv[1] * 20000, device=str(i), pid=i, at=''))\n"
    )
    writers = [subprocess.Popen([sys.executable, "-c", code, letter]) for letter in "abcd"]
    assert [writer.wait() for writer in writers] == [0, 0, 0, 0]
    found = [(e.id[0], e.pid) for e in read_journal(tmp_path) if isinstance(e, Started)]
    for letter in "abcd":
        assert [pid for name, pid in found if name == letter] == list(range(100))


def test_a_line_that_is_no_event_names_the_file(tmp_path: Path) -> None:
    """It is refused with the place, whether it is no JSON, no event or no text."""
    for line in (b"nonsense\n", b'{"type":"dance"}\n', b'{"type":"started"}\n', b"\xff\xfe\n"):
        (tmp_path / FILE_NAME).write_bytes(line)
        with pytest.raises(RecordError) as caught:
            read_journal(tmp_path)
        assert caught.value.where == str(tmp_path / FILE_NAME)


def test_a_folder_without_a_journal_is_refused(tmp_path: Path) -> None:
    """The message says which folder is meant to be given."""
    with pytest.raises(RecordError, match="no journal here") as caught:
        read_journal(tmp_path)
    assert "preflight run" in caught.value.mend


def test_a_folder_that_is_gone_is_an_output_error(tmp_path: Path) -> None:
    """Exit code 4 with the place and the flag."""
    journal = Journal(tmp_path / "gone")
    with pytest.raises(OutputError, match="No such file") as caught:
        journal.append(started("a.b"))
    assert caught.value.exit_code == 4
    assert "--out" in caught.value.mend


def test_a_full_disk_is_an_output_error_and_leaves_a_readable_journal(tmp_path: Path) -> None:
    """Whether a line is written in part or not at all, those before it stay readable."""
    code = (
        "import signal; from pathlib import Path\n"
        "from preflight.errors import OutputError\n"
        "from preflight.harness.journal import Journal\n"
        "from preflight.events import Started\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        f"journal = Journal(Path({str(tmp_path)!r}))\n"
        "for turn in range(3):\n"
        "    try:\n"
        "        journal.append(Started(id='a' * 600, device=None, pid=turn, at=''))\n"
        "    except OutputError as error: print(error.what)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000)),
        capture_output=True,
        text=True,
        check=True,
    )
    partly, not_at_all = done.stdout.splitlines()
    assert partly == "the journal could be written only in part: the disk is full"
    assert not_at_all.startswith("cannot write the journal: ")
    assert [event.pid for event in read_journal(tmp_path) if isinstance(event, Started)] == [0]


def test_space_that_comes_back_does_not_spoil_the_journal(tmp_path: Path) -> None:
    """A line that was written in part stands alone: later events can be read."""
    journal = Journal(tmp_path)
    journal.append(started("a.b"))
    with journal.path.open("ab") as file:
        file.write(b'{"type":"ended","che')
    journal.append(started("a.c"))
    assert read_journal(tmp_path) == (started("a.b"), started("a.c"))


def test_a_held_journal_is_seen_to_be_held(tmp_path: Path) -> None:
    """A run that goes on is told from one that was killed, even while it has no children."""
    journal = Journal(tmp_path)
    journal.append(Started(id="kernel.first", device="cpu", pid=1, at="2026-12-01T09:04:12Z"))
    assert not Journal(tmp_path).is_held()
    journal.hold()
    assert Journal(tmp_path).is_held()
    journal.release()
    assert not Journal(tmp_path).is_held()
