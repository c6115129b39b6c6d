"""Where torch is to run: the few facts of a machine that decide which build does."""

from __future__ import annotations

import msgspec


class Place(msgspec.Struct, frozen=True, kw_only=True):
    """One device, its host and the interpreter; what is not known is None, and is not judged."""

    architecture: str
    """``sm_90`` or ``gfx942``, also with features: ``gfx942:sramecc+:xnack-``."""
    machine: str = "x86_64"
    """Processor of the host: ``x86_64`` or ``aarch64``."""
    driver: str | None = None
    """NVIDIA's driver (``580.65.06``), or the version of AMD's packaged kernel module."""
    driver_cuda: str | None = None
    """Newest CUDA that the driver speaks: ``13.0``."""
    data_center: bool | None = None
    """Whether forward compatibility packages (cuda-compat) work on the card."""
    python: str | None = None
    """``3.12.3``; ``3.13t`` where it is the free-threaded one."""
    glibc: str | None = None
    """``2.35``."""
    pip: str = "pip"
    """How pip of that interpreter is called: ``/opt/venv/bin/python -m pip``."""

    @property
    def is_amd(self) -> bool:
        """Whether the device is AMD's."""
        return self.architecture.startswith("gfx")
