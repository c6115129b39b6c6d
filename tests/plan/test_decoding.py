"""The plan: what is read, and what is made of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import msgspec
import pytest

from preflight.errors import PlanError, UsageError
from preflight.plan import (
    Plan,
    decode_plan,
    load_plan,
    order_of,
    plan_schema,
    plan_to_builtins,
    resolve,
)
from preflight.plan.tables import TABLES, Extension

ROOT = Path(__file__).parents[2]
PLANS = Path(__file__).parents[1] / "data" / "plans"
EXAMPLES = sorted((ROOT / "examples").glob("*.toml"))


# What is read


@pytest.mark.parametrize("text", ["", "\n", "# nothing\n", "[order]\n[model]\n"])
def test_an_empty_plan_is_a_valid_plan(text: str) -> None:
    """Nothing needs to be planned, and the default says the same."""
    assert decode_plan(text, where="plan.toml") == Plan()
    assert plan_to_builtins(Plan()) == {}


def test_every_key_is_read() -> None:
    """The full plan holds each table and key, and each arrives in its field."""
    plan = load_plan(PLANS / "full.toml")
    assert plan_to_builtins(plan) == json.loads((PLANS / "full.json").read_text())
    for name, table in TABLES.items():
        for field in table.__struct_fields__:
            assert getattr(getattr(plan, name), field) not in (None, (), {}), f"{name}.{field}"


@pytest.mark.parametrize(
    ("text", "gpu", "gpus"),
    [
        ('gpu = "2xB200"', "B200", 2),
        ('gpu = "B200x2"', "B200", 2),
        ('gpu = "8 × H100"', "H100", 8),
        ('gpu = "B200"\ngpus = 2', "B200", 2),
        ('gpu = "2xB200"\ngpus = 2', "B200", 2),
        ('gpus = 2\ngpu = "2xB200"', "B200", 2),
        ('gpu = "B200"', "B200", None),
        ("lots = 4\ngpus_per_lot = 2", None, 8),
        ('gpu = "8xB200"\nlots = 4\ngpus_per_lot = 2', "B200", 8),
    ],
)
def test_the_number_of_cards_is_read_in_each_of_its_forms(
    text: str, gpu: str | None, gpus: int | None
) -> None:
    """A count in the product, a count of its own and lots end in the same two fields."""
    order = decode_plan(f"[order]\n{text}", where="plan.toml").order
    assert (order.gpu, order.gpus) == (gpu, gpus)


@pytest.mark.parametrize(
    ("text", "parameters"),
    [("70e9", 70 * 10**9), ("7.5e9", 7_500_000_000), ("1_000", 1000), ("2.0", 2)],
)
def test_an_integral_float_is_an_integer(text: str, parameters: int) -> None:
    """Large counts are written with an exponent, which TOML reads as a float."""
    read = decode_plan(f"[model]\nparameters = {text}", where="plan.toml").model.parameters
    assert read == parameters
    assert type(read) is int


@pytest.mark.parametrize(
    ("text", "dtype"),
    [
        ("float32", "float32"),
        ("fp32", "float32"),
        ("tf32", "tf32"),
        ("bf16", "bfloat16"),
        ("BF16", "bfloat16"),
        ("torch.bfloat16", "bfloat16"),
        ("fp16", "float16"),
        ("half", "float16"),
        ("fp8", "float8"),
    ],
)
def test_a_dtype_is_read_by_its_common_names(text: str, dtype: str) -> None:
    """The plan keeps the name that torch has."""
    assert decode_plan(f'[model]\ndtype = "{text}"', where="plan.toml").model.dtype == dtype


@pytest.mark.parametrize(
    ("text", "start"),
    [
        ("2026-12-01", "2026-12-01"),
        ('"2026-12-01"', "2026-12-01"),
        ("2026-12-01T09:00:00Z", "2026-12-01T09:00:00+00:00"),
        ('"2026-12-01T09:00Z"', "2026-12-01T09:00:00+00:00"),
        ("2026-12-01 09:00:00", "2026-12-01T09:00:00"),
    ],
)
def test_the_start_is_a_date_of_toml_or_a_text(text: str, start: str) -> None:
    """Either way it is kept as ISO text."""
    assert decode_plan(f"[order]\nstart = {text}", where="plan.toml").order.start == start


def test_the_interval_is_a_time_or_a_number_of_steps() -> None:
    """A text is a duration and a number is steps, as no unit could tell them apart."""
    by_time = decode_plan('[checkpoint]\ninterval = "30m"', where="plan.toml").checkpoint
    assert (by_time.interval_s, by_time.interval_steps) == (1800, None)
    by_steps = decode_plan("[checkpoint]\ninterval = 5e2", where="plan.toml").checkpoint
    assert (by_steps.interval_s, by_steps.interval_steps) == (None, 500)
    assert Plan().checkpoint.interval_s is None


def test_extensions_are_names_or_tables() -> None:
    """A table names the distribution where it differs from the import name."""
    text = '[software]\nextensions = ["flash_attn", {import = "apex.amp", distribution = "apex"}]'
    assert decode_plan(text, where="plan.toml").software.extensions == (
        Extension(module="flash_attn"),
        Extension(module="apex.amp", distribution="apex"),
    )


def test_floors_are_read_by_quoted_and_by_dotted_keys() -> None:
    """A dotted key of TOML is a table, and means the same name."""
    text = '[limits]\n"a.b_GBps" = 400\nc.d.e = 0.5\nperformance = "record"'
    limits = decode_plan(text, where="plan.toml").limits
    assert limits.floors == {"a.b_GBps": 400.0, "c.d.e": 0.5}
    assert limits.performance == "record"


@pytest.mark.parametrize(
    ("text", "kind"),
    [("FSDP", "fsdp2"), ("fsdp2 + TP", "fsdp2+tp"), ("deepspeed", "deepspeed"), ("none", "single")],
)
def test_a_strategy_is_read_by_its_common_names(text: str, kind: str) -> None:
    """Kinds are joined by a plus sign, in lower case."""
    assert decode_plan(f'[strategy]\nkind = "{text}"', where="plan.toml").strategy.kind == kind


@pytest.mark.parametrize(
    "sizes",
    [
        "shard = 8",
        "data = 2\nshard = 4",
        'kind = "hsdp"\nshard = 4',
        "tensor = 4",
        "shard = 2\ntensor = 2\npipeline = 2",
        'kind = "fsdp2+tp"\ntensor = 2',
        'kind = "tp"\ntensor = 8',
        'kind = "ddp"',
        'kind = "ddp+ep"\ndata = 8\nexpert = 4',
        'kind = "accelerate"\nshard = 4',
        'kind = "single"',
    ],
)
def test_sizes_that_multiply_to_the_cards_are_accepted(sizes: str) -> None:
    """A size that is left out takes up what remains, where the kind of strategy has it."""
    decode_plan(f"[order]\ngpus = 8\n[strategy]\n{sizes}", where="plan.toml")


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_the_examples_are_valid_and_name_no_reference(path: Path) -> None:
    """An example goes with any --order, and needs nothing that is not installed by default."""
    plan = load_plan(path)
    assert order_of(plan, reference="ORD-1042/../a <b>").reference == "ORD-1042/../a <b>"
    assert plan.software.extensions == ()
    assert plan.software.frameworks == ()
    assert plan.order.gpus == int(path.name.removeprefix("plan-").partition("x")[0])


def test_a_plan_fits_into_an_environment_variable() -> None:
    """A plan that grows as JSON is refused where two of it would not fit into Linux' 128 KiB."""
    text = "[software]\nextensions = [{}]"
    extensions = decode_plan(text.format("'a'," * 3000), where="plan.toml").software.extensions
    assert len(extensions) == 3000
    with pytest.raises(PlanError, match="larger than 48 KiB") as caught:
        decode_plan(text.format("'a'," * 4000), where="plan.toml")
    assert caught.value.where == "plan.toml"


# What is made of a plan


def test_the_plan_for_a_record_holds_no_secret_and_no_home(monkeypatch: pytest.MonkeyPatch) -> None:
    """Variables of the campaign often hold a token, and the record goes to the seller."""
    monkeypatch.setenv("HOME", "/home/alice")
    text = (
        '[software.env]\nHF_TOKEN = "abc"\nNCCL_DEBUG = "WARN"\n'
        '[checkpoint]\npath = "/home/alice/c"\n[data]\npath = "/home/alice/d"'
    )
    plan = decode_plan(text, where="plan.toml")
    assert plan.software.env["HF_TOKEN"] == "abc"
    assert plan_to_builtins(plan) == {
        "software": {"env": {"HF_TOKEN": "<redacted>", "NCCL_DEBUG": "WARN"}},
        "checkpoint": {"path": "~/c"},
        "data": {"path": "~/d"},
    }


SECRET = "hf_" + "Ab3dEf9hIj" * 3
SECRETS = f"""
[order]
reference = "https://u:REF@prov"
provider = "https://u:HIDDEN@prov"
gpu = "{SECRET}"
[software]
extensions = [{{import = "{SECRET}", distribution = "{SECRET}"}}]
frameworks = ["{SECRET}"]
compile_backend = "{SECRET}"
env = {{ {SECRET} = "1", API_KEY = "HIDDEN", ADDRESS = "https://u:HIDDEN@x" }}
[model]
optimizer = "sk-{SECRET.lower().replace("_", "")}"
[checkpoint]
path = "/a?token=HIDDEN"
[data]
path = "/b?sig=HIDDEN"
[limits]
{SECRET} = 1
"""


def test_no_text_of_a_plan_brings_a_secret_into_the_record() -> None:
    """Every text is redacted wherever it stands, names of variables and floors included."""
    plan = decode_plan(SECRETS, where="plan.toml")
    kept = json.dumps([plan_to_builtins(plan), msgspec.to_builtins(order_of(plan, reference=None))])
    for secret in ("HIDDEN", SECRET, SECRET.lower().replace("_", "")):
        assert secret not in kept
    assert kept.count("https://<redacted>@prov") == 2


def test_the_reference_stays_as_the_seller_wrote_it() -> None:
    """In the plan and in the order alike, whatever it looks like."""
    plan = decode_plan(SECRETS, where="plan.toml")
    assert plan_to_builtins(plan)["order"]["reference"] == "https://u:REF@prov"
    assert order_of(plan, reference=None).reference == "https://u:REF@prov"


def test_the_order_is_that_of_the_plan() -> None:
    """What was bought goes into the record as the plan says it."""
    order = order_of(load_plan(PLANS / "full.toml"), reference=None)
    assert (order.reference, order.provider, order.product) == ("ORD-1042", "Example Cloud", "B200")
    assert (order.gpus, order.nodes, order.memory_GB, order.link) == (16, 2, 180.0, "nvlink")
    assert (order.start, order.days) == ("2026-12-01", 14.5)


@pytest.mark.parametrize(
    ("flag", "planned", "reference"),
    [(None, None, None), ("A 1", None, "A 1"), (None, "A 1", "A 1"), ("A 1", " A 1 ", "A 1")],
)
def test_the_reference_comes_from_the_flag_or_the_plan(
    flag: str | None, planned: str | None, reference: str | None
) -> None:
    """Either is enough, and both may say the same."""
    text = f'[order]\nreference = "{planned}"' if planned else ""
    assert order_of(decode_plan(text, where="p"), reference=flag).reference == reference


def test_two_references_are_refused_with_both_names() -> None:
    """A run must not be filed under an order that one of the two does not mean."""
    plan = decode_plan('[order]\nreference = "B-2"', where="plan.toml")
    with pytest.raises(PlanError) as caught:
        order_of(plan, reference="A-1")
    assert "'A-1'" in caught.value.what
    assert "'B-2'" in caught.value.what
    assert caught.value.where == "--order"


def test_a_reference_of_the_flag_is_checked() -> None:
    """As the plan's own is."""
    with pytest.raises(UsageError, match="line break"):
        order_of(Plan(), reference="a\nb")


def test_paths_are_resolved_against_the_folder_of_the_plan(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Wherever the command is started, a plan means the same folder."""
    monkeypatch.setenv("HOME", "/home/alice")
    monkeypatch.chdir(tmp_path)
    plan_file = Path("sub/plan.toml")
    assert resolve("./checkpoints", plan_file) == tmp_path / "sub" / "checkpoints"
    assert resolve("../x", plan_file) == tmp_path / "x"
    assert resolve("/mnt/x", plan_file) == Path("/mnt/x")
    assert resolve("~/x", plan_file) == Path("/home/alice/x")
    with pytest.raises(PlanError, match="home"):
        resolve("~no-such-user-here/x", plan_file)


@pytest.mark.parametrize("path", [*EXAMPLES, PLANS / "full.toml"], ids=lambda path: path.name)
def test_the_schema_accepts_what_is_read_and_what_is_recorded(path: Path) -> None:
    """An editor shows no fault in a good plan, and the plan in a record is a plan."""
    validator = jsonschema.Draft202012Validator(plan_schema())
    validator.check_schema(plan_schema())
    validator.validate(plan_to_builtins(load_plan(path)))
    validator.validate(
        {
            "software": {"extensions": ["a", {"import": "b"}]},
            "model": {"dtype": "bf16", "parameters": 70e9},
            "limits": {"a": {"b": 3}, "c": 1.5},
        }
    )


@pytest.mark.parametrize(
    "tree", [{"x": {}}, {"order": {"gpsu": 1}}, {"order": {"gpus": 0}}, {"limits": {"a": "b"}}]
)
def test_the_schema_refuses_what_is_refused(tree: dict[str, Any]) -> None:
    """An editor marks the mistakes that the command would name."""
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(tree, plan_schema())
