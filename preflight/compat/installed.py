"""What stands in an environment, as values: distributions, their libraries, what a loader finds."""

from __future__ import annotations

from collections import Counter

import msgspec

from preflight.compat.device_code import DeviceLibrary
from preflight.compat.dynamic import Dynamic
from preflight.facts import NOT_ASKED, Absence, Text

NO_DISTRIBUTION = "(no distribution)"
"""Stands for the name of what no distribution has recorded."""


class Conflict(msgspec.Struct, frozen=True, kw_only=True):
    """A library that the loader takes from elsewhere, though the environment has its own."""

    soname: str
    taken: str
    """Path of what the loader takes."""
    own: str
    """Path in the environment."""
    because: str
    """``LD_LIBRARY_PATH``, ``RPATH`` or ``RUNPATH``."""


class Library(msgspec.Struct, frozen=True, kw_only=True):
    """A shared library, a code object, or what has the name of one."""

    path: str
    """Below the folder of the environment, or inside the wheel."""
    device: DeviceLibrary = DeviceLibrary(kind="none")
    dynamic: Dynamic | None = None
    machine: str | None = None
    """Processor of the host that it is built for, ``x86_64``; None for others than that and
    ``aarch64``."""
    num_bytes: int = 0
    recorded_bytes: int | None = None
    """Its size in the RECORD of the distribution; None where none is recorded."""
    missing: tuple[str, ...] = ()
    """DT_NEEDED that nothing here provides."""
    unresolved: tuple[str, ...] = ()
    """Symbols of torch that no library here defines."""
    conflicts: tuple[Conflict, ...] = ()
    absence: Absence | None = None
    """Why it could not be looked at; then nothing else is known of it."""


class Shadow(msgspec.Struct, frozen=True, kw_only=True):
    """A module that Python finds before the one of a distribution."""

    module: str
    path: str
    place: str
    """``the working folder``, ``PYTHONPATH``, ``the user site``, ``another site``."""
    taken: str = ""
    """The distribution it belongs to, with its version; empty where it belongs to none."""
    hidden: str
    """Name of the distribution that is not found."""
    hidden_version: str


class Distribution(msgspec.Struct, frozen=True, kw_only=True):
    """An installed distribution, or a wheel."""

    name: str
    """As its metadata spell it: ``nvidia-cublas-cu12``."""
    version: str = ""
    libraries: tuple[Library, ...] = ()


class Torch(msgspec.Struct, frozen=True, kw_only=True):
    """What ``torch/version.py`` says."""

    version: str
    cuda: str | None = None
    """``13.0``; None for a build without."""
    hip: str | None = None


class Copies(msgspec.Struct, frozen=True, kw_only=True):
    """One library several times."""

    family: str
    """``libcublas``."""
    places: tuple[str, ...]
    """Paths, each with its distribution."""
    sonames: tuple[str, ...]


class DoublyOwned(msgspec.Struct, frozen=True, kw_only=True):
    """Files that two distributions have written to the same place: the later one is there."""

    distributions: tuple[str, ...]
    """Each with its version."""
    files: tuple[str, ...]


class Installed(msgspec.Struct, frozen=True, kw_only=True):
    """One environment, image or set of wheels."""

    subject: str
    """The interpreter, folder or wheels as the user named them."""
    is_complete: bool = True
    """False for wheels: what they lack may come with others."""
    python: str | None = None
    """``3.11``."""
    pip: str = "pip"
    """How its pip is called: ``/opt/venv/bin/python -m pip``."""
    distributions: tuple[Distribution, ...] = ()
    """Those that are asked for."""
    names: tuple[str, ...] = ()
    """Of all that are there."""
    torch: Torch | None = None
    glibc: Text = NOT_ASKED
    """Newest version of symbols that the C library of this machine or image has: ``2.36``."""
    copies: tuple[Copies, ...] = ()
    doubly_owned: tuple[DoublyOwned, ...] = ()
    shadows: tuple[Shadow, ...] = ()

    @property
    def machine(self) -> str:
        """Processor of the host: what most of the libraries are built for, else ``x86_64``."""
        found = Counter(
            library.machine
            for distribution in self.distributions
            for library in distribution.libraries
            if library.machine
        )
        return found.most_common(1)[0][0] if found else "x86_64"
