"""The backend ``nccl``, which is Gloo on the same memory."""

import torch

NCCL = (2, 27, 5)


def install():
    """Let init_process_group take ``nccl``, and get_backend call it so afterwards."""
    if not torch.distributed.is_available():
        return
    package, module = torch.distributed, torch.distributed.distributed_c10d
    start, ask = module.init_process_group, module.get_backend
    called_nccl = []

    def init_process_group(backend=None, *arguments, **options):
        if backend in (None, "nccl", "cpu:gloo,cuda:nccl"):
            called_nccl.append(backend != "cpu:gloo,cuda:nccl")
            backend = "cpu:gloo,cuda:gloo"
            options.pop("device_id", None)  # Gloo cannot be bound to a device
        return start(backend, *arguments, **options)

    def get_backend(group=None):
        return "nccl" if called_nccl and called_nccl[-1] else ask(group)

    for place in (package, module):
        place.init_process_group = init_process_group
        place.get_backend = get_backend
        place.is_nccl_available = lambda: True
    torch._C._nccl_version = lambda: NCCL[0] << 32 | NCCL[1] << 16 | NCCL[2]
    torch._C._nccl_version_suffix = lambda: b""
