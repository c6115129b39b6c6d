"""Mistakes in a plan: each ends in a message that says where and what is accepted."""

from __future__ import annotations

import os
import random
import time
from pathlib import Path
from typing import Any

import pytest

from preflight.errors import PlanError
from preflight.plan import Plan, decode_plan, load_plan
from preflight.plan.decoding import LARGEST_PLAN

PLANS = Path(__file__).parents[1] / "data" / "plans"


def _refusal(text: str) -> PlanError:
    with pytest.raises(PlanError) as caught:
        decode_plan(text, where="plan.toml")
    return caught.value


# What each mistake says

MISTAKES: list[tuple[str, str, str, str]] = [
    # text, place, what it says, what it accepts
    ("[order]\n\ngpus = 0", "3: order.gpus", "0 is not a whole number from 1", "such as 2"),
    ("[order]\ngpus = -1", "2: order.gpus", "-1 is not a whole number", "cards over all nodes"),
    ("[order]\ngpus = true", "2: order.gpus", "true is not a whole number", "1 to 100000"),
    ("[order]\ngpus = 1.5", "2: order.gpus", "1.5 is not a whole number", "1 to 100000"),
    ('[order]\ngpus = "2"', "2: order.gpus", "'2' is not a whole number", "1 to 100000"),
    ("[order]\ngpus = 1e30", "2: order.gpus", "is not a whole number", "1 to 100000"),
    ("[order]\ngpus = inf", "2: order.gpus", "inf is not a finite number", "1 to 100000"),
    ("[order]\ndays = nan", "2: order.days", "nan is not a finite number", "above 0"),
    ("[order]\ndays = 0", "2: order.days", "0 is not a number above 0", "length of the rental"),
    ("[order]\ndays = false", "2: order.days", "false is not a number", "above 0"),
    ('[order]\nmemory_GB = "180GB"', "2: order.memory_GB", "'180GB' is not", "decimal GB"),
    ('[order]\nlink = "sli"', "2: order.link", "'sli' is not one of", '"nvlink", "pcie", "xgmi"'),
    ('[order]\ngpu = "2x"', "2: order.gpu", "does not name a product", '"2xB200", "B200x2"'),
    ('[order]\ngpu = ""', "2: order.gpu", "is not text of 1", '"2xB200"'),
    ('[order]\ngpu = "MI300x8"', "2: order.gpu", "may mean MI300 or MI300X", "B200"),
    ('[order]\ngpu = "2xB200"\ngpus = 4', "3: order.gpus", "contradicts the 2 cards", "same"),
    ("[order]\nlots = 3\ngpus_per_lot = 2\ngpus = 8", "2: order.lots", "are 6 cards", "equal"),
    ("[order]\nlots = 1e5\ngpus_per_lot = 2", "2: order.lots", "200000 cards", "at most"),
    ("[order]\ngpus = 2\nnodes = 4", "3: order.nodes", "cannot share 2 cards", "one card a node"),
    ('[order]\nstart = "1.12.2026"', "2: order.start", "is not a date", "2026-12-01"),
    ('[order]\nstart = "2026-02-30"', "2: order.start", "day", "2026-12-01"),
    ("[order]\nstart = 2026", "2: order.start", "2026 is not text", "ISO date"),
    ("[order]\nstart = 09:00:00", "2: order.start", "is not text", "ISO date"),
    ('[order]\nreference = "a\\nb"', "2: order.reference", "line break (U+000A", "one line"),
    ('[order]\nreference = ""', "2: order.reference", "the reference is empty", "one line"),
    ("[order]\nreference = 1042", "2: order.reference", "1042 is not text", "one line"),
    (
        "[order]\nmemory = 1",
        "2: order.memory",
        "unknown key; did you mean memory_GB?",
        "reference,",
    ),
    ("[order]\ngpsu = 1", "2: order.gpsu", "did you mean gpus?", "accepted in [order]"),
    ("[order]\nGPUS = 1", "2: order.GPUS", "did you mean gpus?", "accepted in [order]"),
    ("[order]\nheads = 1", "2: order.heads", "did you mean model.heads?", "accepted in [order]"),
    ("[order]\nzzzzzz = 1", "2: order.zzzzzz", "unknown key", "accepted in [order]"),
    ("[order]\ngpus.x = 1", "2: order.gpus", "is not a whole number", "such as 2"),
    ("[modle]\nheads = 1", "1: modle", "unknown table; did you mean [model]?", "[order], [soft"),
    ("gpus = 2", "1: gpus", "did you mean order.gpus, below the header [order]?", "[order]"),
    ("order = 2", "1: order", "2 is not a table", "the header [order]"),
    ("[[order]]\ngpus = 2", "1: order", "an array of tables is not a table", "the header [order]"),
    ("[software]\npython = 3.10", "2: software.python", "3.10 as the number 3.1", '"3.12"'),
    ('[software]\npython = "py3"', "2: software.python", "not a version", "--python"),
    ('[software]\nextensions = "x"', "2: software.extensions", "'x' is not a list", "import names"),
    (
        '[software]\nextensions = ["a",\n"b c"]',
        "3: software.extensions[1]",
        "'b c' is not an import name",
        "import names",
    ),
    (
        "[software]\nextensions = [{x = 1}]",
        "2: software.extensions[0]",
        "unknown key 'x'",
        "import",
    ),
    ("[software]\nextensions = [{}]", "2: software.extensions[0]", "has no import", "import"),
    ("[software]\nextensions = [1]", "2: software.extensions[0]", "1 is neither", "import names"),
    ('[software]\nframeworks = ["a b"]', "2: software.frameworks[0]", "not a name", "accelerate"),
    ('[software]\ncompile_backend = ""', "2: software.compile_backend", "not a name", "inductor"),
    ("[software]\nenv = {A = 1}", "2: software.env.A", "1 is not text", "by variable name"),
    ("[software.env]\n\nA = 1", "3: software.env.A", "1 is not text", "by variable name"),
    ('[software]\nenv = {"A B" = "1"}', "2: software.env.'A B'", "not the name", "by variable"),
    ('[software]\nenv = {A = "\\u0000"}', "2: software.env.A", "NUL", "by variable name"),
    ("[software]\nenv = 3", "2: software.env", "3 is not a table", "by variable name"),
    ('[model]\ndtype = "bf17"', "2: model.dtype", "did you mean bf16?", "bfloat16 (bf16)"),
    ("[model]\ndtype = 16", "2: model.dtype", "16 is not one of", "bfloat16 (bf16)"),
    ("[model]\nhidden = 64\nheads = 7", "3: model.heads", "do not divide the 64", "divides hidden"),
    ("[model]\nparameters = 0", "2: model.parameters", "0 is not a whole number", "parameters"),
    ('[model]\nparameters = "7B"', "2: model.parameters", "'7B' is not a whole", "8000000000"),
    ("[model]\nactivation_checkpointing = 1", "2: model.activation_checkpointing", "1", "true or"),
    ('[model]\noptimizer = "a b"', "2: model.optimizer", "not a name", "adamw"),
    ('[strategy]\nkind = "fsdq"', "2: strategy.kind", "did you mean fsdp", "joined by +"),
    ('[strategy]\nkind = "tp+tp"', "2: strategy.kind", "names a kind twice", "joined by +"),
    ('[strategy]\nkind = "ddp+fsdp"', "2: strategy.kind", "are hsdp", "joined by +"),
    ('[strategy]\nkind = "single+tp"', "2: strategy.kind", "stands alone", "joined by +"),
    ('[strategy]\nkind = ""', "2: strategy.kind", "unknown name ''", "joined by +"),
    ('[strategy]\nkind = "single"\nshard = 2', "2: strategy.kind", "one rank", "another kind"),
    (
        "[order]\ngpus = 8\n[strategy]\nshard = 3",
        "4: strategy.shard",
        "shard 3 = 3 contradicts the 8 cards",
        "product is 8",
    ),
    (
        "[order]\ngpus = 8\n[strategy]\ndata = 1\nshard = 2\ntensor = 2",
        "5: strategy.shard",
        "data 1 x shard 2 x tensor 2 = 4 contradicts the 8 cards",
        "product is 8",
    ),
    (
        '[order]\ngpus = 8\n[strategy]\nkind = "fsdp2"\nshard = 4',
        "5: strategy.shard",
        "contradicts the 8 cards",
        "product is 8",
    ),
    (
        "[order]\ngpus = 8\n[strategy]\nexpert = 3",
        "4: strategy.expert",
        "does not divide",
        "divide",
    ),
    ('[checkpoint]\ninterval = "30"', "2: checkpoint.interval", "no unit: write 30s", "steps, 500"),
    ("[checkpoint]\ninterval = 0", "2: checkpoint.interval", "0 is not", "steps, 500"),
    ("[checkpoint]\ninterval = 1.5", "2: checkpoint.interval", "1.5 is not", "steps, 500"),
    ('[checkpoint]\npath = ""', "2: checkpoint.path", "not a path", "a folder"),
    ('[checkpoint]\npath = "s3://b/c"', "2: checkpoint.path", "an address", "a folder"),
    ('[checkpoint]\npath = "a\\u0000"', "2: checkpoint.path", "not a path", "a folder"),
    ("[checkpoint]\nkeep = 0", "2: checkpoint.keep", "0 is not", "checkpoints kept"),
    ("[data]\npath = 3", "2: data.path", "3 is not text", "a file or folder"),
    ('[limits]\nperformance = "no"', "2: limits.performance", "'no' is not one of", "judge"),
    ('[limits]\nperformence = "judge"', "2: limits.performence", "mean performance?", "floors"),
    ("[limits]\nx = -1", "2: limits.x", "-1 is not a number from 0", "floors"),
    ("[limits]\na.b = true", "2: limits.a.b", "true is not a number", "floors"),
    ("[limits]\nx = inf", "2: limits.x", "inf is not a finite number", "floors"),
    ('[limits]\n"9 lives" = 1', "2: limits.'9 lives'", "not the name of a measurement", "floors"),
    (
        '[required]\nstages = ["krenel"]',
        "2: required.stages[0]",
        "did you mean kernel?",
        "forward,",
    ),
    ('[required]\nstages = "kernel"', "2: required.stages", "'kernel' is not a list", "forward,"),
    ("[required]\nstages = [1]", "2: required.stages[0]", "unknown stage 1", "forward,"),
    ('[required]\nchecks = ["first"]', "2: required.checks[0]", "not the id", "<stage>.<fact>"),
    ('[required]\nchecks = ["a.b"]', "2: required.checks[0]", "unknown stage 'a'", "<stage>."),
]


@pytest.mark.parametrize(("text", "place", "says", "accepts"), MISTAKES)
def test_a_mistake_names_file_line_and_key_and_what_is_accepted(
    text: str, place: str, says: str, accepts: str
) -> None:
    """Each mistake is found where it stands, alone, and ends the command with exit code 2."""
    error = _refusal(text)
    assert error.where == f"plan.toml:{place}"
    assert says in error.what
    assert accepts in error.mend
    assert "plan.toml" not in error.mend, "one mistake must not be told twice"
    assert error.exit_code == 2


def test_every_mistake_is_told_at_once_in_the_order_of_the_file() -> None:
    """Nobody mends a plan one run at a time."""
    error = _refusal('[order]\ngpus = 0\nfoo = 1\n[model]\ndtype = "x"\nhidden = 8\nheads = 3')
    lines = [line for line in str(error).splitlines() if line.startswith("plan.toml:")]
    assert [line.split(": ")[:2] for line in lines] == [
        ["plan.toml:2", "order.gpus"],
        ["plan.toml:3", "order.foo"],
        ["plan.toml:5", "model.dtype"],
        ["plan.toml:7", "model.heads"],
    ]


def test_a_file_of_nothing_but_mistakes_gives_a_message_that_can_be_read() -> None:
    """Twenty are shown, and the others counted."""
    error = _refusal("[order]\n" + "".join(f"x{n} = 1\n" for n in range(1000)))
    assert str(error).endswith("plan.toml: 980 more mistakes")


@pytest.mark.parametrize(
    ("text", "place", "says"),
    [
        ("[order]\ngpus = 2 3", "plan.toml:2", "Expected newline"),
        ("[order]\ngpus = two", "plan.toml:2", "Invalid value"),
        ("[order]\ngpus = 2\ngpus = 2\n", "plan.toml:3", "Cannot overwrite"),
        ("[order", "plan.toml:1", "not TOML"),
        ('{"order": 1}', "plan.toml:1", "not TOML"),
        ("<html>", "plan.toml:1", "not TOML"),
        ("a = 2026-13-45", "plan.toml:1", "not TOML"),
        ("a = " + "1" * 5000, "plan.toml:1", "not TOML"),
        ("a = \x00", "plan.toml:1", "not TOML"),
        ("x = " + "[" * 100_000, "plan.toml", "too deep"),
        ("[limits]\n" + "a." * 5000 + "a = 1", "plan.toml", "too deep"),
    ],
)
def test_what_is_not_toml_is_refused_with_its_line(text: str, place: str, says: str) -> None:
    """The parser's own words, the line, and what a line looks like."""
    error = _refusal(text)
    assert error.where == place
    assert says in error.what
    assert error.mend


def test_terminal_escapes_in_a_plan_do_not_reach_the_terminal() -> None:
    """Keys and values are shown with control characters escaped."""
    error = _refusal('["\\u001b[31m"]\n[order]\n"\\u001b[0m" = 1\nlink = "\\u001b[7m"')
    assert "\x1b" not in str(error)


def test_a_plan_of_the_largest_size_is_refused_in_seconds() -> None:
    """A file that is no plan must not hold up a machine that is paid for."""
    started = time.process_time()
    _refusal("[order]\n" + "".join(f"gpus{n} = 1\n" for n in range(20_000)))
    _refusal("[software]\nextensions = [" + "1, " * 50_000 + "]")
    assert time.process_time() - started < 20


# Files


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    """The message names the file, and how to get one."""
    with pytest.raises(PlanError, match="no such file") as caught:
        load_plan(tmp_path / "plan.toml")
    assert caught.value.where == str(tmp_path / "plan.toml")
    assert "preflight init" in caught.value.mend


def test_a_folder_is_refused(tmp_path: Path) -> None:
    """The plan is a file in it."""
    with pytest.raises(PlanError, match="this is a folder"):
        load_plan(tmp_path)


def test_a_file_that_cannot_be_read_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Permission is asked of the system, whose word is passed on (root may read everything)."""

    def refuse(*_: Any, **__: Any) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "open", refuse)
    with pytest.raises(PlanError, match="Permission denied"):
        load_plan(tmp_path / "plan.toml")


def test_a_path_with_a_nul_is_refused() -> None:
    """Python refuses it before the system sees it."""
    with pytest.raises(PlanError, match="cannot be read"):
        load_plan(Path("a\0b"))


def test_a_file_name_that_is_no_text_is_shown_in_escapes(tmp_path: Path) -> None:
    """The message can be printed on every terminal."""
    with pytest.raises(PlanError) as caught:
        load_plan(tmp_path / os.fsdecode(b"pl\xffan.toml"))
    str(caught.value).encode()


def test_what_is_not_utf_8_is_refused_with_byte_and_line(tmp_path: Path) -> None:
    """The editor can go to the place."""
    path = tmp_path / "plan.toml"
    path.write_bytes(b'[order]\nprovider = "K\xf6ln"\n')
    with pytest.raises(PlanError) as caught:
        load_plan(path)
    assert caught.value.where == f"{path}:2"
    assert "the byte 0xf6 at offset 21" in caught.value.what
    assert "UTF-8" in caught.value.mend


def test_utf_16_is_named(tmp_path: Path) -> None:
    """Editors of Windows write it without saying so."""
    path = tmp_path / "plan.toml"
    path.write_bytes("[order]".encode("utf-16"))
    with pytest.raises(PlanError, match="UTF-16"):
        load_plan(path)


def test_a_byte_order_mark_and_windows_lines_are_read(tmp_path: Path) -> None:
    """What Windows writes into UTF-8 does no harm, and lines are still counted."""
    path = tmp_path / "plan.toml"
    path.write_bytes(b"\xef\xbb\xbf[order]\r\ngpus = 2\r\n")
    assert load_plan(path).order.gpus == 2
    path.write_bytes(b"\xef\xbb\xbf[order]\r\n\r\ngpus = 0\r\n")
    with pytest.raises(PlanError) as caught:
        load_plan(path)
    assert caught.value.where == f"{path}:3: order.gpus"


def test_a_file_above_64_kibibytes_is_refused(tmp_path: Path) -> None:
    """A wrong file is not read to its end; one of exactly the size is a plan."""
    assert LARGEST_PLAN == 64 * 1024
    path = tmp_path / "plan.toml"
    path.write_bytes(b"#" * LARGEST_PLAN)
    assert load_plan(path) == Plan()
    path.write_bytes(b"#" * (LARGEST_PLAN + 1))
    with pytest.raises(PlanError, match="larger than 64 KiB"):
        load_plan(path)


def test_random_damage_ends_in_a_plan_or_in_a_plan_error() -> None:
    """Whatever a slip does to a file, no other exception comes out, and the message is text."""
    generator = random.Random(99)
    whole = (PLANS / "full.toml").read_text()
    alphabet = "[]{}\"'=.,#\n\\x0 -einf"
    for _ in range(400):
        text = list(whole)
        for _ in range(generator.randint(1, 4)):
            place = generator.randrange(len(text))
            text[place] = generator.choice(["", generator.choice(alphabet), text[place] * 2])
        try:
            decode_plan("".join(text), where="plan.toml")
        except PlanError as error:
            assert error.where.startswith("plan.toml")
            assert error.mend
