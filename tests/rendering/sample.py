"""Records of made-up runs: one that passes, one with a bad card, a rehearsal, an empty host."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from preflight.records import Check, Device, Node, Order, Package, Record, Versions

from .pieces import (
    HOST,
    VERSIONS,
    bandwidth,
    card,
    check,
    measured,
    order,
    pairs,
    record,
    run,
)

__all__ = ["HOST", "VERSIONS", "Node", "bandwidth", "card", "check", "measured", "order", "pairs"]
__all__ += ["record", "replace", "run"]


def compile_check(device: str, **fields: Any) -> Check:
    """``compile.steady`` with first calls and steady steps."""
    measurements = (
        measured("first call, cold", 18.42, "s"),
        measured("first call, warm cache", 3.13, "s"),
        measured("compiled step", 0.0062, "s", n=200, p10=0.0061, p90=0.0064),
        measured("eager step", 0.0090, "s", n=200, p10=0.0089, p90=0.0095),
        measured("gain", 1.4516, "1", limit=(">=", 1.0, "no slower than eager")),
        measured("steps to pay back", 5465, "1"),
    )
    return check(
        "compile.steady",
        device=device,
        reason="18.4 s to compile, then 6.20 ms a step against 9.00 ms eager",
        measurements=measurements,
        duration_s=24.1,
        **fields,
    )


def host_checks(devices: tuple[str, ...]) -> tuple[Check, ...]:
    """Order, driver, system, arch and import, all well."""
    count = len(devices)
    return (
        check("order.count", reason=f"{count} of {count} H100, NVLink"),
        check("order.product"),
        *(check("driver.version", device=d, reason="580.95.05 serves CUDA 13.0") for d in devices),
        check(
            "system.shm",
            reason="756 GiB",
            measurements=(
                measured("shared memory", 755.7, "GiB", limit=(">=", 16.0, "2 GiB a rank")),
            ),
        ),
        *(check("arch.listed", device=d, reason="sm_90 in torch's list") for d in devices),
        check("import.torch", reason="torch 2.11.0+cu130 (/opt/venv/lib)", duration_s=3.1),
        check("import.numpy", reason="numpy 2.2.6"),
    )


def device_checks(device: str, link: float = 52.4) -> tuple[Check, ...]:
    """Kernel, forward, backward on one device, all well."""
    source = "80% of PCIe 5 x16 (64 GB/s)"
    return (
        check("kernel.first", device=device, reason="5 dtypes agree with the CPU"),
        check(
            "kernel.host_link",
            device=device,
            measurements=(
                measured("host to device", link, "GB/s", n=20, limit=(">=", 48.0, source)),
                measured("bf16 matrix product", 742.0 + int(device[3:]), "TFLOP/s", n=50),
            ),
        ),
        check("forward.transformer", device=device, duration_s=2.1),
        check("backward.gradients", device=device, duration_s=2.9),
    )


def node_checks(count: int) -> tuple[Check, ...]:
    """Collectives, sharding and checkpoint, all well."""
    return (
        check(
            "collective.all_reduce",
            reason="477 GB/s bus bandwidth at 1 GiB",
            duration_s=9.3,
            series=(
                bandwidth(478.0, 9e6, "all-reduce bus bandwidth"),
                bandwidth(273.0, 9e6, "all-reduce algorithm bandwidth"),
            ),
            measurements=(
                measured(
                    "all-reduce bus bandwidth",
                    474.1,
                    "GB/s",
                    n=20,
                    p10=471.0,
                    p90=476.2,
                    limit=(">=", 360.0, "80% of NVLink 4, 450 GB/s a direction"),
                ),
            ),
        ),
        check("collective.pairs", reason="338 GB/s median", matrices=(pairs(count),)),
        check("strategy.fsdp", reason="loss equal to one process to 1e-6", duration_s=6.0),
        check(
            "checkpoint.restore",
            reason="2.41 GB/s written, same loss after restore",
            duration_s=5.5,
            measurements=(measured("write throughput", 2.412, "GB/s"),),
        ),
    )


def passing() -> Record:
    """Two H100, everything well: READY."""
    checks = host_checks(("gpu0", "gpu1")) + device_checks("gpu0") + device_checks("gpu1")
    return record((*checks, compile_check("gpu0"), *node_checks(2)))


ECC = (
    "Traceback (most recent call last):\n"
    '  File "first.py", line 31, in launch\n'
    "    y = x @ x\n"
    "RuntimeError: CUDA error 214: uncorrectable ECC error encountered\n"
    "NVML: remapped rows pending = 1, recovery action = GPU reset"
)


def failing() -> Record:
    """Eight H100, one with a memory fault, one on a narrow link: NOT READY."""
    names = tuple(f"gpu{i}" for i in range(8))
    checks: list[Check] = list(host_checks(names))
    checks.append(
        check(
            "system.pcie",
            status="warn",
            device="gpu3",
            reason="PCIe width 8 of 16 at rest",
            action="Compare kernel.host_link, which is measured under load.",
        )
    )
    blocked = {"status": "skip", "blocked_by": "kernel.first on gpu5", "duration_s": 0.0}
    for name in names:
        if name != "gpu5":
            link = 24.9 if name == "gpu3" else 52.4
            checks.extend(_slow_link(c) for c in device_checks(name, link))
            continue
        checks.append(
            check(
                "kernel.first",
                status="fail",
                device=name,
                reason="uncorrectable ECC error at the first kernel (CUDA error 214)",
                action=(
                    "Ask the seller to reset gpu5, or the node if the reset fails; then run"
                    " `preflight run --order ORD-1042` again. If rows stay pending after a reset,"
                    " ask for another card."
                ),
                measurements=(
                    measured("rows pending", 1, "1", limit=("==", 0.0, "no row waits for a reset")),
                ),
                evidence=ECC,
            )
        )
        later = ("kernel.host_link", "forward.transformer", "backward.gradients")
        checks.extend(check(c, device=name, **blocked) for c in later)
    checks.append(compile_check("gpu0"))
    checks.extend(
        replace(c, reason="", series=(), matrices=(), measurements=(), **blocked)
        for c in node_checks(8)
    )
    return record(
        tuple(checks),
        order=order(8),
        devices=tuple(card(i) for i in range(8)),
        run=run(duration_s=161.2),
    )


def _slow_link(one: Check) -> Check:
    if one.id != "kernel.host_link" or one.device != "gpu3":
        return one
    return replace(
        one,
        status="warn",
        reason="24.9 GB/s, half of what the other cards reach",
        action="Ask the seller to reseat the card or its riser.",
    )


def rehearsal() -> Record:
    """The path on the CPU: REHEARSED."""
    cpu = Device(name="cpu", node="node-a", kind="cpu", product="CPU", torch_device="cpu")
    skipped = {"status": "skip", "reason": "a rehearsal has no cards", "duration_s": 0.0}
    never = (
        measured("first call, cold", 18.42, "s"),
        measured("first call, warm cache", 4.2, "s"),
        measured("compiled step", 0.0121, "s", n=50, p10=0.0118, p90=0.0190),
        measured("eager step", 0.0098, "s", n=50, p10=0.0095, p90=0.0104),
        measured("gain", 0.81, "1"),
        measured("steps to pay back", None, "1"),
    )
    checks = (
        check("order.count", **skipped),
        check("driver.version", **skipped),
        check("system.shm", **skipped),
        check("arch.listed", **skipped),
        check("import.torch", reason="torch 2.13.0+cpu"),
        check("kernel.first", device="cpu", reason="4 dtypes agree with float64"),
        check("forward.transformer", device="cpu"),
        check("backward.gradients", device="cpu"),
        check(
            "compile.steady",
            device="cpu",
            reason="the compiled step is slower than eager: compiling never pays back here",
            measurements=never,
        ),
        replace(node_checks(2)[0], reason="2 ranks, Gloo"),
        check("strategy.fsdp", reason="loss equal to one process"),
        check("checkpoint.restore", reason="same loss after restore"),
    )
    packages = {
        "torch": Package(version="2.13.0+cpu"),
        "numpy": Package(version="2.2.6"),
    }
    return record(
        checks,
        run=run(mode="rehearse", argv=("preflight", "run", "--device", "cpu", "--gpus", "2")),
        order=Order(),
        devices=(cpu,),
        versions=Versions(torch="2.13.0+cpu", python="3.12.3", packages=packages),
    )


def nothing_found() -> Record:
    """Two B200 were bought, and the host shows none: NOT READY."""
    blocked = {"status": "skip", "blocked_by": "driver.present", "duration_s": 0.0}
    checks = (
        check(
            "order.count",
            status="fail",
            reason="0 of 2 B200 found",
            action="Ask the seller for the 2 missing cards, or show them to this container.",
            measurements=(measured("cards", 0, "1", limit=("==", 2.0, "order ORD-1042")),),
        ),
        check(
            "driver.present",
            status="fail",
            reason="no NVIDIA or AMD driver answers: /dev/nvidia0 and /dev/kfd are missing",
            action="Start the container with `--gpus all`, then run again.",
            evidence="ls /dev: core fd full mqueue null ptmx pts random shm stderr stdin stdout",
        ),
        check("import.torch", reason="torch 2.11.0+cu130 (/opt/venv/lib)"),
        *(check(c, **blocked) for c in ("kernel.first", "forward.transformer")),
        *(check(c, **blocked) for c in ("backward.gradients", "compile.steady")),
        *(check(c, **blocked) for c in ("collective.all_reduce", "strategy.fsdp")),
        check("checkpoint.restore", **blocked),
    )
    return record(checks, order=order(2, product="B200", memory_GB=180.0), devices=())


def simulated() -> Record:
    """Two B200 out of a profile, with a fault injected: REHEARSED."""
    return record(
        passing().checks,
        run=run(mode="simulate", simulated="2xB200", injected=("slow_link@gpu1",)),
        order=order(product="B200", memory_GB=180.0),
        devices=tuple(
            replace(card(i, "NVIDIA B200"), memory_GiB=178.35, architecture="sm_100")
            for i in range(2)
        ),
    )
