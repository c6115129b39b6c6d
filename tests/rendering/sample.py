"""Records of made-up runs: one that passes, one with a bad card, a rehearsal, an empty host."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from preflight.records import (
    Check,
    Device,
    Host,
    Limit,
    Matrix,
    Measurement,
    Node,
    Order,
    Package,
    Record,
    Run,
    Series,
    StageSummary,
    Versions,
)
from preflight.stages import BY_NAME, STAGES
from preflight.verdict import judge, worst

TITLES = {
    "order.count": "As many cards are found as were bought.",
    "order.product": "Every card is of the product that was bought.",
    "driver.version": "The driver serves the CUDA version that this torch was built with.",
    "driver.present": "At least one accelerator is there.",
    "system.shm": "Shared memory is large enough for the data loaders.",
    "system.pcie": "The link to the host has its full width.",
    "arch.listed": "This torch has code for the device.",
    "import.torch": "torch imports in a fresh process.",
    "import.numpy": "numpy imports in a fresh process.",
    "kernel.first": "The first kernel launches and its numbers are right.",
    "kernel.host_link": "The link to the host carries what its generation and width promise.",
    "forward.transformer": "A transformer block agrees with float64, per dtype.",
    "backward.gradients": "Gradients agree with float64, and a step lowers the loss.",
    "compile.steady": "Compilation is told apart from the steady step.",
    "collective.all_reduce": "All-reduce gives exact values; bandwidth by size.",
    "collective.pairs": "Every ordered pair of devices carries data.",
    "strategy.fsdp": "FSDP2 trains a small model like one process.",
    "checkpoint.restore": "A checkpoint is restored in fresh processes and continues.",
}


def check(name: str, *, status: Any = "pass", **fields: Any) -> Check:
    """A check of the stage that its id names."""
    stage = name.partition(".")[0]
    fields.setdefault("node", "node-a")
    fields.setdefault("duration_s", 0.4)
    return Check(id=name, stage=stage, title=TITLES.get(name, "A fact."), status=status, **fields)


def measured(name: str, value: float | None, unit: str, **fields: Any) -> Measurement:
    """A measurement; ``limit`` as (sign, value, source)."""
    limit = fields.pop("limit", None)
    if limit is not None:
        fields["limit"] = Limit(op=limit[0], value=limit[1], source=limit[2])
    return Measurement(name=name, value=value, unit=unit, **fields)


def card(index: int, product: str = "NVIDIA H100 80GB HBM3", node: str = "node-a") -> Device:
    """One H100 of a node, with an identity of its own."""
    return Device(
        name=f"gpu{index}",
        node=node,
        kind="cuda",
        product=product,
        torch_device=f"cuda:{index}",
        uuid=f"GPU-5d0c{index:04x}-77a1-4c0e-9d1f-0242ac110002",
        pci=f"0000:{0x18 + 16 * index:02x}:00.0",
        memory_GiB=79.647,
        architecture="sm_90",
        driver="580.95.05",
        driver_cuda="13.0",
    )


HOST = Host(
    name="node-a",
    kernel="6.8.0-64-generic",
    distribution="Ubuntu 24.04.3 LTS",
    machine="x86_64",
    cpu="AMD EPYC 9654 96-Core Processor",
    cores=192,
    memory_GiB=1511.4,
    shm_GiB=755.7,
    memlock_KiB=-1,
    open_files=1048576,
    container="docker",
)

VERSIONS = Versions(
    driver="580.95.05",
    torch="2.11.0+cu130",
    cuda="13.0",
    nccl="2.28.9",
    cudnn="9.15.1",
    triton="3.6.0",
    python="3.12.3",
    kernel="6.8.0-64-generic",
    packages={
        "torch": Package(version="2.11.0+cu130"),
        "torchvision": Package(version="0.26.0+cu130"),
        "triton": Package(version="3.6.0"),
        "numpy": Package(version="2.2.6"),
        "Jinja2": Package(version="3.1.6"),
        "nvidia_nccl_cu13": Package(version="2.28.9"),
        "flash-attn": Package(version="2.8.3+cu13torch2.11", origin="url"),
        "my-trainer": Package(version="0.3.dev4", origin="editable"),
    },
)


def run(**fields: Any) -> Run:
    """The run of 1 December at node-a."""
    values: dict[str, Any] = {
        "id": "20261201T090412Z-node-a",
        "started": "2026-12-01T09:04:12Z",
        "finished": "2026-12-01T09:05:01Z",
        "duration_s": 48.7,
        "level": "standard",
        "mode": "certify",
        "seed": 1042,
        "tool_version": "1.0.0",
        "argv": ("preflight", "run", "--order", "ORD-1042", "--plan", "plan.toml"),
    }
    return Run(**{**values, **fields})


def order(gpus: int = 2, **fields: Any) -> Order:
    """Order ORD-1042: H100 cards for a week."""
    values: dict[str, Any] = {
        "reference": "ORD-1042",
        "provider": "Example Compute",
        "product": "H100",
        "gpus": gpus,
        "nodes": 1,
        "memory_GB": 80.0,
        "link": "nvlink",
        "start": "2026-12-01",
        "days": 7.0,
    }
    return Order(**{**values, **fields})


def record(checks: tuple[Check, ...], **fields: Any) -> Record:
    """A record with the stages and the verdict that its checks give."""
    values: dict[str, Any] = {
        "run": run(),
        "order": order(),
        "host": HOST,
        "nodes": (Node(name="node-a"),),
        "devices": (card(0), card(1)),
        "versions": VERSIONS,
    }
    values.update(fields)
    verdict = judge(values["run"], checks)
    return Record(checks=checks, stages=_stages(checks), verdict=verdict, **values)


def _stages(checks: tuple[Check, ...]) -> tuple[StageSummary, ...]:
    names = dict.fromkeys(c.stage for c in checks)
    known = [stage.name for stage in STAGES if stage.name in names]
    return tuple(
        StageSummary(
            name=name,
            status=worst(c.status for c in checks if c.stage == name),
            duration_s=round(sum(c.duration_s or 0 for c in checks if c.stage == name), 3),
        )
        for name in known + [name for name in names if name not in BY_NAME]
    )


def bandwidth(top: float, half: float, name: str) -> Series:
    """A saturating curve over message sizes of 8 KiB to 1 GiB."""
    points = tuple((float(2**k), top * 2**k / (2**k + half)) for k in range(13, 31))
    axes = {"x": "message size", "x_unit": "B", "y": name.removeprefix("all-reduce ")}
    return Series(name=name, y_unit="GB/s", points=points, **axes)


def pairs(count: int, slow: int | None = None) -> Matrix:
    """Bandwidth of every ordered pair, with one slow device if asked."""
    names = tuple(f"gpu{i}" for i in range(count))

    def value(i: int, j: int) -> float | None:
        if i == j:
            return None
        return 212.0 + (i + j) % 5 if slow in (i, j) else 338.0 + (7 * i + 3 * j) % 9 - 4

    values = tuple(tuple(value(i, j) for j in range(count)) for i in range(count))
    return Matrix(name="pair bandwidth", rows=names, columns=names, unit="GB/s", values=values)


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
