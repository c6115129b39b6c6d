"""``rocm-smi``, ``amd-smi`` and ``rocminfo``: which cards are there."""

from __future__ import annotations

import re

from preflight.compat.dumps.card_names import architecture_of
from preflight.compat.dumps.facts import Gpu
from preflight.compat.dumps.text import Line

MOST = 256
_SMI = re.compile(
    r"GPU\[(\d+)\]\s*:\s*(Device Name|Card [Ss]eries|Card [Mm]odel|GFX Version)\s*:\s*(\S.*)"
)
_AMD_SMI = re.compile(r"MARKET_NAME\s*:\s*(\S.*)")
_AGENT = re.compile(r"Name:\s+(gfx[0-9a-f]+)$")


class RocmTools:
    """Gathers cards of AMD, each once."""

    def __init__(self) -> None:
        self._gpus: dict[str, Gpu] = {}
        self._agents: list[Gpu] = []

    def read(self, line: Line) -> None:
        """Take what a line has of interest."""
        text = line.text
        if text.startswith("GPU[") and (found := _SMI.match(text)):
            self._card(found[1], found[2], found[3].strip(), line)
        elif "MARKET_NAME" in text and (found := _AMD_SMI.search(text)):
            self._add(found[1].strip(), line)
        elif text.startswith("Name:") and (found := _AGENT.match(text)):
            self._agents.append(
                Gpu(name=found[1], architecture=found[1], line=line.number, tool="rocminfo")
            )

    def _card(self, number: str, key: str, value: str, line: Line) -> None:
        old = self._gpus.get(number)
        if old is not None and (old.architecture is not None or key == "Card Model"):
            return
        if len(self._gpus) < MOST and value.lower() not in ("n/a", "not supported"):
            name = value if old is None or key != "GFX Version" else old.name
            self._gpus[number] = Gpu(
                name=name, architecture=architecture_of(value), line=line.number, tool="rocm-smi"
            )

    def _add(self, name: str, line: Line) -> None:
        if len(self._agents) < MOST:
            self._agents.append(
                Gpu(name=name, architecture=architecture_of(name), line=line.number, tool="amd-smi")
            )

    def finish(self) -> tuple[Gpu, ...]:
        """The cards of the tool that names most."""
        return tuple(self._gpus.values() or self._agents[:MOST])
