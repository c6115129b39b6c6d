"""Storages of a device: what the C++ of a CPU-only torch has no branch for."""

import torch

from .binding import ops

_resize_of_torch = torch.UntypedStorage.resize_


def _resize(self, num_bytes):
    """FSDP2 frees its gathered parameters by this."""
    if self.device.type != "cuda":
        return _resize_of_torch(self, num_bytes)
    ops.resize_storage(_bytes_of(self), num_bytes)
    return self


def _bytes_of(storage):
    return torch.empty(0, dtype=torch.uint8, device=storage.device).set_(storage)


def _location(storage):
    return f"cuda:{storage.device.index}" if storage.device.type == "cuda" else None


def _restore(storage, location):
    """torch.load to a device: UntypedStorage(device="cuda") does not exist in a CPU build."""
    if not location.startswith("cuda"):
        return None
    there = torch.empty(storage.nbytes(), dtype=torch.uint8, device=torch.device(location))
    if storage.nbytes():
        there.copy_(_bytes_of(storage))
    return there.untyped_storage()


def install():
    """Teach torch.UntypedStorage and torch.load."""
    torch.UntypedStorage.resize_ = _resize
    torch.serialization.register_package(5, _location, _restore)
