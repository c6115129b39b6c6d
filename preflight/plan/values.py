"""Values of single keys: the spellings people use, brought to the one that the plan keeps.

Each reader takes what TOML gave and returns what the struct takes, or raises ValueError, whose
text says what is wrong; what is accepted stands in ``ACCEPTED``.
"""

from __future__ import annotations

import datetime
import difflib
import re
from collections.abc import Callable, Iterable

from preflight.order_folder import reference_fault
from preflight.quantities import parse_duration
from preflight.stages import STAGE_NAMES

DTYPES: dict[str, tuple[str, ...]] = {
    "float32": ("fp32", "f32", "float", "single"),
    "tf32": ("tensorfloat32",),
    "bfloat16": ("bf16",),
    "float16": ("fp16", "f16", "half"),
    "float8": ("fp8", "f8"),
}
"""Each dtype and its other spellings."""
KINDS: dict[str, tuple[str, ...]] = {
    "single": ("none",),
    "ddp": (),
    "fsdp2": ("fsdp",),
    "hsdp": (),
    "tp": (),
    "pp": (),
    "cp": (),
    "ep": (),
    "accelerate": (),
    "deepspeed": (),
}
"""Each kind of strategy and its other spellings."""

_WORD = r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}"
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,199}")
_CHECK_ID = re.compile(r"[a-z][a-z0-9_]*(\.[a-z0-9_]+)+")
_MEASUREMENT = re.compile(r"[A-Za-z][^\x00-\x1f\x7f]{0,99}")

ACCEPTED: dict[str, str] = {
    "order.reference": "the seller's reference, one line of 1 to 200 printable characters",
    "order.gpu": 'a product with or without its count: "2xB200", "B200x2", "2 x B200" or "B200"',
    "order.start": "an ISO date, 2026-12-01, or a date and time, 2026-12-01T09:00:00Z",
    "software.python": 'a version in quotes: "3.12" or "3.12.4" (--python chooses the interpreter)',
    "software.extensions": 'a list of import names, "flash_attn", or of tables '
    '{import = "apex", distribution = "nvidia-apex"}',
    "software.frameworks": 'a list of distribution names, such as ["accelerate"]',
    "software.compile_backend": 'the name of a backend, such as "inductor" or "aot_eager"',
    "software.env": 'a table of text by variable name, such as {NCCL_DEBUG = "WARN"}',
    "model.dtype": "float32 (fp32), tf32, bfloat16 (bf16), float16 (fp16) or float8 (fp8)",
    "model.optimizer": 'the name of an optimizer, such as "adamw"',
    "strategy.kind": "single, ddp, fsdp2 (fsdp), hsdp, tp, pp, cp, ep, accelerate, deepspeed, or "
    "several joined by +, such as fsdp2+tp",
    "checkpoint.path": "a folder as this machine sees it, relative to the plan or absolute",
    "checkpoint.interval": 'a duration in quotes, "30m" or "2h", or a whole number of steps, 500',
    "data.path": "a file or folder as this machine sees it, relative to the plan or absolute",
    "limits": 'performance = "judge" or "record", and floors by measurement name, numbers from 0 '
    "in the unit of the measurement",
    "required.stages": f"a list of stages: {', '.join(STAGE_NAMES)}",
    "required.checks": 'a list of check ids, "<stage>.<fact>", such as ["collective.all_reduce"]',
}
"""What may stand at a key whose type does not say it all."""


def nearest(word: str, known: Iterable[str]) -> str | None:
    """The known word that was probably meant: that with two letters swapped, else the closest."""
    lowered = {name.lower(): name for name in known}
    short = word.lower()[:100]
    swapped = (short[:k] + short[k + 1] + short[k] + short[k + 2 :] for k in range(len(short) - 1))
    found = [name for name in swapped if name in lowered]
    found = found or difflib.get_close_matches(short, lowered, n=1, cutoff=0.6)
    return lowered[found[0]] if found else None


def show_value(value: object) -> str:
    """A value for a message: quoted, control characters escaped, long text cut."""
    if isinstance(value, bool):
        return str(value).lower()
    try:
        text = repr(value[:100] if isinstance(value, str) else value)
    except ValueError:
        return "a number of thousands of digits"
    return text if len(text) <= 60 else f"{text[:57]}..."


def read_reference(value: object) -> object:
    """The reference, checked as ``--order`` is."""
    if not isinstance(value, str):
        return value
    if fault := reference_fault(value):
        raise ValueError(fault)
    return value.strip()


def read_start(value: object) -> object:
    """ISO text of a TOML date, or of a text that is one."""
    if isinstance(value, datetime.date):
        return value.isoformat()
    if not isinstance(value, str):
        return value
    text = value.strip()
    try:
        if re.fullmatch(r"\d{4}-\d\d-\d\d", text, re.ASCII):
            return datetime.date.fromisoformat(text).isoformat()
        if re.fullmatch(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d)?(Z|[+-]\d\d:\d\d)?", text, re.ASCII):
            return datetime.datetime.fromisoformat(text.replace("Z", "+00:00")).isoformat()
    except ValueError as error:
        raise ValueError(f"{show_value(value)} is not a date ({error})") from error
    raise ValueError(f"{show_value(value)} is not a date")


def read_link(value: object) -> object:
    """The link in lower case."""
    return value.strip().lower() if isinstance(value, str) else value


def read_dtype(value: object) -> object:
    """The name torch has for the dtype."""
    if not isinstance(value, str):
        return value
    return _spelled(value.strip().lower().removeprefix("torch."), DTYPES, value)


def read_kind(value: object) -> object:
    """Kinds joined by ``+``, in lower case."""
    if not isinstance(value, str):
        return value
    kinds = [_spelled(part.strip().lower(), KINDS, value) for part in value.split("+")]
    if len(set(kinds)) != len(kinds):
        raise ValueError(f"{show_value(value)} names a kind twice")
    if "single" in kinds and len(kinds) > 1:
        raise ValueError(f"{show_value(value)}: single stands alone")
    if {"ddp", "fsdp2"} <= set(kinds):
        raise ValueError(f"{show_value(value)}: replicas of a sharded model are hsdp")
    return "+".join(kinds)


def read_python(value: object) -> object:
    """A version of Python; a number is refused, as TOML reads 3.10 as 3.1."""
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        raise ValueError("a version is text: TOML reads 3.10 as the number 3.1")
    if isinstance(value, str) and not re.fullmatch(r"3\.\d{1,2}(\.\d{1,3})?", value, re.ASCII):
        raise ValueError(f"{show_value(value)} is not a version of Python 3")
    return value


def read_extension(value: object) -> object:
    """A table for an import name; a table is checked and kept."""
    if isinstance(value, str):
        value = {"import": value}
    if not isinstance(value, dict):
        raise ValueError(f"{show_value(value)} is neither an import name nor a table")
    if unknown := [key for key in value if key not in ("import", "distribution")]:
        raise ValueError(
            f"unknown key {show_value(unknown[0])}; an extension has import, distribution"
        )
    module, distribution = value.get("import"), value.get("distribution")
    if module is None:
        raise ValueError("the table has no import")
    if not isinstance(module, str) or not all(map(str.isidentifier, module.split("."))):
        raise ValueError(
            f"{show_value(module)} is not an import name such as flash_attn or apex.amp"
        )
    if distribution is not None and not _is_word(distribution):
        raise ValueError(f"{show_value(distribution)} is not the name of a distribution")
    return value


def read_word(value: object) -> object:
    """A name without blanks, such as that of a distribution or of a backend."""
    if isinstance(value, str) and not _is_word(value):
        raise ValueError(
            f"{show_value(value)} is not a name: letters, digits, dot, dash, underscore"
        )
    return value


def read_optimizer(value: object) -> object:
    """The name of an optimizer in lower case."""
    value = read_word(value)
    return value.lower() if isinstance(value, str) else value


def read_variable(name: str, value: object) -> object:
    """The text of an environment variable."""
    if not _VARIABLE.fullmatch(name):
        raise ValueError(f"{show_value(name)} is not the name of a variable")
    if not isinstance(value, str):
        raise ValueError(f"{show_value(value)} is not text: put it in quotes")
    if "\0" in value:
        raise ValueError("a variable cannot hold a NUL")
    return value


def read_path(value: object) -> object:
    """A path as written; addresses and control characters are refused."""
    if not isinstance(value, str):
        return value
    if not value.strip() or any(ord(character) < 32 for character in value):
        raise ValueError(f"{show_value(value)} is not a path")
    if re.match(r"[A-Za-z][A-Za-z0-9+.-]{0,30}://", value):
        raise ValueError(f"{show_value(value)} is an address; preflight tests what is mounted here")
    return value


def read_interval(value: object) -> object:
    """A duration as written, once it is seen to be one; steps as they are."""
    if isinstance(value, str):
        parse_duration(value)
        return value.strip()
    return value


def read_stage(value: object) -> object:
    """The name of a stage."""
    if value not in STAGE_NAMES:
        guess = nearest(value, STAGE_NAMES) if isinstance(value, str) else None
        hint = f"; did you mean {guess}?" if guess else ""
        raise ValueError(f"unknown stage {show_value(value)}{hint}")
    return value


def read_check_id(value: object) -> object:
    """The id of a check, of a stage that exists."""
    if not isinstance(value, str) or not _CHECK_ID.fullmatch(value):
        raise ValueError(f"{show_value(value)} is not the id of a check")
    stage = value.partition(".")[0]
    read_stage(stage)
    return value


def read_floor_name(name: str) -> None:
    """Nothing, or ValueError where no measurement can have the name."""
    if not _MEASUREMENT.fullmatch(name):
        raise ValueError(f"{show_value(name)} is not the name of a measurement")


READERS: dict[str, Callable[[object], object]] = {
    "order.reference": read_reference,
    "order.start": read_start,
    "order.link": read_link,
    "software.python": read_python,
    "software.compile_backend": read_word,
    "model.dtype": read_dtype,
    "model.optimizer": read_optimizer,
    "strategy.kind": read_kind,
    "checkpoint.path": read_path,
    "checkpoint.interval": read_interval,
    "data.path": read_path,
}
"""Readers of whole values, by key."""
ELEMENT_READERS: dict[str, Callable[[object], object]] = {
    "software.extensions": read_extension,
    "software.frameworks": read_word,
    "required.stages": read_stage,
    "required.checks": read_check_id,
}
"""Readers of the elements of a list, by key."""


def _spelled(word: str, spellings: dict[str, tuple[str, ...]], value: str) -> str:
    for name, others in spellings.items():
        if word == name or word in others:
            return name
    guess = nearest(word, [name for key in spellings for name in (key, *spellings[key])])
    hint = f"; did you mean {guess}?" if guess else ""
    raise ValueError(f"unknown name {show_value(word if word else value)}{hint}")


def _is_word(value: object) -> bool:
    return isinstance(value, str) and re.fullmatch(_WORD, value) is not None
