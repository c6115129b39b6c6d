"""The devices are what torch takes for cuda:0 to cuda:7."""

from __future__ import annotations

from pathlib import Path

from fakegpu.build import Libraries
from fakegpu.python import run_python


def test_torch_and_nvml_tell_of_the_same_eight_devices(libraries: Libraries) -> None:
    """Count, names, UUIDs and PCI buses agree, so that they can be joined."""
    told = run_python(
        libraries,
        """
        import pynvml
        pynvml.nvmlInit()
        assert torch.cuda.is_available()
        assert torch.cuda.device_count() == pynvml.nvmlDeviceGetCount() == 8
        for index in range(8):
            torch_says = torch.cuda.get_device_properties(index)
            handle = pynvml.nvmlDeviceGetHandleByIndex(index)
            assert torch_says.name == pynvml.nvmlDeviceGetName(handle)
            assert f"GPU-{torch_says.uuid}" == pynvml.nvmlDeviceGetUUID(handle)
            assert torch_says.pci_bus_id == pynvml.nvmlDeviceGetPciInfo(handle).bus
            assert torch_says.total_memory == pynvml.nvmlDeviceGetMemoryInfo(handle).total
        print(torch.cuda.get_device_name(7))
        """,
    )
    assert told == "NVIDIA H100 80GB HBM3"


def test_kernels_give_the_values_of_the_cpu(libraries: Libraries) -> None:
    """Products, convolutions, attention and their gradients, on the device that was named."""
    run_python(
        libraries,
        """
        import torch.nn.functional as F

        def values(device):
            generator = torch.Generator().manual_seed(1)
            x = torch.randn(2, 3, 8, 8, generator=generator).to(device).requires_grad_()
            w = torch.randn(4, 3, 3, 3, generator=generator).to(device).requires_grad_()
            y = F.conv2d(x, w).flatten(2).softmax(-1)
            z = F.scaled_dot_product_attention(y, y, y) @ y.mT
            z.square().sum().backward()
            assert z.device == x.grad.device == torch.device(device)
            return [t.detach().cpu() for t in (z, x.grad, w.grad)]

        for one, other in zip(values("cpu"), values("cuda:3")):
            torch.testing.assert_close(one, other)
        """,
    )


def test_what_an_operation_leaves_pending_is_gone_after_a_synchronisation(
    libraries: Libraries,
) -> None:
    """The counter is per device, and tells whether a clock may be read."""
    told = run_python(
        libraries,
        """
        pending = torch.ops.fakegpu.pending
        x = torch.ones(4, device="cuda:1") + 1
        before = pending(0) == 0 and pending(1) > 0
        torch.cuda.synchronize(1)
        print(before, pending(1))
        """,
    )
    assert told == "True 0"


def test_a_clock_that_is_read_too_early_is_logged(libraries: Libraries, tmp_path: Path) -> None:
    """With a log, every reading of perf_counter over pending work is a line in it."""
    log = tmp_path / "clocks.txt"
    run_python(
        libraries,
        """
        import time
        x = torch.ones(4, device="cuda:1") + 1
        time.perf_counter()
        torch.cuda.synchronize(1)
        time.perf_counter()
        """,
        FAKEGPU_CLOCK_LOG=str(log),
        FAKEGPU_CLOCK_OF="<string>",
    )
    (line,) = log.read_text(encoding="utf-8").splitlines()
    assert line.startswith("<string>:") and " cuda:1 " in line


def test_a_device_has_no_more_memory_than_it_says(libraries: Libraries) -> None:
    """Beyond the limit comes torch's own error, and after freeing there is room again."""
    run_python(
        libraries,
        """
        held = torch.empty(48 << 20, dtype=torch.uint8, device="cuda:0")
        try:
            torch.empty(48 << 20, dtype=torch.uint8, device="cuda:0")
        except torch.OutOfMemoryError as error:
            assert "CUDA out of memory. Tried to allocate 48.00 MiB" in str(error)
        else:
            raise SystemExit("no error")
        del held
        torch.empty(48 << 20, dtype=torch.uint8, device="cuda:0")
        """,
        FAKEGPU_MEM_MB="64",
    )


def test_a_hidden_device_is_not_counted(libraries: Libraries) -> None:
    """CUDA_VISIBLE_DEVICES chooses and orders, by number or by UUID, and ends at what is none."""
    told = run_python(
        libraries,
        """
        print([torch.cuda.get_device_properties(i).pci_bus_id
               for i in range(torch.cuda.device_count())])
        """,
        CUDA_VISIBLE_DEVICES="5,GPU-fa4e0000-0000-0000-0000-000000000002,-1,3",
    )
    assert told == "[6, 3]"


def test_the_look_of_a_rocm_build(libraries: Libraries) -> None:
    """With FAKEGPU_HIP torch is a build for HIP and its devices are MI300X."""
    told = run_python(
        libraries,
        """
        properties = torch.cuda.get_device_properties(1)
        digits = bytes.fromhex(properties.uuid.replace("-", "")).decode("ascii")
        print(torch.version.cuda, torch.version.hip, properties.gcnArchName, digits)
        assert (torch.ones(2, device="cuda:1") + 1).sum().item() == 4
        assert "gfx942" in torch.cuda.get_arch_list()
        """,
        FAKEGPU_HIP="7.0.2",
    )
    assert told == "None 7.0.2 gfx942:sramecc+:xnack- 00000000fa4e0001"


def test_the_interpreters_own_sitecustomize_still_runs(
    libraries: Libraries, tmp_path: Path
) -> None:
    """One that stands later on the path is not hidden by ours."""
    (tmp_path / "sitecustomize.py").write_text("import sys\nsys.seen = True\n", encoding="utf-8")
    told = run_python(
        libraries,
        "import sys; print(sys.seen, torch.cuda.is_available())",
        PYTHONPATH=str(tmp_path),
    )
    assert told == "True True"
