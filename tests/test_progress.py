"""What a person sees while a run goes on, on a terminal and without one."""

from __future__ import annotations

import io
import re
from typing import Any

import pytest
from rendering import sample
from rich.console import Console

from preflight import clock
from preflight.events import (
    Closed,
    Ended,
    Event,
    Inventory,
    Opened,
    Options,
    Planned,
    PlannedCheck,
    Started,
)
from preflight.progress import RUNNING, WAITING, Progress
from preflight.stages import BY_NAME, COLLECTION

CSI = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
HOSTILE = "evil\x1b]0;owned\x07\x1b[31mred\x9b2J\r\nnext\u202e [bold]markup[/bold]"


class Clock:
    """A clock that stands until it is moved."""

    def __init__(self) -> None:
        self.now_s = 100.0

    def seconds(self) -> float:
        """Seconds that only a test moves on."""
        return self.now_s


@pytest.fixture
def time(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """The clock that the progress reads."""
    stopped = Clock()
    monkeypatch.setattr(clock, "seconds", stopped.seconds)
    return stopped


def console(*, terminal: bool, width: int = 100) -> Console:
    """A console that writes into memory."""
    return Console(
        file=io.StringIO(),
        force_terminal=terminal,
        width=width,
        height=40,
        color_system="standard" if terminal else None,
        legacy_windows=False,
        _environ={"TERM": "xterm-256color"},
    )


def written(screen: Console) -> str:
    """All that went to the console."""
    assert isinstance(screen.file, io.StringIO)
    return screen.file.getvalue()


def last_table(screen: Console) -> list[str]:
    """Lines of the table as it was drawn last, without colours."""
    drawn = re.split(r"\x1b\[1mpreflight", written(screen))[-1]
    return CSI.sub("", "preflight" + drawn).replace("\r", "").splitlines()


def opened(**order: Any) -> Opened:
    """The first line of a journal."""
    options = Options(
        python="python",
        level="standard",
        mode="certify",
        accelerator="auto",
        ranks=2,
        seed=7,
        deadline_s=120.0,
        selected=("order", "kernel"),
        checks_folders=(),
    )
    return Opened(run=sample.run(), order=sample.order(**order), options=options)


def planned(*keys: tuple[str, str | None]) -> Planned:
    """Checks that were collected."""
    return Planned(
        checks=tuple(
            PlannedCheck(
                id=name,
                stage=name.partition(".")[0],
                title="T",
                phase=BY_NAME[name.partition(".")[0]].phase,
                nodeid=f"{name}{device}",
                device=device,
                deadline_s=10.0,
            )
            for name, device in keys
        )
    )


def started(name: str, device: str | None = None) -> Started:
    """A check that began."""
    return Started(id=name, device=device, pid=7, at="2026-12-01T09:04:12Z")


def ended(name: str, **fields: Any) -> Ended:
    """A check that has its status."""
    return Ended(check=sample.check(name, **fields))


INVENTORY = Inventory(host=sample.HOST, nodes=(), devices=(sample.card(0), sample.card(1)))
PLAN = planned(("order.count", None), ("kernel.first", "gpu0"), ("kernel.first", "gpu1"))


# -- without a terminal ------------------------------------------------------------------------


def lines_of(*batches: list[Event]) -> list[str]:
    """What plain progress prints for batches of events."""
    screen = console(terminal=False)
    with Progress(screen) as progress:
        for batch in batches:
            progress.watch(batch)
    return written(screen).splitlines()


def test_plain_lines_come_when_a_stage_is_complete() -> None:
    """Without a terminal each stage is one line, printed once, when its last result is there."""
    lines = lines_of(
        [opened(), INVENTORY, PLAN],
        [started("order.count")],
        [ended("order.count", reason="2 of 2", duration_s=0.25)],
        [],
        [ended("kernel.first", device="gpu0", duration_s=2.0)],
        [ended("kernel.first", device="gpu1", duration_s=3.0, status="fail", reason="wrong")],
        [Closed(finished="2026-12-01T09:05:01Z", duration_s=4.0)],
    )
    assert lines == ["order       pass     0.2 s  2 of 2", "kernel      fail     3.0 s  wrong"]


def test_plain_lines_wait_for_every_device() -> None:
    """A stage with a device still going is not printed."""
    assert lines_of([opened(), PLAN, ended("kernel.first", device="gpu0")]) == []


def test_plain_lines_show_check_files_that_were_not_collected() -> None:
    """A result of no stage has its line too."""
    broken = Ended(check=sample.check(f"{COLLECTION}.mine", status="error", reason="no syntax"))
    (line,) = lines_of([opened(), PLAN, broken])
    assert line.split() == ["checks", "error", "0.4", "s", "no", "syntax"]


def test_plain_lines_are_one_line_each_and_safe() -> None:
    """Nothing that a machine says can command a log's reader, break a line, or act as markup."""
    lines = lines_of([opened(), PLAN, ended("order.count", status="fail", reason=HOSTILE)])
    assert len(lines) == 1
    assert not re.search(r"[\x00-\x1f\x7f-\x9f\u202e]", lines[0])
    assert r"\x1b]0;owned\x07" in lines[0] and "[bold]markup[/bold]" in lines[0]


def test_plain_lines_are_not_wrapped() -> None:
    """A long fact stays on its line, whatever the width of a log."""
    (line,) = lines_of([opened(), PLAN, ended("order.count", reason="word " * 100)])
    assert line.endswith("word word")


# -- on a terminal -----------------------------------------------------------------------------


def tables(*batches: list[Event], time: Clock | None = None, width: int = 100) -> list[str]:
    """The last table of live progress for batches of events, half a second apart."""
    screen = console(terminal=True, width=width)
    with Progress(screen) as progress:
        for batch in batches:
            progress.watch(batch)
            if time is not None:
                time.now_s += 0.5
        progress.watch([])
        shown = last_table(screen)
    return shown


def test_the_table_begins_before_anything_is_known() -> None:
    """The first thing a person sees says what is going on."""
    assert "looking at the machine" in tables([])[0]


def test_the_head_names_the_order_and_the_machine(time: Clock) -> None:
    """The head has the order, level, mode, devices by product, and the time that has passed."""
    time.now_s += 0
    screen = console(terminal=True)
    with Progress(screen) as progress:
        time.now_s += 65
        progress.watch([opened(), INVENTORY, PLAN])
        head = last_table(screen)[0]
    assert "ORD-1042   standard   certify   2 x NVIDIA H100 80GB HBM3" in head
    assert head.rstrip().endswith("01:05")


def test_each_device_has_its_mark(time: Clock) -> None:
    """A device waits, runs, or shows how it ended; the stage tells what is running."""
    rows = tables(
        [opened(), INVENTORY, PLAN],
        [started("kernel.first", "gpu1"), ended("kernel.first", device="gpu0", status="fail")],
        time=time,
    )
    order, kernel = rows[1:3]
    assert order.split() == ["order", WAITING]
    assert kernel.split()[:4] == ["kernel", "x", RUNNING, "first"]
    assert kernel.rstrip().endswith("0.5 s")


def test_a_stage_that_ended_shows_the_first_of_its_worst() -> None:
    """The fact beside a stage is the reason of its worst result."""
    rows = tables(
        [
            opened(),
            PLAN,
            ended("kernel.first", device="gpu0", reason="fine"),
            ended("kernel.first", device="gpu1", status="fail", reason="wrong values"),
        ]
    )
    assert rows[2].split()[:5] == ["kernel", ".", "x", "wrong", "values"]


def test_the_table_is_safe() -> None:
    """No string of the seller or the machine reaches the terminal raw."""
    hostile = Inventory(host=sample.HOST, nodes=(), devices=(sample.card(0, product=HOSTILE),))
    screen = console(terminal=True, width=400)
    with Progress(screen) as progress:
        progress.watch([opened(reference=HOSTILE), hostile, PLAN])
        progress.watch([ended("order.count", status="fail", reason=HOSTILE)])
        text = written(screen)
    bare = CSI.sub("", text)
    assert "\x1b" not in bare and "\x07" not in bare and "\x9b" not in bare
    assert "\u202e" not in bare
    assert "\x1b[31mred" not in text
    assert text.count(r"\x1b]0;owned\x07") >= 3
    assert "[bold]markup[/bold]" in bare


@pytest.mark.parametrize("width", [40, 60, 100])
@pytest.mark.parametrize("reason", ["wrong", "word " * 100], ids=["short", "long"])
def test_a_row_fits_and_keeps_its_name_and_time(width: int, reason: str) -> None:
    """A long fact and many devices are cut; the stage, a mark and the time are always there."""
    names = [f"gpu{i}" for i in range(72)]
    results: list[Event] = [
        ended("kernel.first", device=name, status="fail", reason=reason) for name in names
    ]
    plan = planned(("order.count", None), *[("kernel.first", name) for name in names])
    rows = tables([opened(reference="R" * 200), INVENTORY, plan, *results], width=width)
    assert [row.split()[0] for row in rows] == ["preflight", "order", "kernel"]
    assert rows[0].rstrip().endswith("00:00")
    assert rows[2].split()[1] == "x"
    assert rows[2].rstrip().endswith("0.4 s")
    assert all(len(row) <= width for row in rows)


def test_the_table_goes_away_at_the_end() -> None:
    """What stays on the screen is the summary: the live table erases itself."""
    screen = console(terminal=True)
    with Progress(screen) as progress:
        progress.watch([opened(), INVENTORY, PLAN])
    tail = written(screen).rpartition("preflight")[2]
    assert "\x1b[2K" in tail and "\x1b[?25h" in tail


def test_the_table_goes_away_when_the_run_is_interrupted() -> None:
    """An exception leaves the terminal in order, with its cursor."""
    screen = console(terminal=True)
    with pytest.raises(KeyboardInterrupt), Progress(screen) as progress:
        progress.watch([opened(), PLAN])
        raise KeyboardInterrupt
    assert written(screen).count("\x1b[?25h") == 1
