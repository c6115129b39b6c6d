"""What is said of device code."""

from __future__ import annotations

from preflight.compat.audit import Finding, Gpu
from preflight.compat.device_code_findings import capability, device_code_findings
from preflight.compat.installed import NO_DISTRIBUTION, Installed

from .environments import (
    B200,
    CPU,
    CUDA_12,
    H100,
    L4,
    MI300X,
    cuda,
    distribution,
    hip,
    installed,
    library,
    torch_of,
)


def findings(environment: Installed, *gpus: Gpu, driver: str | None = None) -> list[Finding]:
    """Findings about the device code of an environment."""
    return list(device_code_findings(environment, gpus, driver))


def test_nothing_is_said_where_all_runs() -> None:
    """No finding without a reason."""
    environment = installed(torch_of(cuda("sm_80 sm_90 sm_100", "sm_80 sm_90 sm_100 sm_100a")))
    assert findings(environment, B200, H100, L4) == []


def test_a_package_without_code_for_a_gpu_fails() -> None:
    """It names the GPU, what there is instead, and the torch to install."""
    (found,) = findings(installed(torch_of(cuda("sm_80 sm_90"))), B200)
    assert (found.status, found.package, found.gpu) == ("fail", "torch", "B200")
    assert "none of its device code runs on sm_100: it has sm_80 sm_90" in found.reason
    assert found.action.startswith("pip install torch==")
    assert "--index-url https://download.pytorch.org/whl/cu1" in found.action
    assert found.source


def test_another_package_is_built_for_the_gpu_by_a_variable() -> None:
    """What torch's extensions are built with is part of the action."""
    flash = distribution("flash-attn", library("flash.so", cuda("sm_80")))
    (found,) = findings(installed(flash), B200)
    assert (found.status, found.file) == ("fail", "flash.so")
    assert "TORCH_CUDA_ARCH_LIST=10.0" in found.action
    (found,) = findings(installed(distribution("apex", library("x.so", hip("gfx90a")))), MI300X)
    assert "PYTORCH_ROCM_ARCH=gfx942" in found.action


def test_code_for_the_other_vendor_fails() -> None:
    """The reason is the vendor, not a list of targets."""
    (found,) = findings(installed(torch_of(hip("gfx942"))), B200)
    assert (found.status, found.reason) == ("fail", "all its device code is for GPUs of AMD")


def test_a_torch_for_the_cpu_fails_on_every_gpu() -> None:
    """It has no device code, and says so itself."""
    torch = distribution("torch", library("torch/lib/libtorch_cpu.so"), version="2.13.0")
    found = findings(installed(torch, torch=CPU), B200, MI300X)
    assert [(one.status, one.gpu) for one in found] == [("fail", "B200"), ("fail", "MI300X")]
    assert "it uses no GPU" in found[0].reason


def test_a_torch_for_the_cpu_is_not_named_where_others_are_asked_for() -> None:
    """With --package, only the packages that are named are judged."""
    assert findings(installed(distribution("numpy"), torch=CPU), B200) == []


def test_code_in_part_is_a_warning() -> None:
    """Nobody knows which kernels will be called; the file and the numbers are told."""
    environment = installed(distribution("vllm", library("vllm/_C.so", cuda("sm_90", "sm_90a"))))
    assert findings(environment, H100) == []
    environment = installed(
        distribution("vllm", library("vllm/_C.so", cuda("sm_90 sm_100", "sm_90a", "sm_90a")))
    )
    (found,) = findings(environment, B200)
    assert (found.status, found.file) == ("warn", "vllm/_C.so")
    assert found.reason == "2 of its 3 fat binaries have no code for sm_100"
    assert "run what you need of it on B200" in found.action


def test_one_library_of_several_without_code_is_a_warning() -> None:
    """The others run, so the package is not useless."""
    torch = torch_of(cuda("sm_90 sm_100"), library("torch/lib/linalg.so", cuda("sm_90")))
    (found,) = findings(installed(torch), B200)
    assert (found.status, found.file) == ("warn", "torch/lib/linalg.so")
    assert found.reason == "it has no code for sm_100: it has sm_90"


def test_what_torch_lacks_in_part_another_torch_may_lack_too() -> None:
    """torch 2.14 has no linear algebra of its own for sm_75, and the next one has not either."""
    torch = torch_of(cuda("sm_90 sm_100"), library("torch/lib/linalg.so", cuda("sm_90")))
    (found,) = findings(installed(torch), B200)
    assert found.action == "run what you need of it on B200 before you rely on it"


def test_the_torch_to_install_fits_the_environment() -> None:
    """Its pip, its Python, its processor and the driver decide on the command."""
    torch = torch_of(
        cuda(
            "sm_80",
        ),
        library("torch/x.so", machine="aarch64"),
    )
    environment = installed(torch, pip="/v/bin/python -m pip", python="3.12", glibc="2.35")
    (found,) = findings(environment, B200)
    assert found.action.startswith("/v/bin/python -m pip install torch==")
    (found,) = findings(environment, B200, driver="550.54")
    assert found.action.startswith("install driver ")


def test_torchs_own_kernels_are_all_needed() -> None:
    """Special kernels for a GPU do not make a torch for it: that is a failure, not a warning."""
    (found,) = findings(installed(torch_of(cuda("sm_90", "sm_90", "sm_90 sm_100a"))), B200)
    assert (found.status, found.package) == ("fail", "torch")
    assert found.reason == "2 of its 3 fat binaries have no code for sm_100"


def test_a_vendors_library_is_never_a_finding() -> None:
    """libcufft shows one fat binary for sm_75, and works on a B200."""
    cufft = distribution("nvidia-cufft", library("nvidia/lib/libcufft.so.12", cuda("sm_75")))
    assert findings(installed(cufft), B200, MI300X) == []


def test_ptx_is_a_condition() -> None:
    """Code that the driver must compile needs a driver that can, and time at the first start."""
    package = distribution("x", library("x.so", cuda("sm_80", "sm_80 compute_80", isas=("8.7",))))
    (first, condition) = findings(installed(package), H100)
    assert first.reason == "1 of its 2 fat binaries has no code for sm_90"
    assert condition.status == "warn"
    assert condition.reason.startswith(
        "1 of its 2 fat binaries runs on sm_90 through PTX 8.7 alone"
    )
    assert "driver 570.26 or newer" in condition.action
    assert "--driver" in condition.action


def test_ptx_under_a_driver_that_does_not_know_it_fails() -> None:
    """With --driver the condition is judged."""
    package = distribution("x", library("x.so", cuda("compute_80", isas=("9.0",))))
    (found,) = findings(installed(package), H100, driver="575.57.08")
    assert found.status == "fail"
    (found,) = findings(installed(package), H100, driver="580.65.06")
    assert found.reason.startswith("it runs on sm_90 through PTX 9.0 alone")
    assert (found.status, "--driver" in found.action) == ("warn", False)


def test_ptx_of_a_toolkit_to_come_is_told_without_a_number() -> None:
    """A floor that nobody knows is not made up."""
    package = distribution("x", library("x.so", cuda("compute_80", isas=("11.9",))))
    (found,) = findings(installed(package), H100)
    assert "it takes a driver that knows it" in found.action


def test_siblings_that_do_not_all_run_are_told_without_a_torch() -> None:
    """In a wheel nobody sees which of them will be loaded."""
    package = distribution(
        "b", library("libb_cuda126.so", cuda("sm_90")), library("libb_cuda130.so", cuda("sm_100"))
    )
    (found,) = findings(installed(package, torch=None), B200)
    assert (found.status, "libb_cuda126.so" in found.reason) == ("warn", True)
    (found,) = findings(installed(package, torch=CUDA_12), B200)
    assert found.status == "fail"


def test_a_file_that_could_not_be_read_is_said_elsewhere() -> None:
    """What was read runs; that more may be there is a finding about the file."""
    assert findings(installed(torch_of(cuda("sm_100", trouble="cut short"))), B200) == []


def test_a_capability_is_written_with_a_point() -> None:
    """As TORCH_CUDA_ARCH_LIST wants it."""
    assert [capability(f"sm_{number}") for number in (75, 90, 103)] == ["7.5", "9.0", "10.3"]


def test_files_of_no_distribution_fail_nobody() -> None:
    """A library that nobody has recorded may be a leftover."""
    loose = distribution(NO_DISTRIBUTION, library("x.so", cuda("sm_80")))
    (found,) = findings(installed(loose), B200)
    assert (found.status, found.action) == ("warn", "build it for sm_100, or remove it")
