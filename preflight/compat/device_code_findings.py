"""What is to be said of the device code of an environment."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from preflight.compat.audit import Finding, Gpu
from preflight.compat.cards import few
from preflight.compat.coverage import Coverage, best, cover
from preflight.compat.installed import NO_DISTRIBUTION, Distribution, Installed, Library
from preflight.compat.package_coverage import (
    CODE_OBJECTS,
    for_gpu,
    in_order,
    judged,
    package_word,
    with_code,
)
from preflight.compat.place import Place
from preflight.compat.ptx import SOURCE as PTX_SOURCE
from preflight.compat.ptx import newest, ptx_driver
from preflight.compat.vendor_libraries import normal_name
from preflight.compat.wheel_choice import install_command
from preflight.facts import known

NEEDED = re.compile(r"(lib)?torch_(cuda|hip)\.(so|dll)")
"""Libraries whose every kernel can be called: those of torch itself."""
SOURCES = {
    "cuda": "CUDA programming guide, Binary compatibility and Family-specific features",
    "hip": "LLVM, user guide for the AMDGPU backend, Target ID",
}
_MOST_TARGETS = 8


def device_code_findings(
    installed: Installed, gpus: tuple[Gpu, ...], driver: str | None
) -> Iterator[Finding]:
    """Packages without code, or with code in part, for a GPU that was asked for or is here."""
    for gpu in gpus:
        case = _Case(installed=installed, gpu=gpu, driver=driver)
        for distribution in installed.distributions:
            if _is_torch(distribution):
                yield from _of_torch(case, distribution)
            yield from _of_package(case, distribution)


@dataclass(frozen=True, kw_only=True)
class _Case:
    """One GPU and the environment that is to run on it."""

    installed: Installed
    gpu: Gpu
    driver: str | None

    def cover(self, library: Library) -> Coverage:
        return cover(library.device, self.gpu.architecture, self.driver)

    def groups(self, distribution: Distribution) -> tuple[tuple[Library, ...], ...]:
        """Libraries of which one each is loaded, for this GPU's vendor."""
        return for_gpu(judged(distribution), self.gpu, self.installed.torch)

    def fittest(self, group: tuple[Library, ...]) -> Library:
        """The library of a group that runs best."""
        words = [self.cover(library).word for library in group]
        return group[words.index(best(words))]


def _of_torch(case: _Case, distribution: Distribution) -> Iterator[Finding]:
    """A torch for the CPU: it says so, and holds no device code."""
    torch = case.installed.torch
    if torch is None or torch.cuda or torch.hip or with_code(distribution.libraries):
        return
    yield Finding(
        status="fail",
        package=distribution.name,
        gpu=case.gpu.name,
        reason="it is built without CUDA and without ROCm: it uses no GPU",
        action=_torch_command(case),
        source="torch/version.py",
    )


def _of_package(case: _Case, distribution: Distribution) -> Iterator[Finding]:
    libraries = judged(distribution)
    word = package_word(libraries, case.gpu, case.installed.torch, case.driver)
    if word == "none":
        return
    if word == "no":
        yield _no(case, distribution, libraries)
        return
    for group in case.groups(distribution):
        library = case.fittest(group)
        found = case.cover(library)
        if found.num_running < found.num_fatbins:
            yield _partly(case, distribution, library, found)
        elif len(group) > 1 and not library.path.endswith(CODE_OBJECTS):
            yield from _depends(case, distribution, group)
        yield from _through_ptx(case, distribution, library, found)


def _no(case: _Case, distribution: Distribution, libraries: tuple[Library, ...]) -> Finding:
    gpu = case.gpu
    mine = [library for library in libraries if library.device.kind == gpu.kind]
    if not mine:
        other = "AMD" if gpu.kind == "cuda" else "NVIDIA"
        what = f"all its device code is for GPUs of {other}"
    else:
        targets = frozenset().union(*(library.device.in_some for library in mine))
        what = f"none of its device code runs on {gpu.architecture}: it has {_listed(targets)}"
    # Files that nobody has recorded are no package that somebody means to use.
    return Finding(
        status="warn" if distribution.name == NO_DISTRIBUTION else "fail",
        package=distribution.name,
        file=mine[0].path if len(mine) == 1 else "",
        gpu=gpu.name,
        reason=what,
        action=_install(case, distribution),
        source=SOURCES[gpu.kind],
    )


def _partly(case: _Case, distribution: Distribution, library: Library, found: Coverage) -> Finding:
    is_needed = NEEDED.fullmatch(library.path.rpartition("/")[2]) is not None
    action = f"run what you need of it on {case.gpu.name} before you rely on it"
    if is_needed:
        action = _install(case, distribution)
    elif not _is_torch(distribution):  # another torch may lack the same special kernels
        action += f", or {_install(case, distribution)}"
    return Finding(
        status="fail" if is_needed else "warn",
        package=distribution.name,
        file=library.path,
        gpu=case.gpu.name,
        reason=_missing_part(library, found, case.gpu),
        action=action,
        source=SOURCES[case.gpu.kind],
    )


def _missing_part(library: Library, found: Coverage, gpu: Gpu) -> str:
    device = library.device
    if not found.num_running:
        return f"it has no code for {gpu.architecture}: it has {_listed(device.in_some)}"
    lacking = found.num_fatbins - found.num_running
    what = "fat binaries" if device.kind == "cuda" else "bundles"
    verb = "has" if lacking == 1 else "have"
    return f"{lacking} of its {found.num_fatbins} {what} {verb} no code for {gpu.architecture}"


def _depends(
    case: _Case, distribution: Distribution, group: tuple[Library, ...]
) -> Iterator[Finding]:
    """Siblings for several CUDAs that do not all run, where no torch says which is loaded."""
    gpu = case.gpu
    lacking = [one.path.rpartition("/")[2] for one in group if case.cover(one).word != "yes"]
    if not lacking:
        return
    maker = "CUDA" if gpu.kind == "cuda" else "ROCm"
    since = f", {maker} {gpu.first_toolkit} or newer" if gpu.first_toolkit else ""
    yield Finding(
        status="warn",
        package=distribution.name,
        gpu=gpu.name,
        reason=f"torch's {maker} decides which of its {len(group)} libraries is loaded, and these "
        f"have no code, or not all, for {gpu.architecture}: {few(lacking)}",
        action=f"take a torch for which one of the others is meant{since}",
        source=SOURCES[gpu.kind],
    )


def _through_ptx(
    case: _Case, distribution: Distribution, library: Library, found: Coverage
) -> Iterator[Finding]:
    """A condition, where nobody has said which driver there is; with one it is known to hold."""
    isa = newest(library.device.isas)
    if not found.num_through_ptx or isa is None:
        return
    floor = ptx_driver(isa)
    needs = f"driver {floor} or newer" if floor else "a driver that knows it"
    yield Finding(
        status="warn",
        package=distribution.name,
        file=library.path,
        gpu=case.gpu.name,
        reason=f"{_how_many(found)} on {case.gpu.architecture} through PTX {isa} alone, which the "
        "driver compiles at first use",
        action=f"it takes {needs} and minutes at the first start"
        + ("" if case.driver else "; say which driver you will have with --driver"),
        source=PTX_SOURCE,
    )


def _how_many(found: Coverage) -> str:
    if found.num_through_ptx == found.num_fatbins:
        return "it runs"
    verb = "runs" if found.num_through_ptx == 1 else "run"
    return f"{found.num_through_ptx} of its {found.num_fatbins} fat binaries {verb}"


def _install(case: _Case, distribution: Distribution) -> str:
    gpu = case.gpu
    if _is_torch(distribution):
        return _torch_command(case)
    if distribution.name == NO_DISTRIBUTION:
        return f"build it for {gpu.architecture}, or remove it"
    return f"install a {distribution.name} built for {gpu.architecture}, or build it with " + (
        f"PYTORCH_ROCM_ARCH={gpu.architecture}"
        if gpu.kind == "hip"
        else f"TORCH_CUDA_ARCH_LIST={capability(gpu.architecture)}"
    )


def _torch_command(case: _Case) -> str:
    """The command that installs a torch with code for the GPU."""
    installed, gpu = case.installed, case.gpu
    return install_command(
        Place(
            architecture=gpu.architecture,
            machine=installed.machine,
            driver=case.driver if gpu.kind == "cuda" else None,
            data_center=gpu.takes_compat_packages,
            python=installed.python,
            glibc=known(installed.glibc),
            pip=installed.pip,
        )
    )


def _is_torch(distribution: Distribution) -> bool:
    return normal_name(distribution.name) == "torch"


def capability(architecture: str) -> str:
    """``10.0`` of ``sm_100``."""
    digits = architecture.partition("_")[2]
    return f"{digits[:-1]}.{digits[-1:]}"


def _listed(targets: frozenset[str]) -> str:
    found = in_order(targets)
    rest = len(found) - _MOST_TARGETS
    return " ".join(found[:_MOST_TARGETS]) + (f" and {rest} more" if rest > 0 else "")
