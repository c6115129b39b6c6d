"""What a list of packages tells: parts of two CUDAs, two Tritons, releases that do not match."""

from __future__ import annotations

import re
from collections.abc import Iterator

from preflight.compat.dumps.facts import Facts, Reading
from preflight.compat.dumps.findings import Finding

_OVERWRITING = ("nvidia-cudnn", "nvidia-nccl", "nvidia-cusparselt", "nvidia-nvshmem")
"""Wheels of CUDA 12 and 13 that unpack into the same folder below site-packages/nvidia."""
_TRITONS = ("triton", "pytorch-triton", "pytorch-triton-rocm", "triton-rocm", "pytorch-triton-xpu")


def judge_packages(facts: Facts) -> Iterator[Finding]:
    """Packages that should not stand in one environment."""
    packages = facts.packages
    yield from _two_tritons(packages)
    yield from _two_cudas(packages)
    yield from _cuda_beside_rocm(facts)
    yield from _releases(packages)
    yield from _other_toolkit(facts)


def _warn(reason: str, action: str, *readings: Reading, stage: str = "system") -> Finding:
    lines = tuple(sorted({one.line for one in readings}))
    return Finding(stage=stage, status="warn", reason=reason, action=action, lines=lines)


def _two_tritons(packages: dict[str, Reading]) -> Iterator[Finding]:
    found = [name for name in _TRITONS if name in packages]
    if len(found) > 1:
        words = " and ".join(f"{name} {packages[name].value}" for name in found)
        yield _warn(
            f"two Tritons are installed into one folder: {words}",
            f"pip uninstall {' '.join(found)}, then install the one that this torch asks for",
            *(packages[name] for name in found),
        )


def _two_cudas(packages: dict[str, Reading]) -> Iterator[Finding]:
    pairs: list[tuple[str, str]] = []
    for name in packages:
        if name.startswith("nvidia-") and name.endswith("-cu12"):
            stem = name.removesuffix("-cu12")
            pairs += [(name, other) for other in (f"{stem}-cu13", stem) if other in packages]
    if not pairs:
        return
    readings = [packages[name] for pair in pairs for name in pair]
    yield _warn(
        f"libraries of CUDA 12 and of CUDA 13 are installed side by side: {len(pairs)} pairs, such "
        f"as {' and '.join(pairs[0])}",
        "make a fresh environment, or pip uninstall the nvidia-*-cu12 (or the CUDA 13) ones that "
        "this torch does not ask for",
        *readings[:8],
    )
    for first, second in pairs:
        if first.removesuffix("-cu12") == "nvidia-cudnn":
            yield _warn(
                f"{first} {packages[first].value} and {second} {packages[second].value} unpack "
                "into the same folder: the first convolution may load parts of both",
                "python -c \"import torch; torch.nn.Conv2d(3, 8, 3, device='cuda')(torch.rand(1, "
                "3, 32, 32, device='cuda'))\" tells; then reinstall torch's own cuDNN alone",
                packages[first],
                packages[second],
                stage="forward",
            )


def _cuda_beside_rocm(facts: Facts) -> Iterator[Finding]:
    packages = facts.packages
    torch = packages.get("torch")
    is_rocm = (torch is not None and "+rocm" in torch.value) or any(
        name.startswith(("pytorch-triton-rocm", "triton-rocm")) for name in packages
    )
    foreign = [
        name
        for name in packages
        if re.fullmatch(r"nvidia-(?!ml-py|htop)[\w-]+", name) or name == "onnxruntime-gpu"
    ]
    if is_rocm and foreign:
        yield _warn(
            f"NVIDIA's packages stand in a ROCm environment: {', '.join(foreign[:4])}",
            "make a fresh environment from the rocm index: something asked for the CUDA build",
            *(packages[name] for name in foreign[:4]),
        )


def _releases(packages: dict[str, Reading]) -> Iterator[Finding]:
    """torchvision 0.(n + 15) belongs to torch 2.n, torchaudio has torch's own number."""
    torch = _release(packages.get("torch"))
    vision, audio = packages.get("torchvision"), packages.get("torchaudio")
    if torch is None or torch[0] != 2:
        return
    number = _release(vision)
    if vision is not None and number is not None and number != (0, torch[1] + 15):
        yield _mismatch("torchvision", vision, packages["torch"])
    number = _release(audio)
    if audio is not None and number is not None and torch[1] <= 8 and number != torch:
        yield _mismatch("torchaudio", audio, packages["torch"])


def _release(reading: Reading | None) -> tuple[int, int] | None:
    found = re.match(r"(\d+)\.(\d+)", reading.value) if reading else None
    return (int(found[1]), int(found[2])) if found else None


def _other_toolkit(facts: Facts) -> Iterator[Finding]:
    """DeepSpeed builds its operators on first use, with a toolkit of torch's own CUDA major."""
    cuda = next((build.cuda for build in facts.builds if build.cuda), None)
    if facts.nvcc is None or cuda is None or not cuda.value[:1].isdigit():
        return
    if facts.nvcc.value.partition(".")[0] != cuda.value.partition(".")[0]:
        yield _warn(
            f"nvcc is of CUDA {facts.nvcc.value} and torch of CUDA {cuda.value}: DeepSpeed cannot "
            "build its operators",
            "install the toolkit of torch.version.cuda and point CUDA_HOME at it",
            facts.nvcc,
            cuda,
            stage="strategy",
        )


def _mismatch(name: str, reading: Reading, torch: Reading) -> Finding:
    return _warn(
        f"{name} {reading.value} does not belong to torch {torch.value}",
        f"install {name} from the same index and release as torch",
        reading,
        torch,
    )
