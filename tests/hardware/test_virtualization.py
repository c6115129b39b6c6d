"""Virtual machines and WSL."""

from __future__ import annotations

from pathlib import Path

import pytest

from preflight.hardware.files import THIS_MACHINE, Files
from preflight.hardware.virtualization import UNNAMED, hypervisor, is_wsl

from .machines import machine, reason

DMI = "/sys/class/dmi/id"


def virtual(
    root: Path,
    *,
    flags: str | None = "fpu sse2",
    vendor: str | None = None,
    product: str = "",
    **more: str,
) -> Files:
    """A machine whose CPU has these flags and whose firmware has these names."""
    texts = {} if flags is None else {"/proc/cpuinfo": f"processor: 0\nflags\t\t: {flags}"}
    if vendor is not None:
        texts |= {f"{DMI}/sys_vendor": vendor, f"{DMI}/product_name": product}
    return machine(root, {**texts, **more})


@pytest.mark.parametrize(
    ("vendor", "product", "name"),
    [
        ("Amazon EC2", "p5.48xlarge", "Amazon EC2"),
        ("Google", "Google Compute Engine", "Google Compute Engine"),
        ("Microsoft Corporation", "Virtual Machine", "Hyper-V"),
        ("QEMU", "Standard PC (Q35 + ICH9, 2009)", "kvm"),
        ("Red Hat", "KVM", "kvm"),
        ("OpenStack Foundation", "OpenStack Nova", "OpenStack"),
        ("VMware, Inc.", "VMware7,1", "VMware"),
        ("Xen", "HVM domU", "xen"),
        ("Supermicro", "SYS-821GE-TNHR", UNNAMED),
    ],
)
def test_a_virtual_machine_is_named_by_its_firmware(
    tmp_path: Path, vendor: str, product: str, name: str
) -> None:
    """The CPU says that there is a hypervisor, the firmware which."""
    files = virtual(tmp_path, flags="fpu hypervisor sse2", vendor=vendor, product=product)
    assert hypervisor(files) == name


@pytest.mark.parametrize(
    ("vendor", "product"),
    [
        ("Supermicro", "SYS-821GE-TNHR"),
        ("Amazon EC2", "p5.metal-48xl"),
        ("Google", "Google Compute Engine"),
        ("Microsoft Corporation", "Surface Laptop"),
    ],
)
def test_a_machine_rented_whole_is_bare_metal(tmp_path: Path, vendor: str, product: str) -> None:
    """Without the CPU's flag the name of a cloud is that of the owner."""
    assert hypervisor(virtual(tmp_path, vendor=vendor, product=product)) == "none"


@pytest.mark.parametrize(
    ("vendor", "product", "name"),
    [
        ("NVIDIA", "GB200 NVL", "none"),
        ("Amazon EC2", "g5g.xlarge", "Amazon EC2"),
        ("Amazon EC2", "g5g.metal", "none"),
        ("QEMU", "KVM Virtual Machine", "kvm"),
    ],
)
def test_arm_has_no_flag(tmp_path: Path, vendor: str, product: str, name: str) -> None:
    """There the firmware alone tells."""
    assert hypervisor(virtual(tmp_path, flags=None, vendor=vendor, product=product)) == name


def test_a_hypervisor_that_the_kernel_names(tmp_path: Path) -> None:
    """Xen has its own folder, with and without firmware."""
    files = virtual(tmp_path, flags="hypervisor", **{"/sys/hypervisor/type": "xen"})
    assert hypervisor(files) == "xen"


def test_a_hypervisor_without_a_name(tmp_path: Path) -> None:
    """A flag without firmware is a virtual machine all the same."""
    assert hypervisor(virtual(tmp_path, flags="hypervisor")) == UNNAMED


def test_nothing_to_read_is_not_bare_metal(tmp_path: Path) -> None:
    """Without flags and firmware nothing is known."""
    assert reason(hypervisor(Files(tmp_path))) == "not found"
    assert reason(is_wsl(Files(tmp_path))) == "not found"


@pytest.mark.parametrize(
    ("release", "expected"),
    [
        ("5.15.167.4-microsoft-standard-WSL2", True),
        ("4.4.0-19041-Microsoft", True),
        ("6.8.0-60-generic", False),
        ("6.8.0-1021-azure", False),
        ("5.15.48.1-6.cm2", False),
    ],
)
def test_wsl_is_known_by_its_kernel(tmp_path: Path, release: str, expected: bool) -> None:
    """Both versions name Microsoft; its cloud's kernels are no WSL."""
    assert is_wsl(machine(tmp_path, {"/proc/sys/kernel/osrelease": release})) is expected


def test_wsl_with_a_kernel_of_the_users(tmp_path: Path) -> None:
    """Such a kernel may carry any name: the folder of Windows' libraries stays."""
    files = machine(
        tmp_path, {"/proc/sys/kernel/osrelease": "6.6.1-mine", "/usr/lib/wsl/lib/libcuda.so.1": ""}
    )
    assert is_wsl(files) is True


def test_wsl_is_a_machine_of_hyper_v(tmp_path: Path) -> None:
    """It has no firmware to name it."""
    release = "5.15.167.4-microsoft-standard-WSL2"
    files = virtual(tmp_path, flags="hypervisor", **{"/proc/sys/kernel/osrelease": release})
    assert hypervisor(files) == "Hyper-V"


def test_this_machine_agrees_with_its_cpu() -> None:
    """The flag in cpuinfo, read here by another way, decides on x86."""
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    flags = [line.split(":", 1)[1].split() for line in lines if line.startswith("flags")]
    if not flags:
        pytest.skip("this CPU has no line of flags")
    assert (hypervisor(THIS_MACHINE) != "none") == ("hypervisor" in flags[0])
