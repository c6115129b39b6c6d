"""Loads the library of the devices, then torch; knows which of the machine's are shown."""

import ctypes
import os


def _shown():
    """Physical numbers of the devices that CUDA_VISIBLE_DEVICES shows, in its order.

    As the CUDA programming guide says, the first entry that is no device ends the list. None are
    there where the driver is older than the CUDA of this torch.
    """
    count = int(os.environ.get("FAKEGPU_COUNT") or 8)
    chosen = os.environ.get("CUDA_VISIBLE_DEVICES")
    if too_old():
        return []
    if chosen is None:
        return list(range(count))
    numbers = {str(i): i for i in range(count)}
    numbers.update((f"GPU-{uuid(i)}", i) for i in range(count))
    found = []
    for entry in chosen.split(","):
        if entry.strip() not in numbers:
            break
        found.append(numbers[entry.strip()])
    return found


def uuid(number):
    """As the fake NVML has it, without its ``GPU-``."""
    return f"fa4e0000-0000-0000-0000-{number:012d}"


def driver_cuda():
    """CUDA version of the driver: 13000 for 13.0."""
    return int(os.environ.get("FAKEGPU_DRIVER_CUDA") or 13000)


def toolkit():
    """CUDA version that torch claims to be built with, such as ``13.0``."""
    return os.environ.get("FAKEGPU_CUDA") or "13.0"


def too_old():
    """Whether the driver is of an older major version than the toolkit."""
    return not os.environ.get("FAKEGPU_HIP") and driver_cuda() // 1000 < int(
        toolkit().partition(".")[0]
    )


shown = _shown()
_library = ctypes.CDLL(os.environ["FAKEGPU_LIBRARY"], mode=ctypes.RTLD_GLOBAL)
_library.fakegpu_set_count(len(shown))

import torch  # noqa: E402 - the hooks of the devices had to be there first

assert torch.version.cuda is None and torch.version.hip is None, "the fakes need a CPU-only torch"
ops = torch.ops.fakegpu


def index_of(device=None):
    """Number of a device as torch.cuda takes it: None, a number, a name, a torch.device."""
    if device is None:
        return ops.current_device()
    if isinstance(device, int):
        return ops.current_device() if device < 0 else device
    index = torch.device(device).index
    return ops.current_device() if index is None else index
