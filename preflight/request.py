"""From flags and plan to a checked request; every mistake here means that nothing ran."""

from __future__ import annotations

import os
import secrets
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

from preflight.engine import Request
from preflight.errors import UsageError
from preflight.events import Options
from preflight.folders import checks_folder
from preflight.hardware.profiles import Profile, read_profile
from preflight.injection import read_injections
from preflight.order_folder import check_reference
from preflight.plan import Plan, load_plan, order_of, plan_to_builtins
from preflight.quantities import parse_duration
from preflight.records import Level
from preflight.redaction import redact_argv
from preflight.run_folder import DEFAULT, VARIABLE
from preflight.stages import STAGE_NAMES

DEADLINES: dict[str, str] = {"quick": "2m", "standard": "15m"}
"""Of the whole run, by level."""
REHEARSAL_RANKS = 2
"""The smallest number that communicates."""
MOST_RANKS = 64


def build_request(
    *,
    order: str | None,
    plan_path: str | None,
    level: Level,
    accelerator: str,
    gpus: int | None,
    python: str | None,
    only: str | None,
    skip: str | None,
    checks: Sequence[str],
    out: str | None,
    strict: bool,
    deadline: str | None,
    argv: Sequence[str],
    check_deadline: str | None = None,
    inject: Sequence[str] = (),
    simulate: str | None = None,
) -> Request:
    """The request; raises UsageError that names the flag, or the file, line and key of the plan."""
    if level == "soak":
        raise UsageError(
            "the soak comes in a later version of preflight",
            where="--level",
            mend="use --level standard",
        )
    if plan_path == "":
        raise UsageError("no file is named", where="--plan", mend="name one, or leave it out")
    plan = load_plan(Path(plan_path)) if plan_path is not None else Plan()
    selected = select_stages(only, skip)
    profile = None if simulate is None else _profile(simulate, accelerator)
    return Request(
        options=Options(
            python=find_python(python),
            level=level,
            mode="simulate" if profile else "rehearse" if accelerator == "cpu" else "certify",
            accelerator=profile.kind if profile else accelerator,
            simulated=profile.text if profile else None,
            ranks=_ranks(gpus, "cpu" if profile else accelerator),
            seed=secrets.randbelow(2**31),
            deadline_s=_duration(DEADLINES[level] if deadline is None else deadline, "--deadline"),
            check_deadline_s=(
                None if check_deadline is None else _duration(check_deadline, "--check-deadline")
            ),
            injections=read_injections(inject, selected),
            selected=selected,
            checks_folders=(str(checks_folder()), *own_checks_folders(checks)),
            plan=plan_to_builtins(plan),
            plan_file=None if plan_path is None else str(Path(plan_path).absolute()),
        ),
        plan=plan,
        order=order_of(plan, reference=check_reference(order) if order is not None else None),
        out=reports_root(out),
        strict=strict,
        argv=redact_argv(argv),
    )


def reports_root(out: str | None) -> Path:
    """--out, else PREFLIGHT_REPORTS, else ./preflight-reports."""
    if out == "":
        raise UsageError("no folder is named", where="--out", mend="name one, or leave it out")
    return Path(out or os.environ.get(VARIABLE) or DEFAULT)


def select_stages(only: str | None, skip: str | None) -> tuple[str, ...]:
    """Stages to run, in path order; raises UsageError for a name that is not on the path."""
    if only is not None and skip is not None:
        raise UsageError("give one of the two", where="--only and --skip", mend="drop one of them")
    stages = [name for name in STAGE_NAMES if name != "soak"]
    if only is not None:
        chosen = _names(only, "--only")
        return tuple(name for name in stages if name in chosen)
    left_out = _names(skip, "--skip") if skip is not None else set()
    kept = tuple(name for name in stages if name not in left_out)
    if not kept:
        raise UsageError("nothing is left to run", where="--skip", mend="skip fewer stages")
    return kept


def _names(text: str, flag: str) -> set[str]:
    names = {name.strip() for name in text.split(",") if name.strip()}
    known = [name for name in STAGE_NAMES if name != "soak"]
    unknown = sorted(names - set(known))
    if unknown or not names:
        what = f"no stage is called {unknown[0]!r}" if unknown else "no stage is named"
        raise UsageError(what, where=flag, mend="stages are " + ", ".join(known))
    return names


def find_python(text: str | None) -> str:
    """Absolute path of the interpreter under test: --python, else the one that runs preflight.

    A virtual environment's folder means the interpreter in it. Links are kept, since a virtual
    environment is found by them.
    """
    if text is None:
        return sys.executable
    path = Path(text).expanduser()
    if path.is_dir():
        path = path / "bin" / "python"
    found = shutil.which(str(path))
    if found is None:
        raise UsageError(
            f"{text} is no program that can be run",
            where="--python",
            mend="give the path of an interpreter, such as .venv/bin/python, or of its environment",
        )
    return str(Path(found).absolute())


def _profile(text: str, accelerator: str) -> Profile:
    """The machine to simulate; raises UsageError for one that is not known."""
    if accelerator != "auto":
        raise UsageError(
            "a simulated machine brings its own devices",
            where="--device and --simulate",
            mend="drop --device",
        )
    return read_profile(text, where="--simulate")


def _ranks(gpus: int | None, accelerator: str) -> int:
    if gpus is None:
        return REHEARSAL_RANKS
    if accelerator != "cpu":
        raise UsageError(
            "the number of ranks can be chosen in a rehearsal only",
            where="--gpus",
            mend="add --device cpu or --simulate, or choose cards with CUDA_VISIBLE_DEVICES",
        )
    if not 1 <= gpus <= MOST_RANKS:
        raise UsageError(f"{gpus} is not from 1 to {MOST_RANKS}", where="--gpus", mend="try 2")
    return gpus


def _duration(text: str, flag: str) -> float:
    try:
        return parse_duration(text)
    except ValueError as error:
        raise UsageError(str(error), where=flag, mend=f"for example {flag} 10m") from error


def own_checks_folders(checks: Sequence[str]) -> tuple[str, ...]:
    """Absolute folders of --checks; raises UsageError for one without a check file."""
    for text in checks:
        folder = Path(text)
        if not folder.is_dir() or not any(folder.glob("check_*.py")):
            raise UsageError(
                f"{text} is no folder with files named check_*.py",
                where="--checks",
                mend="README.md shows a check of ten lines",
            )
    return tuple(str(Path(text).absolute()) for text in checks)
