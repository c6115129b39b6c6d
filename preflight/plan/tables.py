"""The tables of a plan: frozen structs in the order in which they stand in ``plan.toml``.

Each key carries its meaning and an example, from which the schema, the messages about mistakes and
the file that ``preflight init`` writes are made.
"""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

import msgspec
from msgspec import Meta

from preflight.quantities import MOST_GPUS, parse_duration

LinkName: TypeAlias = Literal["nvlink", "xgmi", "pcie"]
DtypeName: TypeAlias = Literal["float32", "tf32", "bfloat16", "float16", "float8"]
Performance: TypeAlias = Literal["judge", "record"]

Gpus: TypeAlias = Annotated[int, Meta(ge=1, le=MOST_GPUS)]
Size: TypeAlias = Annotated[int, Meta(ge=1, le=1_000_000_000)]
Parameters: TypeAlias = Annotated[int, Meta(ge=1, le=10**15)]
GB: TypeAlias = Annotated[float, Meta(gt=0, le=1_000_000)]
Days: TypeAlias = Annotated[float, Meta(gt=0, le=3660)]
Name: TypeAlias = Annotated[str, Meta(min_length=1, max_length=100)]
PathText: TypeAlias = Annotated[str, Meta(min_length=1, max_length=4096)]
Floor: TypeAlias = Annotated[float, Meta(ge=0)]
Steps: TypeAlias = Annotated[int, Meta(ge=1, le=10**12)]


class Table(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Base of every table; each says ``frozen`` and ``kw_only`` itself, for mypy and msgspec."""


class PlannedOrder(Table, frozen=True, kw_only=True):
    """What was bought, or is about to be."""

    reference: (
        Annotated[
            str,
            Meta(
                description="the seller's own reference; may be given by --order",
                examples=["ORD-1042"],
            ),
        ]
        | None
    ) = None
    provider: Annotated[Name, Meta(description="the seller", examples=["Example Cloud"])] | None = (
        None
    )
    gpu: (
        Annotated[Name, Meta(description="product, or count and product", examples=["2xB200"])]
        | None
    ) = None
    """The product alone once decoded (``B200``); its count stands in ``gpus``."""
    gpus: Annotated[Gpus, Meta(description="cards over all nodes", examples=[2])] | None = None
    nodes: Annotated[Gpus, Meta(description="machines", examples=[1])] | None = None
    lots: Annotated[Gpus, Meta(description="lots the order is made of", examples=[1])] | None = None
    gpus_per_lot: Annotated[Gpus, Meta(description="cards in a lot", examples=[2])] | None = None
    memory_GB: (
        Annotated[
            GB,
            Meta(description="memory of one card in decimal GB, as advertised", examples=[180]),
        ]
        | None
    ) = None
    link: (
        Annotated[LinkName, Meta(description="link between the cards", examples=["nvlink"])] | None
    ) = None
    start: (
        Annotated[str, Meta(description="first day of the rental", examples=["2026-12-01"])] | None
    ) = None
    """ISO date, or date and time: ``2026-12-01T09:00:00+00:00``."""
    days: Annotated[Days, Meta(description="length of the rental", examples=[14])] | None = None


class Extension(Table, frozen=True, kw_only=True):
    """A compiled extension of torch that the campaign imports."""

    module: Annotated[str, Meta(description="dotted import name", examples=["flash_attn"])] = (
        msgspec.field(name="import")
    )
    distribution: (
        Annotated[Name, Meta(description="name for pip, where it differs", examples=["flash-attn"])]
        | None
    ) = None


class Software(Table, frozen=True, kw_only=True):
    """What the campaign imports."""

    python: (
        Annotated[str, Meta(description="version the campaign needs", examples=["3.12"])] | None
    ) = None
    extensions: Annotated[
        tuple[Extension, ...],
        Meta(
            description="compiled extensions by import name; each must import and run a kernel",
            examples=[["flash_attn", {"import": "apex", "distribution": "nvidia-apex"}]],
        ),
    ] = ()
    frameworks: Annotated[
        tuple[Name, ...],
        Meta(description="training frameworks", examples=[["accelerate", "deepspeed"]]),
    ] = ()
    compile_backend: Annotated[
        Name, Meta(description="backend of torch.compile", examples=["inductor"])
    ] = "inductor"
    env: Annotated[
        dict[str, str],
        Meta(
            description="variables that the campaign sets",
            examples=[{"NCCL_DEBUG": "WARN"}],
        ),
    ] = {}


class Model(Table, frozen=True, kw_only=True):
    """What is trained."""

    parameters: (
        Annotated[Parameters, Meta(description="trained parameters", examples=[8000000000])] | None
    ) = None
    layers: Annotated[Size, Meta(description="transformer blocks", examples=[32])] | None = None
    hidden: Annotated[Size, Meta(description="width of the model", examples=[4096])] | None = None
    heads: (
        Annotated[Size, Meta(description="attention heads; they divide hidden", examples=[32])]
        | None
    ) = None
    vocabulary: Annotated[Size, Meta(description="tokens known", examples=[128256])] | None = None
    sequence: Annotated[Size, Meta(description="tokens of a sample", examples=[8192])] | None = None
    dtype: (
        Annotated[DtypeName, Meta(description="dtype of the arithmetic", examples=["bfloat16"])]
        | None
    ) = None
    optimizer: (
        Annotated[Name, Meta(description="optimizer, lower case", examples=["adamw"])] | None
    ) = None
    micro_batch: (
        Annotated[Size, Meta(description="samples of one rank in one pass", examples=[1])] | None
    ) = None
    activation_checkpointing: (
        Annotated[bool, Meta(description="recompute activations in backward", examples=[True])]
        | None
    ) = None


class Strategy(Table, frozen=True, kw_only=True):
    """How the ranks share the work."""

    kind: (
        Annotated[
            str,
            Meta(
                description="single, ddp, fsdp2, hsdp, tp, pp, cp, ep, accelerate, deepspeed, "
                "or several joined by +",
                examples=["fsdp2+tp"],
            ),
        ]
        | None
    ) = None
    data: Annotated[Gpus, Meta(description="replicas of the model", examples=[1])] | None = None
    shard: Annotated[Gpus, Meta(description="ranks sharing one copy", examples=[2])] | None = None
    tensor: Annotated[Gpus, Meta(description="ranks sharing one layer", examples=[1])] | None = None
    pipeline: Annotated[Gpus, Meta(description="groups of layers", examples=[1])] | None = None
    expert: Annotated[Gpus, Meta(description="ranks sharing experts", examples=[1])] | None = None
    context: (
        Annotated[Gpus, Meta(description="ranks sharing one sequence", examples=[1])] | None
    ) = None


class Checkpoint(Table, frozen=True, kw_only=True):
    """Where and how often the state is saved."""

    path: (
        Annotated[
            PathText,
            Meta(description="folder, relative to this file", examples=["./checkpoints"]),
        ]
        | None
    ) = None
    keep: Annotated[Size, Meta(description="checkpoints kept", examples=[3])] | None = None
    interval: (
        Annotated[
            str | Steps,
            Meta(description='time between two ("30m"), or steps (500)', examples=["30m"]),
        ]
        | None
    ) = None

    @property
    def interval_s(self) -> float | None:
        """Seconds between two checkpoints; None where the plan gives steps, or nothing."""
        return parse_duration(self.interval) if isinstance(self.interval, str) else None

    @property
    def interval_steps(self) -> int | None:
        """Steps between two checkpoints; None where the plan gives a time, or nothing."""
        return self.interval if isinstance(self.interval, int) else None


class Data(Table, frozen=True, kw_only=True):
    """What is read."""

    path: (
        Annotated[
            PathText,
            Meta(description="file or folder, relative to this file", examples=["./data"]),
        ]
        | None
    ) = None


class Limits(Table, frozen=True, kw_only=True):
    """Bounds of the user's own; in the file each floor is a key beside ``performance``."""

    performance: Annotated[
        Performance,
        Meta(description='"judge" numbers of speed, or only "record" them', examples=["judge"]),
    ] = "judge"
    floors: Annotated[
        dict[str, Floor],
        Meta(
            description="lowest value by measurement name, in the unit of the measurement",
            examples=[{"all-reduce bus bandwidth, largest": 400.0}],
        ),
    ] = {}


class Required(Table, frozen=True, kw_only=True):
    """What must pass; without this table, what each check says of itself."""

    stages: Annotated[
        tuple[str, ...],
        Meta(description="stages every check of which must pass", examples=[["compile"]]),
    ] = ()
    checks: Annotated[
        tuple[str, ...],
        Meta(description="ids of single checks", examples=[["collective.all_reduce"]]),
    ] = ()


class Plan(Table, frozen=True, kw_only=True):
    """What the campaign will do; every table and key may be left out."""

    order: PlannedOrder = msgspec.field(default_factory=PlannedOrder)
    software: Software = msgspec.field(default_factory=Software)
    model: Model = msgspec.field(default_factory=Model)
    strategy: Strategy = msgspec.field(default_factory=Strategy)
    checkpoint: Checkpoint = msgspec.field(default_factory=Checkpoint)
    data: Data = msgspec.field(default_factory=Data)
    limits: Limits = msgspec.field(default_factory=Limits)
    required: Required = msgspec.field(default_factory=Required)


TABLES: dict[str, type[Table]] = {
    "order": PlannedOrder,
    "software": Software,
    "model": Model,
    "strategy": Strategy,
    "checkpoint": Checkpoint,
    "data": Data,
    "limits": Limits,
    "required": Required,
}
