"""From flags to a checked request: every mistake names its flag and means that nothing ran."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

from preflight.engine import Request
from preflight.errors import PlanError, UsageError
from preflight.folders import checks_folder
from preflight.request import build_request, find_python, reports_root, select_stages
from preflight.stages import STAGE_NAMES

PATH = tuple(name for name in STAGE_NAMES if name != "soak")

FLAGS: dict[str, Any] = {
    "order": None,
    "plan_path": None,
    "level": "standard",
    "accelerator": "auto",
    "gpus": None,
    "python": None,
    "only": None,
    "skip": None,
    "checks": (),
    "out": None,
    "strict": False,
    "deadline": None,
    "argv": ("preflight", "run"),
}


def request(**flags: Any) -> Request:
    """The request of a command line with these flags."""
    return build_request(**{**FLAGS, **flags})


@pytest.fixture(autouse=True)
def _no_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PREFLIGHT_REPORTS", raising=False)


def test_no_flag_at_all() -> None:
    """Without a flag the whole path runs, on what is found, through our own interpreter."""
    made = request()
    assert made.options.mode == "certify"
    assert made.options.accelerator == "auto"
    assert made.options.selected == PATH
    assert made.options.python == sys.executable
    assert made.options.deadline_s == 15 * 60
    assert made.options.checks_folders == (str(checks_folder()),)
    assert (made.options.plan, made.options.plan_file) == ({}, None)
    assert made.out == Path("preflight-reports")
    assert made.order.reference is None
    assert not made.strict


def test_the_cpu_means_a_rehearsal_of_two_ranks() -> None:
    """``--device cpu`` rehearses, with the smallest number of ranks that communicates."""
    options = request(accelerator="cpu").options
    assert (options.mode, options.ranks) == ("rehearse", 2)


@pytest.mark.parametrize("accelerator", ["auto", "cuda", "hip"])
def test_accelerators_are_certified(accelerator: str) -> None:
    """Whatever is looked for, cards are certified."""
    assert request(accelerator=accelerator).options.mode == "certify"


def test_quick_has_a_deadline_of_its_own() -> None:
    """The level sets the bound of the run, and --deadline wins over it."""
    assert request(level="quick").options.deadline_s == 120
    assert request(level="quick", deadline="1h30m").options.deadline_s == 5400


def test_every_run_has_a_seed_of_its_own() -> None:
    """Random inputs are fresh in each run."""
    assert len({request().options.seed for _ in range(5)}) > 1


def test_the_order_is_that_of_the_plan_and_of_the_flag(tmp_path: Path) -> None:
    """The plan says what was bought, --order under which reference; the plan's file is kept."""
    plan = tmp_path / "plan.toml"
    plan.write_text('[order]\ngpu = "2xB200"\n')
    made = request(plan_path=str(plan), order="  ORD-1042/../a <b>  ")
    assert made.order.reference == "ORD-1042/../a <b>"
    assert (made.order.product, made.order.gpus) == ("B200", 2)
    assert made.options.plan_file == str(plan)
    assert made.options.plan["order"]["gpu"] == "B200"


def test_two_references_that_differ_are_refused(tmp_path: Path) -> None:
    """A run is never filed under one order while its plan is of another one."""
    plan = tmp_path / "plan.toml"
    plan.write_text('[order]\nreference = "ORD-1"\n')
    assert request(plan_path=str(plan)).order.reference == "ORD-1"
    assert request(plan_path=str(plan), order="ORD-1").order.reference == "ORD-1"
    assert "'ORD-1'" in refused("--order", plan_path=str(plan), order="ORD-2").what


def test_secrets_of_the_command_line_are_not_kept() -> None:
    """The recorded command line holds no password of an address."""
    argv = ("preflight", "run", "--out", "https://me:hunter2@example.com/x")
    assert "hunter2" not in " ".join(request(argv=argv).argv)


# -- mistakes ----------------------------------------------------------------------------------


def refused(flag: str, **flags: Any) -> UsageError:
    """The error of a command line that names ``flag``."""
    with pytest.raises(UsageError) as caught:
        request(**flags)
    assert caught.value.exit_code == 2
    assert caught.value.where.startswith(flag)
    assert caught.value.mend
    return caught.value


def test_the_soak_comes_later() -> None:
    """``--level soak`` says plainly that it is not there yet."""
    assert "later version" in refused("--level", level="soak").what


@pytest.mark.parametrize("accelerator", ["auto", "cuda", "hip"])
def test_the_number_of_ranks_belongs_to_a_rehearsal(accelerator: str) -> None:
    """--gpus without --device cpu is refused, with how to choose cards."""
    mend = refused("--gpus", gpus=2, accelerator=accelerator).mend
    assert "--device cpu" in mend and "CUDA_VISIBLE_DEVICES" in mend


@pytest.mark.parametrize("gpus", [0, -1, 65, 10**9])
def test_a_number_of_ranks_out_of_range(gpus: int) -> None:
    """A rehearsal has 1 to 64 ranks."""
    assert "1 to 64" in refused("--gpus", gpus=gpus, accelerator="cpu").what


@pytest.mark.parametrize("gpus", [1, 64])
def test_the_ends_of_the_range_of_ranks(gpus: int) -> None:
    """Both ends of the range are accepted."""
    assert request(gpus=gpus, accelerator="cpu").options.ranks == gpus


@pytest.mark.parametrize("text", ["", "5", "fast", "-1m", "0s", "1h1h", "nan"])
def test_a_deadline_that_is_no_time(text: str) -> None:
    """A deadline without unit, without sense or of no time is refused; an example is given."""
    assert "--deadline 10m" in refused("--deadline", deadline=text).mend


@pytest.mark.parametrize("text", ["", "\n", "a\nb", "x" * 500, "\ud800"])
def test_a_reference_that_cannot_be_printed(text: str) -> None:
    """A reference that fits on no line of a report is refused."""
    refused("--order", order=text)


@pytest.mark.parametrize("name", ["gone", "file", "empty"])
def test_a_folder_without_checks(tmp_path: Path, name: str) -> None:
    """--checks wants a folder with check files, and the message names what was given."""
    (tmp_path / "file").write_text("")
    (tmp_path / "empty").mkdir()
    assert name in refused("--checks", checks=(str(tmp_path / name),)).what


def test_own_checks_come_after_the_shipped_ones(tmp_path: Path) -> None:
    """A folder of one's own is added, as an absolute path."""
    (tmp_path / "check_900_mine.py").write_text("")
    folders = request(checks=(os.path.relpath(tmp_path),)).options.checks_folders
    assert folders == (str(checks_folder()), str(Path(os.path.relpath(tmp_path)).absolute()))


def test_a_plan_that_is_not_there(tmp_path: Path) -> None:
    """A missing plan is a plan error that names the file."""
    with pytest.raises(PlanError, match=r"gone\.toml"):
        request(plan_path=str(tmp_path / "gone.toml"))


# -- stages ------------------------------------------------------------------------------------


def test_chosen_stages_stand_in_path_order() -> None:
    """--only and --skip take any order and blanks; the path keeps its own."""
    assert select_stages("kernel, order,,", None) == ("order", "kernel")
    assert select_stages(None, "order,kernel") == tuple(
        name for name in PATH if name not in ("order", "kernel")
    )


def test_the_soak_is_no_stage_to_choose() -> None:
    """The reserved stage is neither run nor chosen."""
    assert "soak" not in select_stages(None, None)
    with pytest.raises(UsageError, match="no stage is called 'soak'"):
        select_stages("soak", None)


@pytest.mark.parametrize(
    ("only", "skip", "where", "what"),
    [
        ("kernal", None, "--only", "no stage is called 'kernal'"),
        ("", None, "--only", "no stage is named"),
        (" , ", None, "--only", "no stage is named"),
        ("KERNEL", None, "--only", "no stage is called 'KERNEL'"),
        ("kernel.first", None, "--only", "no stage is called 'kernel.first'"),
        (None, "", "--skip", "no stage is named"),
        (None, "nothing", "--skip", "no stage is called 'nothing'"),
        (None, ",".join(PATH), "--skip", "nothing is left to run"),
        ("order", "kernel", "--only and --skip", "give one of the two"),
        ("", "", "--only and --skip", "give one of the two"),
    ],
)
def test_stages_that_cannot_be_chosen(
    only: str | None, skip: str | None, where: str, what: str
) -> None:
    """A name that is not on the path, no name, and both flags at once are refused."""
    with pytest.raises(UsageError) as caught:
        select_stages(only, skip)
    assert (caught.value.where, caught.value.what) == (where, what)


# -- the interpreter ---------------------------------------------------------------------------


def test_an_environments_folder_means_its_interpreter(tmp_path: Path) -> None:
    """--python takes the folder of a virtual environment, and keeps the link in it."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "python").symlink_to(sys.executable)
    assert find_python(str(tmp_path)) == str(tmp_path / "bin" / "python")
    assert find_python(str(tmp_path / "bin" / "python")) == str(tmp_path / "bin" / "python")


def test_a_bare_name_is_looked_up(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A name without a slash is found on PATH."""
    (tmp_path / "python9").symlink_to(sys.executable)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert find_python("python9") == str(tmp_path / "python9")


def test_a_relative_path_becomes_absolute(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The interpreter is found again from another folder."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "python").symlink_to(sys.executable)
    monkeypatch.chdir(tmp_path)
    for text in (".", "bin/python", "./bin/python"):
        assert find_python(text) == str(tmp_path / "bin" / "python")


def test_the_home_folder_is_understood(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """``~/venv`` is read as a shell would."""
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "python").symlink_to(sys.executable)
    assert find_python("~") == str(tmp_path / "bin" / "python")


@pytest.mark.parametrize("text", ["gone/python", "no-such-python-9", "a\0b"])
def test_an_interpreter_that_is_not_there(text: str) -> None:
    """What cannot be run is refused by its name."""
    with pytest.raises(UsageError) as caught:
        find_python(text)
    assert caught.value.where == "--python"


def test_a_file_that_cannot_be_run(tmp_path: Path) -> None:
    """A file without the executable bit is no interpreter."""
    shutil.copy(__file__, tmp_path / "python")
    (tmp_path / "python").chmod(0o644)
    with pytest.raises(UsageError, match="no program that can be run"):
        find_python(str(tmp_path / "python"))


# -- where reports go --------------------------------------------------------------------------


def test_the_flag_wins_over_the_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    """--out, then PREFLIGHT_REPORTS, then ./preflight-reports; an empty variable is none."""
    assert reports_root(None) == Path("preflight-reports")
    monkeypatch.setenv("PREFLIGHT_REPORTS", "/reports")
    assert reports_root(None) == Path("/reports")
    assert reports_root("here") == Path("here")
    monkeypatch.setenv("PREFLIGHT_REPORTS", "")
    assert reports_root(None) == Path("preflight-reports")


@pytest.mark.parametrize(("flag", "name"), [("plan_path", "--plan"), ("out", "--out")])
def test_an_empty_name_is_refused(flag: str, name: str) -> None:
    """A variable of CI that is not set must not make a run without a plan."""
    with pytest.raises(UsageError) as caught:
        request(**{flag: ""})
    assert caught.value.where == name
