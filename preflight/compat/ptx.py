"""Which driver can compile which PTX: pure functions of versions.

Minor version compatibility does not cover PTX: a driver refuses PTX of a newer toolkit than its
own (cudaErrorUnsupportedPtxVersion, 222). What a toolkit writes, and the driver that came with it,
stand in ``toolkits.toml``.
"""

from __future__ import annotations

from collections.abc import Iterable

from preflight.compat.drivers import is_at_least
from preflight.compat.toolkits import Toolkit, toolkit, toolkit_of_ptx, toolkits

SOURCE = "PTX ISA, release notes; CUDA Toolkit release notes, table of toolkits and drivers"


def ptx_driver(isa: str) -> str | None:
    """Oldest driver that compiles PTX of a version such as ``8.7``; None where it is not known."""
    if _parts(isa) < (7, 0):  # of CUDA 10 and before: every driver that matters here compiles it
        return toolkits()[0].driver
    found = toolkit_of_ptx(isa) or _of_cuda_11(isa)
    return found.driver if found else None


def _of_cuda_11(isa: str) -> Toolkit | None:
    """PTX 7.x came with CUDA 11.x (PTX ISA, release notes)."""
    major, _, minor = isa.partition(".")
    return toolkit(f"11.{minor}") if major == "7" else None


def newest(isas: Iterable[str]) -> str | None:
    """The newest of versions of PTX: ``9.0`` of 8.7 and 9.0."""
    return max(isas, key=_parts, default=None)


def compiles(driver: str, isas: Iterable[str]) -> bool:
    """Whether a driver knows every one of these versions; False where nobody can say."""
    isa = newest(isas)
    if isa is None:
        return True
    floor = ptx_driver(isa)
    return floor is not None and is_at_least(driver, floor) is True


def _parts(isa: str) -> tuple[int, ...]:
    return tuple(int(part) for part in isa.split(".") if part.isdigit())
