"""Will this torch run on that device: one rule a question, facts in, a finding out.

Each rule answers for one device, one host and one interpreter (``Place``), and names the command
that helps. What no table tells is ``unknown``: a torch newer than the tables is no failure.
"""

from __future__ import annotations

from collections.abc import Iterable

from preflight.compat.architectures import runs_on
from preflight.compat.builds import Build
from preflight.compat.drivers import driver_floor, floor_source, is_at_least, serves
from preflight.compat.finding import Finding
from preflight.compat.place import Place
from preflight.compat.toolkits import architecture, packages, toolkit
from preflight.compat.wheel_choice import (
    branch_of,
    drives,
    install_command,
    suits_glibc,
    suits_python,
)

BINARY = 'NVIDIA, CUDA programming guide, "Binary compatibility"; LLVM, AMDGPU, "Target ID"'
PTX = "NVIDIA, CUDA Compatibility: PTX of a newer toolkit than the driver's is error 222"
ORIN_FROM = "13.2"
"""From this toolkit on torch itself counts code for 8.0 as code for 8.7 (torch 2.15.0,
torch/cuda/__init__.py), which NVIDIA's rule for earlier ones forbids."""


def judge_build(build: Build, place: Place) -> Finding:
    """Whether a build that is known by its version alone has code for the device."""
    prefer = build.release.version if build.release else None
    if build.maker == "release" and build.variant in ("cpu", "xpu"):
        return Finding(
            status="fail",
            reason=f"torch {build.text} is a build without code for GPUs of NVIDIA or AMD",
            action=install_command(place, prefer),
        )
    wheel = build.wheel
    if wheel is None:
        return Finding(
            status="unknown",
            reason=f"what torch {build.text} holds code for is in no table; itself it says so: "
            'python -c "import torch; print(torch.cuda.get_arch_list())"',
        )
    found = judge_architecture(
        wheel.architectures, place, toolkit=wheel.toolkit, prefer=prefer, source=wheel.source
    )
    if found.status == "fail" and runs_on(wheel.doubtful, place.architecture):
        return Finding(
            status="unknown",
            reason=f"whether torch {build.text} holds code for {place.architecture} is not sure",
            action=found.action,
            source=wheel.source,
        )
    return found


def judge_architecture(
    built_for: Iterable[str],
    place: Place,
    *,
    toolkit: str | None = None,
    prefer: str | None = None,
    source: str = BINARY,
) -> Finding:
    """Whether the code in a build runs on the device.

    ``built_for`` is what ``torch.cuda.get_arch_list()`` says, ``toolkit`` the CUDA that the build
    was made with, ``prefer`` the release to stay with if another build is to be installed.
    """
    targets, name = tuple(built_for), place.architecture
    listed = " ".join(targets) or "nothing"
    native = [one for one in targets if not one.startswith("compute_")]
    if runs_on(native, name):
        served = "" if name in native else f"{name} runs code for {_serving(native, name)}: "
        return Finding(status="pass", reason=f"{served}{name} in {listed}", source=source)
    if name == "sm_87" and toolkit and is_at_least(toolkit, ORIN_FROM) and runs_on(native, "sm_86"):
        return Finding(
            status="unknown",
            reason=f"whether code for {_serving(native, 'sm_86')} of CUDA {toolkit} runs on {name}",
            source="torch 2.15.0, torch/cuda/__init__.py",
        )
    if runs_on(targets, name):
        return _judge_ptx(_serving(targets, name), place, toolkit, prefer)
    return Finding(
        status="fail",
        reason=f"code for {name} is not in {listed}",
        action=install_command(place, prefer),
        source=source,
    )


def _serving(targets: Iterable[str], name: str) -> str:
    """The target that serves a device, the last where several do: the nearest to it."""
    return [target for target in targets if runs_on([target], name)][-1]


def _judge_ptx(target: str, place: Place, toolkit: str | None, prefer: str | None) -> Finding:
    """PTX alone serves a device: the driver must be as new as the toolkit that wrote it."""
    newer = (
        is_at_least(place.driver_cuda, toolkit)
        if place.driver_cuda and toolkit is not None
        else None
    )
    if newer is None:
        return Finding(
            status="unknown",
            reason=f"only PTX ({target}) serves {place.architecture}, and whether the driver can "
            "compile it is not told",
            source=PTX,
        )
    if newer:
        return Finding(
            status="warn",
            reason=f"only PTX ({target}) serves {place.architecture}: the driver compiles every "
            "kernel at its first use, which takes minutes",
            action=install_command(place, prefer),
            source=PTX,
        )
    return Finding(
        status="fail",
        reason=f"only PTX ({target}) of CUDA {toolkit} serves {place.architecture}, and the driver "
        f"speaks CUDA {place.driver_cuda}: it cannot compile it",
        action=install_command(place, prefer),
        source=PTX,
    )


def judge_driver(place: Place, cuda: str, *, package: str | None = None) -> Finding:
    """Whether NVIDIA's driver serves a CUDA such as ``12.8``, and the device.

    ``package`` is the CUDA of an installed forward compatibility package (cuda-compat-12-8 is
    ``12.8``), None where there is none.
    """
    driver, floor = place.driver, driver_floor(cuda)
    if driver is None or floor is None or serves(driver, cuda) is None:
        return Finding(status="unknown", reason=f"no floor is known for CUDA {cuda} and {driver}")
    known = architecture(place.architecture)
    if known is not None and not drives(driver, place.architecture):
        old = known.first_driver is not None and not is_at_least(driver, known.first_driver)
        needed = f"{known.first_driver} or newer" if old else f"of branch {known.last_branch}"
        return Finding(
            status="fail" if not ("first_driver" in known.unverified and old) else "warn",
            reason=f"driver {driver} does not know {place.architecture} ({known.generation}), "
            f"which needs a driver {needed}",
            action=f"install a driver {needed} on the host: no container brings one",
            source=known.source,
        )
    if serves(driver, cuda):
        return _minor(driver, cuda)
    return _older(place, cuda, floor, package)


def _minor(driver: str, cuda: str) -> Finding:
    """A driver from the floor on serves; below the toolkit's own driver with limits."""
    own = toolkit(cuda)
    limits = ""
    if own is not None and is_at_least(driver, own.driver) is False:
        limits = f", by minor version compatibility: PTX of CUDA {cuda} needs {own.driver}"
    return Finding(
        status="pass",
        reason=f"driver {driver} serves CUDA {cuda}{limits}",
        source=floor_source(cuda),
    )


def _older(place: Place, cuda: str, floor: str, package: str | None) -> Finding:
    """A driver below the floor: only a compatibility package can serve."""
    below = f"driver {place.driver} is older than {floor}, the floor of CUDA {cuda}"
    action = f"install driver {floor} or newer on the host, or: {install_command(place)}"
    source = floor_source(cuda)
    if package is None or place.data_center is False:
        why = (
            "" if package is None else ", and this card allows no compatibility package (error 804)"
        )
        return Finding(status="fail", reason=f"{below}{why}", action=action, source=source)
    if is_at_least(package, cuda) is False and package.partition(".")[0] != cuda.partition(".")[0]:
        why = f", and the compatibility package is of CUDA {package}"
        return Finding(status="fail", reason=f"{below}{why}", action=action, source=source)
    listed = next((one for one in packages() if one.cuda == package), None)
    if listed is not None and branch_of(place.driver or "") in listed.bases and place.data_center:
        reason = f"{below}; the compatibility package of CUDA {package} serves it"
        return Finding(status="pass", reason=reason, source=listed.source)
    return Finding(
        status="warn",
        reason=f"{below}; the compatibility package of CUDA {package} may serve it: torch has the "
        "last word",
        action='python -c "import torch; torch.cuda.init()", and where that fails: ' + action,
        source=listed.source if listed else source,
    )


def judge_python_and_glibc(build: Build, place: Place) -> Finding:
    """Whether a release has wheels for the interpreter and the C library of the place."""
    release = build.release
    if not build.is_known or release is None:
        return Finding(status="unknown", reason=f"what torch {build.text} needs is in no table")
    python = suits_python(release, place.python)
    glibc = suits_glibc(release, build.wheel, place.glibc)
    needs = (
        f"Python {', '.join(release.pythons)} and glibc {release.glibc_of(build.wheel)} or newer"
    )
    if python is False or glibc is False:
        found = f"Python {place.python}" if python is False else f"glibc {place.glibc}"
        return Finding(
            status="fail",
            reason=f"torch {release.version} has no wheel for {found}: it needs {needs}",
            action=install_command(place),
            source=release.source,
        )
    if python is None and glibc is None:
        return Finding(status="unknown", reason=f"torch {release.version} needs {needs}")
    return Finding(
        status="pass", reason=f"torch {release.version} has a wheel", source=release.source
    )
