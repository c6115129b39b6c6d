"""A dump of ``collect_env`` with the fields that a test is about."""

from __future__ import annotations


def dump_of(
    torch: str,
    card: str,
    *,
    cuda: str = "N/A",
    hip: str = "N/A",
    driver: str = "Could not collect",
    available: bool = True,
    count: int = 1,
    system: str = "Ubuntu 22.04.5 LTS (x86_64)",
) -> str:
    """In torch's own form; AMD's cards stand on one line without a number."""
    listed = "\n".join(f"GPU {index}: {card}" for index in range(count))
    return f"""Collecting environment information...
PyTorch version: {torch}
Is debug build: False
CUDA used to build PyTorch: {cuda}
ROCM used to build PyTorch: {hip}

OS: {system}
Python version: 3.12.3 (main, Nov  6 2025, 13:44:16) [GCC 13.3.0] (64-bit runtime)
Python platform: Linux-6.8.0-60-generic-x86_64-with-glibc2.35
Is CUDA available: {available}
CUDA runtime version: Could not collect
GPU models and configuration: {card if hip != "N/A" else chr(10) + listed}

Nvidia driver version: {driver}
cuDNN version: Could not collect
"""
