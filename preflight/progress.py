"""What a person sees while the run goes on: stages and devices with their state and time."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence

from rich.console import Console
from rich.live import Live
from rich.table import Table
from rich.text import Text

from preflight import clock
from preflight.events import Ended, Event, Inventory, Opened, Planned, PlannedCheck, Started
from preflight.records import Check, Status
from preflight.rendering.escaping import one_line
from preflight.rendering.wording import MARKS
from preflight.stages import COLLECTION, STAGE_NAMES
from preflight.verdict import worst

STYLES: dict[Status, str] = {
    "pass": "green",
    "warn": "yellow",
    "fail": "bold red",
    "error": "bold magenta",
    "skip": "dim",
}
RUNNING = "…"
WAITING = "·"
_MOST_MARKS = 16
_BESIDE_MARKS = 32
"""Columns that name, time and a little of the fact take on a narrow terminal."""


class Progress:
    """Follows the events of a run and shows them: a live table, or plain lines."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._began_s = clock.seconds()
        self._title = ""
        self._found = ""
        self._planned: tuple[PlannedCheck, ...] = ()
        self._running: dict[tuple[str, str | None], float] = {}
        self._ended: dict[tuple[str, str | None], Check] = {}
        self._stages: list[str] = []
        self._printed: set[str] = set()
        self._is_gone = False
        self._live = Live(
            console=console,
            auto_refresh=False,
            transient=True,
            get_renderable=self._table,
        )

    def __enter__(self) -> Progress:
        if self._console.is_terminal:
            self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        with contextlib.suppress(OSError):
            self._live.stop()

    def watch(self, events: Sequence[Event]) -> None:
        """Take new events in; called many times a second."""
        for event in events:
            self._note(event)
        if self._is_gone:
            return
        try:
            if self._console.is_terminal:
                self._live.refresh()
            else:
                self._print_finished()
        except OSError:  # the terminal, or the pipe, has ended; the run goes on
            self._is_gone = True

    def _note(self, event: Event) -> None:
        if isinstance(event, Opened):
            reference = event.order.reference or "no order"
            self._title = f"{one_line(reference)}   {event.run.level}   {event.run.mode}"
        elif isinstance(event, Inventory):
            names = [device.product for device in event.devices]
            counted = {name: names.count(name) for name in names}
            self._found = ", ".join(f"{n} x {one_line(name)}" for name, n in counted.items())
        elif isinstance(event, Planned):
            self._planned = event.checks
            present = {row.stage for row in event.checks}
            self._stages = [name for name in STAGE_NAMES if name in present]
        elif isinstance(event, Started):
            self._running[event.id, event.device] = clock.seconds()
        elif isinstance(event, Ended):
            key = (event.check.id, event.check.device)
            self._running.pop(key, None)
            self._ended.setdefault(key, event.check)
            if event.check.stage == COLLECTION and COLLECTION not in self._stages:
                self._stages.append(COLLECTION)

    # -- a live table --------------------------------------------------------------------------

    def _table(self) -> Table:
        elapsed_s = clock.seconds() - self._began_s
        # Expanded, the column of facts gets what the others leave; else a long fact squeezes them.
        table = Table.grid(padding=(0, 2), expand=True)
        table.add_column(no_wrap=True)
        table.add_column(no_wrap=True)
        table.add_column(no_wrap=True, overflow="ellipsis", ratio=1)
        table.add_column(justify="right", no_wrap=True)
        head = f"{self._title}   {self._found or 'looking at the machine'}"
        table.add_row(
            Text("preflight", style="bold"),
            "",
            Text(head),
            f"{elapsed_s // 60:02.0f}:{elapsed_s % 60:02.0f}",
        )
        for stage in self._stages:
            table.add_row(Text(stage), self._marks(stage), self._fact(stage), self._time(stage))
        return table

    def _rows(self, stage: str) -> list[PlannedCheck]:
        return [row for row in self._planned if row.stage == stage]

    def _results(self, stage: str) -> list[Check]:
        return [check for check in self._ended.values() if check.stage == stage]

    def _marks(self, stage: str) -> Text:
        """A mark for each device, or one for the stage where it speaks of the machine."""
        names = list(dict.fromkeys(row.device for row in self._rows(stage)))
        room = max(1, (self._console.width - _BESIDE_MARKS) // 2)
        devices = [name for name in names if name is not None][: min(_MOST_MARKS, room)]
        text = Text()
        for name in devices or (None,):
            mark, style = self._mark(stage, name)
            text.append(mark + " ", style=style)
        return text

    def _mark(self, stage: str, device: str | None) -> tuple[str, str]:
        mine = [
            row
            for row in self._rows(stage)
            if row.device == device or (row.device is None and row.phase != "compare")
        ]
        keys = [(row.id, row.device) for row in mine]
        if any(key in self._running for key in keys):
            return RUNNING, "cyan"
        found = [self._ended[key] for key in keys if key in self._ended]
        found += [c for c in self._results(stage) if stage == COLLECTION]
        if len(found) < len(keys) or not found:
            return WAITING, "dim"
        status = worst(check.status for check in found)
        return MARKS[status], STYLES[status]

    def _fact(self, stage: str) -> Text:
        """What is going on, or the worst that was found."""
        running = [key for key in self._running if key[0].partition(".")[0] == stage]
        if running:
            names = sorted({key[0].partition(".")[2] for key in running})
            return Text(", ".join(names), style="cyan")
        results = self._results(stage)
        if not results:
            return Text("")
        status = worst(check.status for check in results)
        reasons = [check.reason for check in results if check.status == status and check.reason]
        fact = one_line(reasons[0]) if reasons else ""
        return Text(fact, style=STYLES[status] if status != "pass" else "dim")

    def _time(self, stage: str) -> str:
        now_s = clock.seconds()
        spent: dict[str | None, float] = {}
        for check in self._results(stage):
            spent[check.device] = spent.get(check.device, 0.0) + (check.duration_s or 0.0)
        for (name, device), since_s in self._running.items():
            if name.partition(".")[0] == stage:
                spent[device] = spent.get(device, 0.0) + now_s - since_s
        shared = spent.pop(None, 0.0)
        total = shared + max(spent.values(), default=0.0)
        return f"{total:.1f} s" if self._results(stage) or total else ""

    # -- plain lines ---------------------------------------------------------------------------

    def _print_finished(self) -> None:
        """Where there is no terminal: one line for each stage once all of it is there."""
        for stage in self._stages:
            rows = [row for row in self._rows(stage) if row.phase != "compare"]  # that comes late
            keys = {(row.id, row.device) for row in rows}
            if stage in self._printed or not keys <= set(self._ended):
                continue
            self._printed.add(stage)
            results = self._results(stage)
            status = worst(check.status for check in results)
            fact = self._fact(stage).plain
            line = f"{stage:<11} {status:<5} {self._time(stage):>8}  {fact}".rstrip()
            self._console.print(line, markup=False, highlight=False, soft_wrap=True)
