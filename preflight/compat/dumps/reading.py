"""One pass over a paste: every reader sees every line, signatures see every block."""

from __future__ import annotations

from typing import BinaryIO

import msgspec

from preflight.compat.dumps.collect_env import CollectEnv
from preflight.compat.dumps.facts import Build, Condition, Facts, Gpu
from preflight.compat.dumps.frameworks import Frameworks
from preflight.compat.dumps.kernel_log import KernelLog
from preflight.compat.dumps.nccl_log import NcclLog
from preflight.compat.dumps.nvidia_smi import NvidiaSmi
from preflight.compat.dumps.rocm_tools import RocmTools
from preflight.compat.dumps.signatures import Hit, Scanner
from preflight.compat.dumps.text import Line, Source
from preflight.compat.dumps.topology import Topology

MOST_QUOTES = 400


class Pasted(msgspec.Struct, frozen=True, kw_only=True):
    """A paste that was read: its facts, the signatures in it, and the lines that these stand on."""

    facts: Facts
    hits: tuple[Hit, ...]
    quotes: dict[int, str]
    """Text of the lines that facts and hits stand on, shortened, by number."""
    num_bytes: int
    num_lines: int
    encoding: str
    not_text: str = ""
    """What it is instead of text; empty for text."""


class _Readers:
    def __init__(self) -> None:
        self.collect_env = CollectEnv()
        self.nvidia_smi = NvidiaSmi()
        self.nccl = NcclLog()
        self.rocm = RocmTools()
        self.topology = Topology()
        self.kernel_log = KernelLog()
        self.frameworks = Frameworks()
        self._known: set[int] = set()
        self._all = tuple(
            reader.read
            for reader in (
                self.collect_env,
                self.nvidia_smi,
                self.rocm,
                self.topology,
                self.kernel_log,
                self.frameworks,
            )
        )

    def read(self, line: Line) -> bool:
        """Show a line to the readers; whether signatures are to be looked for in it."""
        text = line.text
        if not text:
            return False
        if "CCL" in text and ("NCCL INFO" in text or "NCCL WARN" in text or "CCL version" in text):
            return self.nccl.read(line)
        for read in self._all:
            read(line)
        return True

    def new_lines(self) -> set[int]:
        """Lines that something was read from since the last call."""
        own = self.collect_env
        found = {
            *(one.line for one in self.nvidia_smi.conditions),
            *(one.line for one in self.topology.conditions),
            *(one.line for one in self.kernel_log.conditions),
            *(one.line for one in self._gpus()),
            *(one.line for one in self.topology.pci_cards),
            *(one.line for one in own.packages.values()),
            *(one.line for one in (*own.slices, *self.nvidia_smi.slices)),
            *(number for one in own.complaints for number in one.lines),
            *own.lines(),
            *self.nccl.lines(),
            *self.frameworks.lines(),
            *(one.line for one in (self.nvidia_smi.driver, self.nvidia_smi.driver_cuda) if one),
        }
        new, self._known = found - self._known, found
        return new

    def facts(self) -> Facts:
        """What all of them found."""
        conditions: list[Condition] = [
            *self.nvidia_smi.conditions,
            *self.topology.conditions,
            *self.kernel_log.conditions,
        ]
        collectives = self.nccl.finish()
        return Facts(
            builds=self._builds(),
            gpus=tuple(self._gpus()),
            driver=self.nvidia_smi.driver,
            driver_cuda=self.nvidia_smi.driver_cuda,
            smi_complete=self.nvidia_smi.complete,
            pci_cards=tuple(self.topology.pci_cards),
            capability=self.frameworks.capability or self.collect_env.capability,
            nvcc=self.frameworks.nvcc,
            complaints=tuple(self.collect_env.complaints),
            packages=self.collect_env.packages,
            slices=(*self.collect_env.slices, *self.nvidia_smi.slices),
            conditions=tuple(conditions),
            collectives=collectives,
            frames=tuple(self.frameworks.frames),
            is_collector_crash=self.frameworks.is_collector_crash,
        )

    def _builds(self) -> tuple[Build, ...]:
        found = self.collect_env.finish()
        own = self.frameworks
        if own.torch or own.cuda:
            found = (*found, Build(torch=own.torch, cuda=own.cuda, hip=own.hip))
        return found

    def _gpus(self) -> list[Gpu]:
        """Cards outside the dumps of torch: those of the tool that tells most of them."""
        return list(self.nvidia_smi.gpus or self.rocm.finish() or self.topology.finish())


def read_paste(stream: BinaryIO) -> Pasted:
    """Read a stream to its end, in memory that does not grow with it; never raises on content."""
    source, readers, scanner = Source(stream), _Readers(), Scanner()
    kept: dict[int, str] = {}
    for block in source.blocks():
        lines = [line for line in block if readers.read(line)]
        scanner.scan(lines)
        _keep_quotes(kept, block, readers.new_lines())
    facts, hits = readers.facts(), scanner.hits()
    kept.update({line: quote for hit in hits for line, quote in hit.quotes.items()})
    return Pasted(
        facts=facts,
        hits=hits,
        quotes=kept,
        num_bytes=source.num_bytes,
        num_lines=source.num_lines,
        encoding=source.encoding,
        not_text=source.not_text,
    )


def _keep_quotes(kept: dict[int, str], block: list[Line], wanted: set[int]) -> None:
    """Keep the text of the lines that something was read from, each once."""
    if not wanted:
        return
    for line in block:
        if line.number in wanted and len(kept) < MOST_QUOTES:
            kept.setdefault(line.number, line.text[:300])
