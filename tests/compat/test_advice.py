"""What to do about a failure, from its text."""

from __future__ import annotations

import pytest

from preflight.compat.advice import action_for


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            "RuntimeError: CUDA error: no kernel image is available for execution on the device",
            "torch.cuda.get_arch_list()",
        ),
        ("HIP error: invalid device function", "torch built for this card"),
        ("hipErrorNoBinaryForGpu: Unable to find code object", "torch built for this card"),
        ("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB", "nvidia-smi"),
        ("OSError: [Errno 28] No space left on device: '/checkpoints/x'", "[checkpoint]"),
        ("OSError: [Errno 122] Disk quota exceeded", "free space"),
        (
            "The NVIDIA driver on your system is too old (found version 11040)",
            "newer driver",
        ),
        ("CUDA driver version is insufficient for CUDA runtime version", "newer driver"),
        ("CUDA error: uncorrectable ECC error encountered", "replace this card"),
        (
            "CUDA error: uncorrectable NVLink error detected during the execution",
            "replace this card",
        ),
        ("CUDA error 802: system not yet initialized", "nvidia-fabricmanager"),
        ("CUDA error: an illegal memory access was encountered", "CUDA_LAUNCH_BLOCKING=1"),
        ("CUDA error: unspecified launch failure", "CUDA_LAUNCH_BLOCKING=1"),
    ],
)
def test_a_known_text_has_its_action(text: str, words: str) -> None:
    """Messages of CUDA, HIP, torch and the system lead to what mends them."""
    action = action_for(f"Traceback (most recent call last):\n  ...\n{text}\n")
    assert action is not None and words in action


@pytest.mark.parametrize(
    "text",
    [
        "",
        "AssertionError",
        "loss is 3.2, must be below 2.9",
        "Segmentation fault",
        "NCCL INFO NVLink topology detected, using 24 channels",
    ],
)
def test_an_unknown_text_has_none(text: str) -> None:
    """Nothing is advised where nothing is known."""
    assert action_for(text) is None


def test_the_more_specific_sign_wins() -> None:
    """A missing kernel image is told before what else the text may hold."""
    text = "no kernel image is available\nduring handling: illegal memory access"
    assert "get_arch_list" in str(action_for(text))
