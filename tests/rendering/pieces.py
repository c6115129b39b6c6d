"""Parts of made-up records: checks, measurements, cards, a host, an order, a run."""

from __future__ import annotations

from typing import Any

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
            duration_s=round(sum(c.duration_s or 0.0 for c in checks if c.stage == name), 3),
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
