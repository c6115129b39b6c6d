"""Watches a device while a check makes it work, from a process of its own."""

from __future__ import annotations

import os
import statistics
import threading

import msgspec

from preflight import clock
from preflight.facts import Absence, Number, Whole
from preflight.hardware.telemetry import Sample
from preflight.harness.children import Child
from preflight.harness.own_python import own_command
from preflight.probes.lifeline import PARENT_VARIABLE
from preflight.records import Device

KIND_VARIABLE = "PREFLIGHT_TELEMETRY_KIND"
PCI_VARIABLE = "PREFLIGHT_TELEMETRY_PCI"
BEGAN_VARIABLE = "PREFLIGHT_TELEMETRY_BEGAN"
"""Moment of the monotonic clock, which is one for all processes, that samples count from."""
SAMPLES_VARIABLE = "PREFLIGHT_TELEMETRY_FD"
FIRST_SAMPLE_S = 5.0
"""An interpreter starts and opens NVML in well under a second; a sick driver never answers."""
STOP_S = 2.0
"""A child that waits for its next sample leaves at once; one inside a driver is killed."""


class Samples(msgspec.Struct, frozen=True, kw_only=True):
    """What was seen of a device between two moments."""

    samples: tuple[Sample, ...] = ()
    absence: Absence | None = None
    """Why there are none, or why they end early."""
    began_s: float = 0.0
    """Moment of the monotonic clock that the samples count from."""

    def between(self, from_s: float, until_s: float) -> Samples:
        """Those taken from one moment of the monotonic clock to another."""
        inside = tuple(s for s in self.samples if from_s <= self.began_s + s.at_s <= until_s)
        return msgspec.structs.replace(self, samples=inside)

    def peak(self, fact: str) -> Whole:
        """Highest value of a field of Sample, such as ``pcie_generation``; else why there is none.

        A link that rests for a moment is no slow link, so its best counts.
        """
        values = self._values(fact)
        return values if isinstance(values, Absence) else int(max(values))

    def median(self, fact: str) -> Number:
        """Median of a field of Sample, such as ``sm_MHz``; else why there is none."""
        values = self._values(fact)
        return values if isinstance(values, Absence) else float(statistics.median(values))

    def _values(self, fact: str) -> list[float] | Absence:
        found = [getattr(sample, fact) for sample in self.samples]
        values = [value for value in found if not isinstance(value, Absence)]
        if values:
            return values
        if found:
            return found[0]  # type: ignore[no-any-return]
        return self.absence or Absence(
            what=fact, reason="not found", detail="no sample was taken in that time"
        )


class Sampler:
    """Takes samples of a device while its ``with`` block runs; afterwards ``samples`` has them.

    It never raises for what the device or its driver does, and nothing waits for a driver: without
    a first sample in FIRST_SAMPLE_S the block begins all the same, and the child is killed in the
    end.
    """

    def __init__(self, device: Device, *, absence: Absence | None = None) -> None:
        """With ``absence`` nothing is sampled, and that is why."""
        if absence is None and device.kind != "cpu" and device.pci is None:
            absence = Absence(what=f"PCI address of {device.name}", reason="not found")
        if absence is None and device.kind == "cpu":
            absence = Absence(what="telemetry", reason="not asked", detail="a CPU is no device")
        self.samples = Samples(absence=absence)
        self._device = device
        self._child: Child | None = None
        self._reader: _Reader | None = None

    def __enter__(self) -> Sampler:
        """Start the child, and wait for its first sample."""
        if self.samples.absence is not None:
            return self
        began_s = clock.seconds()
        self.samples = Samples(began_s=began_s)
        reading, writing = os.pipe()
        try:
            self._child = self._start(writing, began_s)
        except OSError as error:
            os.close(reading)
            self._end(Absence(what="telemetry", reason="failed", detail=str(error)))
            return self
        finally:
            os.close(writing)
        self._reader = _Reader(reading)
        self._reader.has_begun.wait(FIRST_SAMPLE_S)
        return self

    def __exit__(self, *exception: object) -> None:
        """End the child, whatever it does, and keep what it said."""
        if self._child is None or self._reader is None:
            return
        self._child.close_input()
        left = self._child.wait(STOP_S)
        self._child.kill()
        end = self._child.exit(timed_out=not left)
        samples = self._reader.samples()
        self.samples = msgspec.structs.replace(self.samples, samples=samples)
        if not left:
            detail = f"the driver did not answer any more; samples before that: {len(samples)}"
            self._end(Absence(what="telemetry", reason="deadline", detail=detail))
        elif end.code != 0:
            detail = f"the process that asked {end.sentence()}\n{end.output[-2000:]}".strip()
            self._end(Absence(what="telemetry", reason="failed", detail=detail))

    def _start(self, writing: int, began_s: float) -> Child:
        return Child(
            own_command("preflight.harness.telemetry_child"),
            environment={
                **os.environ,
                KIND_VARIABLE: self._device.kind,
                PCI_VARIABLE: self._device.pci or "",
                BEGAN_VARIABLE: repr(began_s),
                SAMPLES_VARIABLE: str(writing),
                PARENT_VARIABLE: str(os.getpid()),
            },
            give=(writing,),
            commands=True,
        )

    def _end(self, absence: Absence) -> None:
        self.samples = msgspec.structs.replace(self.samples, absence=absence)


class _Reader:
    """Reads samples as they come, so that the child never waits for room in the pipe."""

    def __init__(self, descriptor: int) -> None:
        self.has_begun = threading.Event()
        """Set with the first sample, or when there will be none."""
        self._descriptor = descriptor
        self._samples: list[Sample] = []
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self) -> None:
        with os.fdopen(self._descriptor, "rb") as stream:
            for line in stream:
                if line.endswith(b"\n"):  # not what was cut short by the end of the child
                    self._samples.append(msgspec.json.decode(line, type=Sample))
                self.has_begun.set()
        self.has_begun.set()

    def samples(self, *, wait_s: float = STOP_S) -> tuple[Sample, ...]:
        """What came; waits so long for the end, which a child that cannot be killed puts off."""
        self._thread.join(wait_s)
        return tuple(self._samples)
