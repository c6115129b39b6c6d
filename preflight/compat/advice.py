"""What to do about a failure, from the text of it; a first few signatures.

Sources: CUDA runtime API, error codes; HIP runtime API, error codes; torch's own messages.
"""

from __future__ import annotations

_SIGNATURES: tuple[tuple[tuple[str, ...], str], ...] = (
    (
        ("no kernel image is available", "invalid device function", "hipErrorNoBinaryForGpu"),
        "install a torch built for this card: its architecture must be in "
        "torch.cuda.get_arch_list()",
    ),
    (
        ("out of memory", "OutOfMemoryError", "MemoryError", "can't allocate memory"),
        "see which processes hold memory (nvidia-smi or rocm-smi), end them, and run again",
    ),
    (
        ("No space left on device", "Disk quota exceeded", "[Errno 28]", "[Errno 122]"),
        "free space on that disk, or name another path in [checkpoint] of the plan",
    ),
    (
        ("driver version is insufficient", "driver on your system is too old"),
        "install a newer driver, or a torch built for an older CUDA",
    ),
    (
        ("uncorrectable ECC", "CUDA error 214", "hardware stack error", "NVLink error"),
        "ask the seller to reset or replace this card; attach this report",
    ),
    (
        ("system not yet initialized", "error 802", "CUDA error 802"),
        "the fabric manager is not running: ask the seller to start nvidia-fabricmanager in the "
        "driver's version",
    ),
    (
        ("illegal memory access", "misaligned address", "unspecified launch failure"),
        "run again with CUDA_LAUNCH_BLOCKING=1; if it stays on one card only, ask for another card",
    ),
)


def action_for(text: str) -> str | None:
    """The action for the first signature found in ``text``; None where none is."""
    for signs, action in _SIGNATURES:
        if any(sign in text for sign in signs):
            return action
    return None
