"""The assemblers (ptxas) that Triton's wheels bring: data of ``triton.toml`` beside this module."""

from __future__ import annotations

from functools import cache

from preflight.compat.tables import Entry, entries, read_table


class Assembler(Entry, frozen=True, kw_only=True):
    """What the releases of one minor version of Triton bring."""

    triton: str
    """``3.5``."""
    ptxas: str
    """CUDA version of ``triton/backends/nvidia/bin/ptxas``."""
    blackwell: str | None = None
    """CUDA version of ``ptxas-blackwell`` beside it, which capabilities from 10.0 on are given to;
    None where there is none and ``ptxas`` serves all."""
    read_in: str
    """The patch release in which both were read."""


@cache
def assemblers() -> tuple[Assembler, ...]:
    """Every version in the table, oldest first."""
    return entries(read_table("triton.toml"), "assembler", Assembler)


def assembler_of(triton: str) -> Assembler | None:
    """What a Triton such as ``3.5.1`` brings; None for a version that is not in the table."""
    minor = ".".join(triton.split("+")[0].split(".")[:2])
    return next((one for one in assemblers() if one.triton == minor), None)
