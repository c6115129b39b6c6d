"""Stages arch and import, and what a list of packages tells of forward, compile and system."""

from __future__ import annotations

import re
from collections.abc import Iterator

from preflight.compat.architectures import runs_on
from preflight.compat.drivers import is_at_least
from preflight.compat.dumps.facts import Build, Complaint, Facts, Gpu, Reading
from preflight.compat.dumps.findings import Finding
from preflight.compat.dumps.judging_machine import UNCOLLECTED
from preflight.compat.dumps.torch_targets import BuiltFor, built_for, made_of

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
        yield from _late_ptxas(arch, complaint.lines, facts)
    elif complaint.built_for or arch not in (*_LATE_PTXAS, "sm_89", "sm_87"):
        told = f" ({listed})" if listed else ""
        yield from _no_code(f"torch has no code for {name}, {arch}{told}", arch, complaint.lines)


def _no_code(reason: str, arch: str, lines: tuple[int, ...]) -> Iterator[Finding]:
    yield Finding(stage="arch", status="fail", reason=reason, action=remedy(arch), lines=lines)
    yield Finding(
        stage="kernel",
        status="fail",
        reason="no kernel can start without code for the card, though is_available() says True",
        action=remedy(arch),
        lines=lines,
        follows=True,
    )


def remedy(arch: str) -> str:
    """The builds that have code for an architecture; the hint in torch's own warning may be old."""
    url = "pip install torch --index-url https://download.pytorch.org/whl/"
    if arch.startswith("gfx"):
        return (
            f"install a torch whose torch.cuda.get_arch_list() has {arch}: a newer rocm index, or "
            "AMD's own wheels; HSA_OVERRIDE_GFX_VERSION of a near kin is a stop-gap"
        )
    number = int(re.sub(r"\D", "", arch) or 0)
    if number >= 100:
        return f"{url}cu128 (torch 2.7 or newer), or cu130 (torch 2.9 or newer)"
    if number >= 75:
        return f"{url}cu126, cu128 or cu130"
    if number >= 50:
        return f"{url}cu126 (up to torch 2.14): builds for CUDA 12.8 and 13 have dropped {arch}"
    return f"{url}cu118 (up to torch 2.7), or build torch for {arch} yourself"


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


def _late_ptxas(arch: str, lines: tuple[int, ...], facts: Facts) -> Iterator[Finding]:
    triton = facts.packages.get("triton") or facts.packages.get("pytorch-triton")
    if arch not in _LATE_PTXAS or (triton and is_at_least(triton.value, _PTXAS_KNOWS_FROM)):
        return
    yield Finding(
        stage="compile",
        status="warn",
        reason=f"Triton before {_PTXAS_KNOWS_FROM} brings a ptxas that does not know {arch}a",
        action="torch 2.10 or newer, or TRITON_PTXAS_PATH=/usr/local/cuda/bin/ptxas of CUDA 12.9 "
        "or newer",
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
    made = built_for("2.7.0", toolkit.value, None)
    if runs_on(made.targets, facts.capability.value):
        yield Finding(
            stage="arch",
            status="pass",
            reason=f"every torch for CUDA {toolkit.value} has code for {facts.capability.value}",
            lines=(facts.capability.line,),
        )
