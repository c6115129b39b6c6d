"""``nvidia-smi``: the table in its two and three row forms, and the sections of ``-q``."""

from __future__ import annotations

import re

from preflight.compat.dumps.card_names import architecture_of
from preflight.compat.dumps.facts import Condition, Gpu, Reading
from preflight.compat.dumps.text import Line

MOST = 256
_HEADER = re.compile(
    r"NVIDIA-SMI\s+\S+.*?Driver Version:\s*(\d[\d.]+)(?:.*?CUDA Version:\s*([\d.]+))?"
)
_ROW = re.compile(
    r"\|\s*(\d{1,3})\s+(\S.*?)\s+(?:On|Off|N/A)\s*\|\s*([0-9A-Fa-f]{4,8}:\S+)\s+\S+\s*\|\s*(\S.*?)\s*\|"
)
_MEMORY = re.compile(r"\|\s*(\d+)\s*MiB\s*/\s*(\d+)\s*MiB\s*\|\s*(\d+|N/A)\s*%?")
_MIG_ROW = re.compile(r"\|\s*(\d+)\s+(\d+)\s+(\d+)\s+(\d+)\s*\|\s*\d+\s*MiB\s*/\s*\d+\s*MiB")
_MIG_MODE = re.compile(r"\|[^|]*\|[^|]*\|\s*(Enabled|Disabled)\*?\s*\|")
_QUERY = re.compile(r"([A-Z][\w ./()-]{1,60}?)\s*:\s(.*)")
_ACTIVE = {
    "hw slowdown": (
        "fail",
        "hardware slowdown is active: heat or power brake holds the clocks down",
    ),
    "hw thermal slowdown": ("fail", "hardware thermal slowdown is active"),
    "hw power brake slowdown": ("fail", "the power brake is active: the supply asks for less"),
    "sw thermal slowdown": ("warn", "software thermal slowdown is active"),
    "sw power cap": ("warn", "the software power cap holds the clocks down"),
}
_CLOCK_ACTION = (
    "read nvidia-smi -q -d PERFORMANCE,POWER,TEMPERATURE under load; ask the seller about cooling, "
    "supply and the power limit"
)
_ECC_ACTION = "drain this card, reset it (nvidia-smi --gpu-reset), and ask the seller to replace it"
_FABRIC_ACTION = (
    "ask the seller to start nvidia-fabricmanager in the driver's very version and to finish the "
    "registration of the fabric: nvidia-smi -q must say State: Completed, Status: Success"
)


class NvidiaSmi:
    """Gathers cards, driver and conditions line by line."""

    def __init__(self) -> None:
        self.driver: Reading | None = None
        self.driver_cuda: Reading | None = None
        self.gpus: list[Gpu] = []
        self.slices: list[Reading] = []
        self.conditions: list[Condition] = []
        self.complete = False
        self._in_table = False
        self._section = ""
        self._power: dict[str, float] = {}
        self._capped: int | None = None
        self._pcie: dict[str, int] = {}

    def read(self, line: Line) -> None:
        """Take what a line has of interest."""
        text = line.text
        if text[:1] in "|+":
            self._table(line)
        elif ": " in text or text.endswith(":"):
            self._query(line)
        elif text and len(text) < 60 and text[0].isupper():
            self._section = text.lower()

    def _table(self, line: Line) -> None:
        text = line.text
        if "NVIDIA-SMI" in text and (found := _HEADER.search(text)):
            self.driver = self.driver or Reading(value=found[1], line=line.number)
            if found[2]:
                self.driver_cuda = self.driver_cuda or Reading(value=found[2], line=line.number)
            self._in_table = True
        elif "Processes:" in text or "Process ID" in text or "No running processes" in text:
            self.complete, self._in_table = bool(self.driver), False
        elif "No devices were found" in text:
            self.complete = True
        elif self._in_table:
            self._row(line)

    def _row(self, line: Line) -> None:
        text = line.text
        if "ERR!" in text:
            reason = "the driver cannot read a sensor of the card (ERR!): it does not answer"
            self._note("system", "fail", reason, _ECC_ACTION, line)
        if found := _ROW.match(text):
            if len(self.gpus) < MOST:
                name = found[2]
                arch = None if name.endswith("...") else architecture_of(name)
                self.gpus.append(
                    Gpu(name=name, architecture=arch, line=line.number, tool="nvidia-smi")
                )
            self._errors(found[4], line)
        elif found := _MIG_ROW.match(text):
            self.slices.append(Reading(value=f"GPU {found[1]}, GI {found[2]}", line=line.number))
        elif "MiB" in text and (found := _MEMORY.search(text)) and self.gpus:
            last = self.gpus[-1]
            if last.memory_MiB is None:
                self.gpus[-1] = Gpu(
                    name=last.name,
                    architecture=last.architecture,
                    memory_MiB=int(found[2]),
                    used_MiB=int(found[1]),
                    utilization_percent=int(found[3]) if found[3].isdigit() else None,
                    line=last.line,
                    tool=last.tool,
                )
        elif "abled" in text and (found := _MIG_MODE.match(text)) and found[1] == "Enabled":
            self._note(
                "order",
                "fail",
                "MIG mode is on: the card is handed out in slices, not whole",
                "ask the seller for whole cards: nvidia-smi -mig 0",
                line,
            )

    def _errors(self, count: str, line: Line) -> None:
        if count.isdigit() and int(count) > 0:
            self._note(
                "system",
                "fail",
                f"{count} uncorrected ECC errors since the start",
                _ECC_ACTION,
                line,
            )

    def _query(self, line: Line) -> None:
        """``Key   : value`` of -q, below the heading that was read last."""
        key, _, value = line.text.partition(":")
        key, value = key.strip().lower(), value.strip()
        if not value:
            self._section = key
            return
        if key == "driver version" and value[:1].isdigit():
            self.driver = self.driver or Reading(value=value, line=line.number)
        elif key == "cuda version" and value[:1].isdigit():
            self.driver_cuda = self.driver_cuda or Reading(value=value, line=line.number)
        elif key == "product name" and len(self.gpus) < MOST:
            self.gpus.append(
                Gpu(
                    name=value,
                    architecture=architecture_of(value),
                    line=line.number,
                    tool="nvidia-smi",
                )
            )
        elif key in _ACTIVE:
            self._clock(key, value, line)
        else:
            self._state(key, value, line)

    def _clock(self, key: str, value: str, line: Line) -> None:
        if not value.startswith("Active"):
            return
        status, reason = _ACTIVE[key]
        if key == "sw power cap":
            self._capped = line.number
        self._note("system", status, reason, _CLOCK_ACTION, line)

    def _state(self, key: str, value: str, line: Line) -> None:
        word = value.lower()
        number = int(value) if value.isdigit() else 0
        if self._section == "fabric" and key == "state" and word in ("in progress", "not started"):
            reason = f"the NVLink fabric of this card is not up: State {value}"
            self._note("driver", "fail", reason, _FABRIC_ACTION, line)
        elif self._section == "fabric" and key == "status" and word not in ("success", "n/a"):
            reason = f"the registration of the NVLink fabric failed: Status {value}"
            self._note("driver", "fail", reason, _FABRIC_ACTION, line)
        elif key == "remapping failure occurred" and word == "yes":
            self._note(
                "system", "fail", "a row of its memory could not be remapped", _ECC_ACTION, line
            )
        elif key in ("pending", "pending page blacklist") and word == "yes":
            reason = "memory rows wait for their remapping: the card needs a reset"
            self._note("system", "fail", reason, "reset the card while idle, then read again", line)
        elif key in ("mig mode", "current") and self._section == "mig mode" and word == "enabled":
            reason = "MIG mode is on: the card is handed out in slices, not whole"
            self._note(
                "order", "fail", reason, "ask the seller for whole cards: nvidia-smi -mig 0", line
            )
        elif (
            "uncorrectable" in key
            and number > 0
            and (self._section not in ("aggregate", "remapped rows"))
        ):
            reason = f"{number} uncorrected memory errors ({key})"
            self._note("system", "fail", reason, _ECC_ACTION, line)
        elif key in ("max", "current", "device current", "device max"):
            self._link(key, value, line)
        elif key in ("power draw", "average power draw", "instantaneous power draw"):
            self._watts("draw", value)
        elif key in ("current power limit", "power limit", "enforced power limit"):
            self._watts("limit", value)

    def _link(self, key: str, value: str, line: Line) -> None:
        """Width below its maximum is a defect at any load; the generation falls when idle."""
        if self._section != "link width" or not value.rstrip("x").isdigit():
            return
        self._pcie[key.split()[-1]] = int(value.rstrip("x"))
        most, now = self._pcie.get("max"), self._pcie.get("current")
        if most and now:
            self._pcie = {}
            if now < most:
                reason = f"the PCIe link runs on {now} of {most} lanes"
                action = (
                    "read it under load (preflight run --only kernel); ask the seller to reseat it"
                )
                self._note("system", "warn", reason, action, line)

    def _watts(self, key: str, value: str) -> None:
        try:
            self._power[key] = float(value.split()[0])
        except (ValueError, IndexError):
            return
        draw, limit = self._power.get("draw"), self._power.get("limit")
        if draw and limit and draw >= 0.9 * limit and self._capped:
            # Capped while it draws what it may: that is full load, and no defect.
            self.conditions = [c for c in self.conditions if c.line != self._capped]
            self._capped = None

    def _note(self, stage: str, status: str, reason: str, action: str, line: Line) -> None:
        if len(self.conditions) < MOST:
            self.conditions.append(
                Condition(
                    stage=stage, status=status, reason=reason, action=action, line=line.number
                )
            )
