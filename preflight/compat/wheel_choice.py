"""Which wheel of torch fits a place, and the command that installs it.

Every command names the index whose wheel holds code for the device, and the release in which that
was seen: ``pip install torch`` alone may bring code for other devices only.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec
from packaging.version import InvalidVersion, Version

from preflight.compat.architectures import runs_on
from preflight.compat.assemblers import assembler_of
from preflight.compat.drivers import driver_floor, is_at_least, serves
from preflight.compat.place import Place
from preflight.compat.rocm import judge_rocm, rocm_releases
from preflight.compat.toolkits import architecture, compiles_for, minor_of
from preflight.compat.torch_builds import Release, Wheel, releases

FIRST_BLACKWELL = 100
"""From this capability on Triton calls ptxas-blackwell (Triton, backends/nvidia/compiler.py)."""


class Choice(msgspec.Struct, frozen=True, kw_only=True):
    """One wheel of one release."""

    release: Release
    wheel: Wheel

    @property
    def requirement(self) -> str:
        """``torch==2.13.0+cu126``: with the variant, so that pip replaces another one."""
        return f"torch=={self.release.newest}+{self.wheel.variant}"

    def command(self, pip: str) -> str:
        """The command that installs it."""
        return f"{pip} install {self.requirement} --index-url {self.wheel.index}"


def choices(place: Place) -> Iterator[Choice]:
    """Every wheel with code for the device, for its host, Python and glibc; drivers left aside."""
    for release in releases():
        for wheel in release.wheel:
            if (
                wheel.machine == place.machine
                and runs_on(wheel.architectures, place.architecture)
                and suits_python(release, place.python) is not False
                and suits_glibc(release, wheel, place.glibc) is not False
            ):
                yield Choice(release=release, wheel=wheel)


def best_wheel(place: Place, prefer: str | None = None) -> Choice | None:
    """The wheel to install; None where none fits the place, its driver included.

    The release ``prefer`` (``2.9``) comes first, as far as torch.compile works with it, else the
    newest one; within a release, an index that keeps the device, then what PyPI serves.
    """
    fitting = [one for one in choices(place) if suits_driver(one.wheel, place) is not False]
    return max(fitting, key=lambda one: _merit(one, place, prefer), default=None)


def install_command(place: Place, prefer: str | None = None) -> str:
    """A command that installs a torch with code for the device, and what must be done before it."""
    best = best_wheel(place, prefer)
    if best is not None:
        return best.command(place.pip)
    newer = msgspec.structs.replace(place, driver=None)
    best = best_wheel(newer, prefer)
    if best is not None:
        return f"{_driver_step(best.wheel, place)}, then: {best.command(place.pip)}"
    anywhere = msgspec.structs.replace(newer, python=None, glibc=None)
    best = best_wheel(anywhere, prefer)
    if best is not None:
        glibc = best.release.glibc_of(best.wheel)
        return (
            f"no wheel with code for {place.architecture} is made for this Python and glibc; with "
            f"Python {best.release.pythons[0]} to {_newest_python(best.release)} and glibc {glibc} "
            f"or newer: {best.command('pip')}"
        )
    return _from_source(place)


def suits_python(release: Release, python: str | None) -> bool | None:
    """Whether a release has wheels for a Python such as ``3.12.3``; None where it is not told."""
    if not python:
        return None
    threaded = "t" if python.endswith("t") else ""
    minor = ".".join(python.removesuffix("t").split(".")[:2]) + threaded
    return minor in release.pythons


def suits_glibc(release: Release, wheel: Wheel | None, glibc: str | None) -> bool | None:
    """Whether a wheel loads with a glibc such as ``2.31``; None where it is not told."""
    return is_at_least(glibc, release.glibc_of(wheel)) if glibc else None


def suits_driver(wheel: Wheel, place: Place) -> bool | None:
    """Whether the place's driver serves a wheel and knows the device; None where nobody tells."""
    if place.driver is None:
        return None
    if wheel.toolkit is not None:
        return drives(place.driver, place.architecture) and serves(place.driver, wheel.toolkit)
    finding = judge_rocm(place.architecture, wheel.rocm or "", module=place.driver)
    return {"pass": True, "warn": False}.get(finding.status)


def drives(driver: str, name: str) -> bool:
    """Whether no table says that a driver is too old or too new for NVIDIA's architecture."""
    known = architecture(name)
    if known is None:
        return True
    old = known.first_driver is not None and is_at_least(driver, known.first_driver) is False
    new = known.last_branch and is_at_least(known.last_branch, branch_of(driver)) is False
    return not (old or new)


def branch_of(driver: str) -> str:
    """``580`` of ``580.65.06``."""
    return driver.partition(".")[0]


def assembles(triton: str, name: str) -> bool | None:
    """Whether the assembler in a Triton's wheel knows an architecture; None where nobody says."""
    found = assembler_of(triton)
    if found is None:
        return None
    return compiles_for(assembler_for(name, found.ptxas, found.blackwell), name)


def assembler_for(name: str, ptxas: str, blackwell: str | None) -> str:
    """Which of Triton's two assemblers it gives code for an architecture to."""
    number = name.removeprefix("sm_")
    newer = number.isdecimal() and int(number) >= FIRST_BLACKWELL
    return blackwell if newer and blackwell else ptxas


def _merit(choice: Choice, place: Place, prefer: str | None) -> tuple[object, ...]:
    release, wheel = choice.release, choice.wheel
    compiled = assembles(release.triton[release.newest], place.architecture)
    return (
        wheel.standing != "unverified",
        _is_listed(wheel.rocm) if place.is_amd else compiled is not False,
        release.version == prefer,
        Version(release.version),
        _stays(wheel, place),
        wheel.variant == release.default.get(place.machine),
        _number(wheel.toolkit or wheel.rocm or ""),
    )


def _stays(wheel: Wheel, place: Place) -> bool:
    """Whether the newest wheel of the same index still has code for the device.

    Volta is in cu128 until 2.10 and in cu126 for good: the next update would lose it.
    """
    found = [one.wheel_of(wheel.variant, wheel.machine) for one in releases()]
    newest = [one for one in found if one is not None and one.standing != "unverified"][-1:]
    return all(runs_on(one.architectures, place.architecture) for one in newest)


def _is_listed(rocm: str | None) -> bool:
    """Whether the tables of ROCm speak of a release; its preview stream is in none of them."""
    return any(one.version == minor_of(rocm or "") for one in rocm_releases())


def _number(text: str) -> Version:
    try:
        return Version(text)
    except InvalidVersion:
        return Version("0")


def _driver_step(wheel: Wheel, place: Place) -> str:
    """What must be done to the driver before a wheel can work."""
    if place.is_amd:
        return "update the amdgpu driver of the host"
    known = architecture(place.architecture)
    if (
        known
        and known.last_branch
        and not is_at_least(known.last_branch, branch_of(place.driver or ""))
    ):
        return f"install a driver of branch {known.last_branch}, the last for {known.generation}"
    floors = [driver_floor(wheel.toolkit or ""), known.first_driver if known else None]
    newest = max((floor for floor in floors if floor), key=Version)
    return f"install driver {newest} or newer on the host"


def _newest_python(release: Release) -> str:
    return [one for one in release.pythons if not one.endswith("t")][-1]


def _from_source(place: Place) -> str:
    """What is left where no wheel of PyTorch's own has code for the device."""
    if place.is_amd:
        return (
            f"no wheel of PyTorch has code for {place.architecture}: build torch from source with "
            f"PYTORCH_ROCM_ARCH={place.architecture.partition(':')[0]}"
        )
    number = place.architecture.removeprefix("sm_")
    board = (
        "take NVIDIA's own build where it is a Jetson, or " if place.machine == "aarch64" else ""
    )
    return (
        f"no wheel of PyTorch for {place.machine} has code for {place.architecture}: {board}build "
        f"torch from source with TORCH_CUDA_ARCH_LIST={number[:-1]}.{number[-1:]}"
    )
