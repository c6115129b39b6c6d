"""From what a paste says to one answer for each stage of the path, and the first cause."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from preflight.compat.dumps.card_names import architecture_of
from preflight.compat.dumps.facts import Facts, Gpu
from preflight.compat.dumps.findings import Finding, Status
from preflight.compat.dumps.judging_build import (
    judge_arch,
    judge_capability,
    judge_compile,
    judge_import,
)
from preflight.compat.dumps.judging_logs import judge_collectives, judge_hits
from preflight.compat.dumps.judging_machine import (
    NOT_VISIBLE,
    ProductMemory,
    judge_driver,
    judge_order,
    judge_system,
)
from preflight.compat.dumps.judging_packages import judge_packages
from preflight.compat.dumps.reading import Pasted
from preflight.stages import STAGE_NAMES

_RANK = {"fail": 3, "warn": 2, "pass": 1, "unknown": 0}
MOST_LINES = 16
NOT_REACHED = "not reached"
CANNOT_TELL = "cannot tell from this text"

COMMANDS: dict[str, str] = {
    "order": "preflight inspect; nvidia-smi -L or rocm-smi --showproductname; preflight run "
    "--order REF --plan plan.toml compares with what was bought",
    "driver": 'nvidia-smi (or rocminfo), and python -c "import torch; print(torch.version.cuda, '
    'torch.version.hip, torch.cuda.is_available())"',
    "system": "preflight run --only system; nvidia-smi -q, nvidia-smi topo -m, dmesg | grep -i -e "
    "xid -e nvrm -e amdgpu, df -h /dev/shm",
    "arch": 'python -c "import torch; print(torch.cuda.get_arch_list(), '
    'torch.cuda.get_device_properties(0))"',
    "import": "preflight audit; preflight run --only import --plan plan.toml imports each "
    "extension of the plan in a fresh process",
    "kernel": "preflight run --only kernel",
    "forward": "preflight run --only forward",
    "backward": "preflight run --only backward",
    "compile": "preflight run --only compile",
    "collective": "preflight run --only collective; NCCL_DEBUG=INFO in a run of your own",
    "strategy": "preflight run --only strategy --plan plan.toml",
    "checkpoint": "preflight run --only checkpoint --plan plan.toml",
    "soak": "preflight run --level soak",
}
"""What decides a stage that a text cannot."""


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """What a paste says of one stage."""

    status: Status
    reason: str
    action: str
    lines: tuple[int, ...] = ()


class Cause(msgspec.Struct, frozen=True, kw_only=True):
    """The first proved failure on the path."""

    stage: str
    reason: str
    action: str
    lines: tuple[int, ...] = ()


def judge(
    pasted: Pasted, *, gpu: str | None = None, products: Sequence[ProductMemory] = ()
) -> tuple[dict[str, Answer], Cause | None]:
    """An answer for every stage, and the first cause.

    ``gpu`` names the card that the text is about, for a text that names none; ``products`` are
    those whose memory is known.
    """
    facts = pasted.facts
    asked = None
    if gpu:
        asked = Gpu(name=gpu, architecture=architecture_of(gpu), line=0, tool="--gpu")
    findings = _findings(facts, pasted, asked, products)
    by_stage = {stage: [one for one in findings if one.stage == stage] for stage in STAGE_NAMES}
    answers = {stage: _answer(stage, found) for stage, found in by_stage.items()}
    _block(answers, by_stage)
    return answers, _first_cause(by_stage, answers)


def _findings(
    facts: Facts, pasted: Pasted, asked: Gpu | None, products: Sequence[ProductMemory]
) -> list[Finding]:
    arch = [*judge_arch(facts, asked), *judge_capability(facts)]
    statuses = [one.status for one in arch if one.stage == "arch"]
    worst = max(statuses, key=lambda word: _RANK[word], default="unknown")
    found = [
        *judge_order(facts, products),
        *judge_driver(facts),
        *judge_system(facts),
        *arch,
        *judge_import(facts),
        *judge_compile(facts),
        *judge_packages(facts),
        *judge_collectives(facts, pasted.hits),
        *judge_hits(pasted.hits, facts, {"arch": worst}),
    ]
    if worst == "pass":  # what is published outweighs what a message only makes likely
        found = [one for one in found if (one.stage, one.status) != ("arch", "warn")]
    return found


def _answer(stage: str, found: Iterable[Finding]) -> Answer:
    ranked = sorted(found, key=lambda one: (-_RANK[one.status], one.follows))
    if not ranked:
        return Answer(status="unknown", reason=CANNOT_TELL, action=COMMANDS[stage])
    first = ranked[0]
    same = [one for one in ranked if one.status == first.status]
    action = first.action or (COMMANDS[stage] if first.status == "unknown" else "")
    reasons = list(dict.fromkeys(one.reason for one in same))
    more = f" (and {len(reasons) - 3} more)" if len(reasons) > 3 else ""
    return Answer(
        status=first.status,
        reason="; ".join(reasons[:3]) + more,
        action=action,
        lines=tuple(sorted({line for one in same for line in one.lines if line}))[:MOST_LINES],
    )


_ON_THE_CARD = (
    "arch", "kernel", "forward", "backward", "compile", "collective", "strategy", "checkpoint",
)  # fmt: skip


def _block(answers: dict[str, Answer], by_stage: dict[str, list[Finding]]) -> None:
    """What cannot have been reached is unknown, although a table alone would let it pass."""
    blocker = next(
        (
            stage
            for stage in ("order", "driver", "arch", "import", "kernel")
            if answers[stage].status == "fail" and _gates(stage, by_stage[stage])
        ),
        None,
    )
    if blocker is None:
        return
    position = STAGE_NAMES.index(blocker)
    for stage in _ON_THE_CARD:
        if STAGE_NAMES.index(stage) <= position or answers[stage].status not in ("pass", "unknown"):
            continue
        if blocker == "import" and answers[stage].status == "pass":
            continue  # an extension that fails says nothing against torch's own stages
        answers[stage] = Answer(
            status="unknown",
            reason=f"{NOT_REACHED}: {blocker} comes first",
            action=f"mend {blocker}, then {COMMANDS[stage]}",
        )


def _gates(stage: str, found: list[Finding]) -> bool:
    """A missing card gates; slices or an odd count do not."""
    if stage != "order":
        return True
    return any(one.status == "fail" and one.reason.startswith(NOT_VISIBLE) for one in found)


def _first_cause(by_stage: dict[str, list[Finding]], answers: dict[str, Answer]) -> Cause | None:
    for stage in STAGE_NAMES:
        proved = [one for one in by_stage[stage] if one.status == "fail" and not one.follows]
        if answers[stage].status == "fail" and proved:
            first = proved[0]
            return Cause(
                stage=stage,
                reason=first.reason,
                action=first.action,
                lines=first.lines[:MOST_LINES],
            )
    return None
