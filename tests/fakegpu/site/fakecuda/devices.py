"""torch.cuda: count, names, properties, memory, random state."""

import os
import types

import torch

from . import binding
from .binding import index_of, ops

TOO_OLD = (
    "The NVIDIA driver on your system is too old (found version {}). Please update your GPU driver "
    "by downloading and installing a new version from the URL: "
    "http://www.nvidia.com/Download/index.aspx Alternatively, go to: https://pytorch.org to "
    "install a PyTorch version that has been compiled with your version of the CUDA driver."
)
HIP = os.environ.get("FAKEGPU_HIP")
NAMES = os.environ.get("FAKEGPU_NAME") or (
    "AMD Instinct MI300X" if HIP else "NVIDIA H100 80GB HBM3"
)
CAPABILITIES = os.environ.get("FAKEGPU_CC") or ("9.4" if HIP else "9.0")
ARCHITECTURES = os.environ.get("FAKEGPU_ARCHS") or (
    "gfx90a gfx942 gfx950 gfx1100" if HIP else "sm_75 sm_80 sm_86 sm_90 sm_100 sm_120"
)


def _field(listed, number):
    """Field of a list with ``|`` between; its last one where there are fewer."""
    fields = listed.split("|")
    return fields[min(number, len(fields) - 1)]


def capability(device=None):
    """``(9, 0)``."""
    major, minor = _field(CAPABILITIES, binding.shown[index_of(device)]).split(".")
    return int(major), int(minor)


def properties(device=None):
    """What torch.cuda.get_device_properties tells of an H100, or of an MI300X."""
    index = index_of(device)
    number = binding.shown[index]
    major, minor = capability(index)
    found = types.SimpleNamespace(
        name=_field(NAMES, number),
        major=major,
        minor=minor,
        total_memory=torch.accelerator.get_memory_info(index)[1],
        uuid=binding.uuid(number),
        pci_domain_id=0,
        pci_bus_id=number + 1,
        pci_device_id=0,
        multi_processor_count=132,
        warp_size=32,
        L2_cache_size=50 << 20,
        is_integrated=0,
        is_multi_gpu_board=0,
        max_threads_per_multi_processor=2048,
        max_threads_per_block=1024,
        regs_per_multiprocessor=65536,
        shared_memory_per_block=49152,
        shared_memory_per_block_optin=232448,
        shared_memory_per_multiprocessor=233472,
        gcnArchName="",
    )
    if HIP:
        found.gcnArchName = os.environ.get("FAKEGPU_GFX") or "gfx942:sramecc+:xnack-"
        found.warp_size, found.multi_processor_count = 64, 304
        # HIP fills the sixteen bytes with the digits of the card's own 64-bit number.
        digits = f"{0xFA4E0000 + number:016x}".encode().hex()
        found.uuid = "-".join(
            digits[a:b] for a, b in ((0, 8), (8, 12), (12, 16), (16, 20), (20, 32))
        )
    return found


def _start():
    """torch.cuda.init."""
    if binding.too_old():
        raise RuntimeError(TOO_OLD.format(binding.driver_cuda()))
    if not binding.shown:
        raise RuntimeError("No CUDA GPUs are available")


def _exchange(index):
    before = ops.current_device()
    ops.set_device(index)
    return before


def _maybe_exchange(index):
    """Two functions: torch.compile keeps a table of them."""
    return _exchange(index) if index >= 0 else ops.current_device()


def install():
    """Put all of it into torch.cuda and below it."""
    accelerator = torch.accelerator
    _below(
        getDeviceCount=ops.device_count,
        getDevice=ops.current_device,
        setDevice=ops.set_device,
        exchangeDevice=_exchange,
        maybeExchangeDevice=_maybe_exchange,
        isInBadFork=lambda: False,
        init=_start,
        getArchFlags=lambda: ARCHITECTURES,
        getCompiledVersion=lambda: 13000,
        synchronize=lambda: ops.synchronize(-1),
        emptyCache=lambda *arguments: None,
        canDeviceAccessPeer=lambda one, other: True,
        resetPeakMemoryStats=accelerator.reset_peak_memory_stats,
        getCurrentBlasHandle=lambda: 0,
        isHistoryEnabled=lambda: False,
        sleep=lambda cycles: None,
    )
    _into_cuda(
        _lazy_init=_start,
        init=_start,
        is_initialized=lambda: True,
        _initialized=True,
        device_count=ops.device_count,
        is_available=lambda: ops.device_count() > 0,
        get_device_properties=properties,
        _get_device_properties=properties,
        get_device_name=lambda device=None: properties(device).name,
        get_device_capability=capability,
        get_arch_list=ARCHITECTURES.split,
        mem_get_info=lambda device=None: accelerator.get_memory_info(index_of(device)),
        memory_allocated=lambda device=None: accelerator.memory_allocated(index_of(device)),
        max_memory_allocated=lambda device=None: accelerator.max_memory_allocated(index_of(device)),
        memory_reserved=lambda device=None: accelerator.memory_reserved(index_of(device)),
        max_memory_reserved=lambda device=None: accelerator.max_memory_reserved(index_of(device)),
        memory_stats=lambda device=None: accelerator.memory_stats(index_of(device)),
        reset_peak_memory_stats=lambda device=None: accelerator.reset_peak_memory_stats(
            index_of(device)
        ),
        manual_seed=ops.seed_all,
        manual_seed_all=ops.seed_all,
        seed_all=lambda: None,
        get_rng_state=lambda device="cuda": torch.get_rng_state(),
        set_rng_state=lambda state, device="cuda": torch.set_rng_state(state),
        ipc_collect=lambda: None,
        _exchange_device=_exchange,
        _maybe_exchange_device=_maybe_exchange,
        default_generators=tuple(
            torch.Generator(device=f"cuda:{index}") for index in range(ops.device_count())
        ),
    )
    torch.cuda.memory.mem_get_info = torch.cuda.mem_get_info
    torch.cuda.random.manual_seed_all = torch.cuda.manual_seed_all
    torch.version.cuda = None if HIP else binding.toolkit()
    torch.version.hip = HIP


def _below(**functions):
    for name, function in functions.items():
        setattr(torch._C, "_cuda_" + name, function)


def _into_cuda(**values):
    for name, value in values.items():
        setattr(torch.cuda, name, value)
