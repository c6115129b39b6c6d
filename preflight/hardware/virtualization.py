"""Whether this machine is a virtual one, and whose."""

from __future__ import annotations

import re

from preflight.facts import Absence, Flag, Text
from preflight.hardware.files import Files

_OSRELEASE = "/proc/sys/kernel/osrelease"
_DMI = "/sys/class/dmi/id"
UNNAMED = "unknown hypervisor"

_FIRMWARE: tuple[tuple[str, str], ...] = (
    ("amazon ec2", "Amazon EC2"),
    ("google", "Google Compute Engine"),
    ("microsoft corporation virtual machine", "Hyper-V"),
    ("openstack", "OpenStack"),
    ("kubevirt", "KubeVirt"),
    ("vmware", "VMware"),
    ("virtualbox", "VirtualBox"),
    ("innotek", "VirtualBox"),
    ("parallels", "Parallels"),
    ("nutanix", "Nutanix AHV"),
    ("bhyve", "bhyve"),
    ("alibaba cloud", "Alibaba Cloud"),
    ("digitalocean", "DigitalOcean"),
    ("hvm domu", "xen"),
    ("xen", "xen"),
    ("kvm", "kvm"),
    ("qemu", "kvm"),
    ("bochs", "kvm"),
)
"""What "vendor product" of the firmware holds, and the hypervisor: those that systemd-detect-virt
documents and the clouds' own. A machine rented whole from a cloud carries its name too, so that on
x86 the flag of the CPU decides first."""


def is_wsl(files: Files) -> Flag:
    """Whether the kernel is that of the Windows Subsystem for Linux."""
    release = files.text(_OSRELEASE)
    if isinstance(release, Absence):
        return release
    # A kernel that the user built may carry any name; the link to Windows has its own folder.
    return "microsoft" in release.lower() or files.exists("/usr/lib/wsl/lib")


def hypervisor(files: Files) -> Text:
    """``none`` on bare metal, else its name; from the CPU's flags, the kernel and the firmware."""
    kernel = files.text("/sys/hypervisor/type")
    firmware = _of_firmware(files)
    flag = _has_flag(files)
    if flag is False and isinstance(kernel, Absence):
        return "none"
    named = firmware if isinstance(firmware, str) and firmware != "none" else None
    if named is None and isinstance(kernel, str) and kernel:
        named = kernel
    if named is None and flag and is_wsl(files) is True:
        named = "Hyper-V"
    if named is None and flag:
        named = UNNAMED
    return named or firmware


def _has_flag(files: Files) -> bool | None:
    """The CPU's flag ``hypervisor``; None where its kind has none, as Arm's."""
    text = files.text("/proc/cpuinfo")
    flags = None if isinstance(text, Absence) else re.search(r"(?m)^flags[ \t]*:(.*)$", text)
    return None if flags is None else "hypervisor" in flags[1].split()


def _of_firmware(files: Files) -> Text:
    """The hypervisor whose name the firmware carries; ``none`` for that of a maker of machines."""
    vendor = files.text(f"{_DMI}/sys_vendor")
    if isinstance(vendor, Absence):
        return vendor
    product = files.text(f"{_DMI}/product_name")
    words = f"{vendor} {'' if isinstance(product, Absence) else product}".lower()
    if words.rstrip().endswith((".metal", "-metal")):
        return "none"  # an Arm machine of EC2 rented whole: ``c6g.metal``
    return next((name for sign, name in _FIRMWARE if sign in words), "none")
