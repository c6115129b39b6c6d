"""Stages arch and import, and what a list of packages tells of forward, compile and system."""

from __future__ import annotations

import re
from collections.abc import Iterator

from preflight.compat.architectures import runs_on
from preflight.compat.dumps.facts import Build, Complaint, Facts, Gpu, Reading
from preflight.compat.dumps.findings import Finding
from preflight.compat.dumps.judging_machine import UNCOLLECTED
from preflight.compat.dumps.torch_targets import BuiltFor, built_for, made_of
from preflight.compat.place import Place
from preflight.compat.torch_builds import releases
from preflight.compat.wheel_choice import assembles, install_command

_LATE_PTXAS = ("sm_103", "sm_121")
_PTXAS_KNOWS_FROM = "3.6.0"
"""First Triton whose ptxas has sm_103a and sm_121a: the wheels' binaries, asked one by one."""
_FIRST_CAPABILITY: dict[str, tuple[int, str]] = {
    # extension: first compute capability (times ten) that its wheels have code for, source
    "flash-attn": (80, "flash-attention README: Ampere or newer"),
    "flashinfer": (75, "flashinfer README: 7.5 or newer"),
    "flashinfer-python": (75, "flashinfer README: 7.5 or newer"),
    "sgl-kernel": (80, "sgl-kernel: its wheels start at 8.0"),
}
_BF16_FROM = 80
"""First compute capability with bfloat16 of its own: NVIDIA, CUDA programming guide."""
_BF16_BY_DEFAULT = ("sglang", "vllm")


def judge_arch(facts: Facts, asked: Gpu | None) -> Iterator[Finding]:
    """Whether each torch has code for each card, by its warnings and by what is published."""
    for complaint in facts.complaints:
        yield from _of_complaint(complaint, facts)
    for build in facts.builds:
        made = made_of(build)
        gpus = build.gpus or facts.gpus or ((asked,) if asked else ())
        if made.kind in ("cuda", "rocm"):
            yield from _of_gpus(build, made, gpus, facts)
    if facts.packages and not any(build.torch for build in facts.builds):
        yield from _of_packages(facts, asked)


def _value(reading: Reading | None) -> str:
    return reading.value if reading else ""


def _of_complaint(complaint: Complaint, facts: Facts) -> Iterator[Finding]:
    name, arch, listed = complaint.name, complaint.architecture, " ".join(complaint.built_for)
    if complaint.built_for and runs_on(complaint.built_for, arch):
        yield Finding(
            stage="arch",
            status="pass",
            reason=f"a false alarm of torch: {arch} runs the code for another minor of its major "
            f"that is in the list ({listed})",
            lines=complaint.lines,
        )
        yield from _assembler(arch, complaint.lines, facts, is_doubted=True)
    elif complaint.built_for or arch not in (*_LATE_PTXAS, "sm_89", "sm_87"):
        told = f" ({listed})" if listed else ""
        build = facts.builds[0] if facts.builds else None
        reason = f"torch has no code for {name}, {arch}{told}"
        yield from _no_code(reason, arch, complaint.lines, build)


def _no_code(
    reason: str, arch: str, lines: tuple[int, ...], build: Build | None
) -> Iterator[Finding]:
    action = install_command(place_of(arch, build))
    yield Finding(stage="arch", status="fail", reason=reason, action=action, lines=lines)
    yield Finding(
        stage="kernel",
        status="fail",
        reason="no kernel can start without code for the card, though is_available() says True",
        action=action,
        lines=lines,
        follows=True,
    )


def place_of(arch: str, build: Build | None) -> Place:
    """What a dump tells of the place where torch is to run."""
    if build is None:
        return Place(architecture=arch)
    platform, driver = _value(build.platform), _value(build.driver)
    glibc = re.search(r"glibc(\d+\.\d+)", platform)
    return Place(
        architecture=arch,
        machine="aarch64" if "aarch64" in platform + _value(build.os) else "x86_64",
        driver=driver if driver[:1].isdigit() else None,
        glibc=glibc[1] if glibc else None,
    )


def _of_gpus(
    build: Build, made: BuiltFor, gpus: tuple[Gpu, ...], facts: Facts
) -> Iterator[Finding]:
    seen: set[str] = set()
    for gpu in gpus:
        arch = gpu.architecture
        if arch is None or arch in seen:
            continue
        seen.add(arch)
        lines = tuple(sorted({r.line for r in (build.torch, build.cuda) if r} | {gpu.line} - {0}))
        targets = (*made.targets, *_device_packages(facts))
        text = _value(build.torch) or f"for CUDA {made.toolkit}"
        if runs_on(targets, arch):
            yield Finding(
                stage="arch",
                status="pass",
                reason=f"torch {text} has code for {gpu.name}, {arch} ({' '.join(targets)})",
                lines=lines,
            )
        elif made.targets and not runs_on(made.doubtful, arch):
            yield from _no_code(
                f"torch {text} has no code for {gpu.name}, {arch} ({' '.join(targets)})",
                arch,
                lines,
                build,
            )


def _device_packages(facts: Facts) -> tuple[str, ...]:
    """Targets of AMD's split packaging: ``amd-torch-device-gfx90a``."""
    sign = "amd-torch-device-"
    return tuple(name.removeprefix(sign) for name in facts.packages if name.startswith(sign))


def _of_packages(facts: Facts, asked: Gpu | None) -> Iterator[Finding]:
    """A list of packages alone: the torch in it, or AMD's packages of code, and the asked card."""
    targets, torch = _device_packages(facts), facts.packages.get("torch")
    if asked is None or asked.architecture is None:
        return
    if targets and runs_on(targets, asked.architecture):
        name = f"amd-torch-device-{asked.architecture}"
        yield Finding(
            stage="arch",
            status="pass",
            reason=f"{name} holds torch's code for {asked.name}",
            lines=(facts.packages[name].line,) if name in facts.packages else (),
        )
    elif torch is not None:
        build = Build(torch=torch)
        made = built_for(torch.value, None, None)
        if made.kind in ("cuda", "rocm"):
            yield from _of_gpus(build, made, (asked,), facts)


def judge_compile(facts: Facts) -> Iterator[Finding]:
    """Whether the assembler of the Triton that is listed knows the cards."""
    seen: set[str] = set()
    for gpu in [gpu for build in facts.builds for gpu in build.gpus] + list(facts.gpus):
        if gpu.architecture and gpu.architecture not in seen:
            seen.add(gpu.architecture)
            yield from _assembler(gpu.architecture, (gpu.line,), facts)


def _assembler(
    arch: str, lines: tuple[int, ...], facts: Facts, *, is_doubted: bool = False
) -> Iterator[Finding]:
    """``is_doubted`` where torch itself complains of the card, and no Triton is listed."""
    triton = facts.packages.get("triton") or facts.packages.get("pytorch-triton")
    if not arch.startswith("sm_"):
        return
    if triton is None:
        knows = False if is_doubted and arch in _LATE_PTXAS else None
        name = f"Triton before {_PTXAS_KNOWS_FROM}"
    else:
        knows = assembles(triton.value.partition("+")[0], arch)
        name, lines = f"Triton {triton.value}", (*lines, triton.line)
    if knows is False:
        yield Finding(
            stage="compile",
            status="warn",
            reason=f"{name} brings an assembler (ptxas) that does not know {arch}: torch.compile "
            "may fail where eager torch works",
            action="install a newer torch with its own Triton; until then TRITON_PTXAS_PATH (from "
            "Triton 3.6 on TRITON_PTXAS_BLACKWELL_PATH) of a toolkit that knows the card",
            lines=lines,
        )


def judge_import(facts: Facts) -> Iterator[Finding]:
    """A build without code for cards, and extensions whose wheels start above the card."""
    for build in facts.builds:
        if build.torch is None:
            continue
        if build.torch.value.lower() in UNCOLLECTED:
            yield Finding(
                stage="import",
                status="unknown",
                reason="this dump is from a Python without torch: it says nothing about yours",
                action="run it again with the interpreter that has torch: "
                "/path/of/venv/bin/python -m torch.utils.collect_env",
                lines=(build.torch.line,),
            )
        elif made_of(build).kind == "cpu" and not _is_mac(build):
            yield _cpu_build(build, facts)
    yield from _extensions(facts)


def _is_mac(build: Build) -> bool:
    return "macos" in f"{_value(build.os)} {_value(build.platform)}".lower()


def _cpu_build(build: Build, facts: Facts) -> Finding:
    gpus = build.gpus or facts.gpus
    seen = f", and {gpus[0].name} is here" if gpus else ""
    fields = (build.torch, build.cuda, build.hip)
    return Finding(
        stage="import",
        status="fail",
        reason=f"torch {_value(build.torch)} is a CPU build: neither CUDA nor ROCm is in it{seen}",
        action="pip install torch --index-url https://download.pytorch.org/whl/cu128 (or the rocm "
        "index): the default index gives a CPU build on Windows and, before torch 2.11, on "
        "aarch64; distributions build their own without",
        lines=tuple(one.line for one in fields if one is not None),
    )


def _lowest(facts: Facts) -> tuple[int, tuple[int, ...]] | None:
    """The lowest compute capability, times ten, among the cards, and its lines."""
    found: list[tuple[int, int]] = []
    for gpu in [gpu for build in facts.builds for gpu in build.gpus] + list(facts.gpus):
        if gpu.architecture and gpu.architecture.startswith("sm_"):
            found.append((int(gpu.architecture[3:]), gpu.line))
    return (min(found)[0], (min(found)[1],)) if found else None


def _extensions(facts: Facts) -> Iterator[Finding]:
    lowest = _lowest(facts)
    if lowest is None:
        return
    capability, lines = lowest
    for name, (first, source) in _FIRST_CAPABILITY.items():
        package = facts.packages.get(name)
        if package is not None and capability < first:
            yield Finding(
                stage="import",
                status="warn",
                reason=f"{name} {package.value} has no code below {first / 10:.1f}, and the card "
                f"has {capability / 10:.1f} ({source})",
                action=f"do without {name} (another backend of attention), or build it for the "
                "card; preflight audit reads the code in it",
                lines=(*lines, package.line),
            )
    server = next((n for n in _BF16_BY_DEFAULT if n in facts.packages), None)
    if server is not None and capability < _BF16_FROM:
        yield Finding(
            stage="forward",
            status="warn",
            reason=f"the card has no bfloat16 of its own, which {server} takes by default for most "
            "models",
            action="--dtype half (float16)",
            lines=(*lines, facts.packages[server].line),
        )


def judge_capability(facts: Facts) -> Iterator[Finding]:
    """A framework's line with capability and CUDA alone, as bitsandbytes prints it."""
    toolkit = next((b.cuda for b in facts.builds if b.torch is None and b.cuda), None)
    if facts.capability is None or toolkit is None:
        return
    wheels = [one for release in releases() for one in release.wheel]
    wheels = [one for one in wheels if one.toolkit == toolkit.value and one.machine == "x86_64"]
    arch = facts.capability.value
    if wheels and all(runs_on(one.architectures, arch) for one in wheels):
        yield Finding(
            stage="arch",
            status="pass",
            reason=f"every torch for CUDA {toolkit.value} has code for {facts.capability.value}",
            lines=(facts.capability.line,),
        )
