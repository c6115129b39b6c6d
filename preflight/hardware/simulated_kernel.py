"""Version, options, modules, log and processes of a machine that does not exist."""

from __future__ import annotations

from collections.abc import Sequence

from preflight.hardware.simulated_tree import Tree

_STARTED = 1796000000
"""When the machine was started, in seconds since 1970."""
_PROGRAMS = {
    "nvidia-fabricmanager": "nv-fabricmanager",
    "nvidia-persistenced": "nvidia-persistenced",
    "nvidia-imex": "nvidia-imex",
    "dcgm": "nv-hostengine",
}
_IOMMU_OPTIONS = {
    "off": "intel_iommu=off",
    "passthrough": "intel_iommu=on iommu=pt",
    "translating": "intel_iommu=on",
}


def write_kernel(
    tree: Tree, *, name: str, release: str, architecture: str, iommu: str, options: str
) -> None:
    """What the kernel says of itself and of how it was started."""
    tree.text("/proc/sys/kernel/hostname", name)
    tree.text("/proc/sys/kernel/osrelease", release)
    tree.text("/proc/sys/kernel/arch", architecture)
    started = f"BOOT_IMAGE=/vmlinuz-{release} root=UUID=5f0a ro {_IOMMU_OPTIONS[iommu]} {options}"
    tree.text("/proc/cmdline", started.rstrip())
    tree.word("/proc/self/ns/pid", "pid:[4026531836]")


def write_modules(tree: Tree, names: Sequence[str]) -> None:
    """Modules that are loaded, added to those of other writers."""
    tree.lines("/proc/modules", [f"{name} 16384 0 - Live 0x0000000000000000" for name in names])


def write_processes(tree: Tree, services: Sequence[str]) -> None:
    """Process 1 and the daemons of ``services``, their names cut as the kernel cuts them."""
    tree.text("/proc/1/comm", "systemd")
    for index, service in enumerate(services):
        tree.text(f"/proc/{1200 + index}/comm", _PROGRAMS[service][:15])


def write_log(
    tree: Tree, name: str, uptime_s: float, lines: Sequence[tuple[float, str]] | None
) -> None:
    """The copy that the system's logger keeps of the kernel's log: age in seconds and text."""
    tree.text("/proc/uptime", f"{uptime_s:.2f} {uptime_s:.2f}")
    tree.text("/proc/stat", f"cpu 0 0 0 0\nbtime {_STARTED}")
    if lines is None:
        return
    stamped = [(0.0, "Linux version 6.8.0"), *((uptime_s - age_s, text) for age_s, text in lines)]
    text = [f"Dec  1 09:04:12 {name} kernel: [{at_s:12.6f}] {words}" for at_s, words in stamped]
    tree.text("/var/log/kern.log", "\n".join(text))
