"""The command: help, flags, mistakes, completion, and its frozen surface."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from rendering import sample
from surface import surface

from preflight import __version__
from preflight.cli import FORMATS, program
from preflight.folders import checks_folder
from preflight.harness.listing import list_checks
from preflight.plan import load_plan
from preflight.records import decode_record, encode_record
from preflight.rendering.protocol import FORMATS as RENDERED
from preflight.schemas import schema_text
from preflight.stages import STAGE_NAMES

COMMANDS = sorted(program.commands)
BLOCKED = ("torch", "pytest", "msgspec", "rich", "jinja2", "numpy", "pynvml", "xdist", "elftools")
BLOCKING = f"""
import sys

class Blocker:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {BLOCKED!r}:
            raise ImportError(f"{{name}} is blocked")

sys.meta_path.insert(0, Blocker())
"""


def invoke(*arguments: str) -> Result:
    """Run the command in this process."""
    return CliRunner().invoke(program, list(arguments), prog_name="preflight")


def start(
    *command: str | bytes, environment: dict[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run a program in a fresh process."""
    return subprocess.run(
        command,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        env={**os.environ, **(environment or {})},
    )


# -- help --------------------------------------------------------------------------------------


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("flag", ["-h", "--help"])
def test_every_command_has_its_help(command: str, flag: str) -> None:
    """Help names every flag, each with a word of explanation or a default."""
    result = invoke(command, flag)
    assert result.exit_code == 0
    assert result.output.startswith(f"Usage: preflight {command} ")
    for parameter in program.commands[command].params:
        for option in parameter.opts:
            assert option in result.output or not option.startswith("-")


def test_the_help_of_the_program_names_every_command_and_exit_code() -> None:
    """A person sees what there is, how to begin, and what the exit codes mean."""
    text = invoke("--help").output
    for command in COMMANDS:
        assert re.search(rf"^  {command} +\w", text, re.MULTILINE), command
    for words in ("0 READY", "1 NOT READY", "2 a flag", "INCONCLUSIVE", "4 a fault", "130 or 143"):
        assert words in " ".join(text.split())
    assert "preflight run --device cpu" in " ".join(text.split())


def test_help_lines_fit_a_wide_terminal() -> None:
    """No line of any help is wider than 100 columns."""
    for command in COMMANDS:
        assert all(len(line) <= 100 for line in invoke(command, "--help").output.splitlines())


@pytest.mark.parametrize("arguments", [["--help"], *[[name, "--help"] for name in COMMANDS]])
def test_help_works_where_everything_else_is_broken(arguments: list[str]) -> None:
    """With torch, pytest and every other dependency but click missing, help is still given."""
    code = f"{BLOCKING}\nfrom preflight.cli import main\nsys.argv[1:] = {arguments!r}\nmain()"
    done = start(sys.executable, "-c", code)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("Usage: preflight")


def test_help_imports_nothing_heavy() -> None:
    """Help stays fast: it loads neither torch nor pytest, nor what reports and records need."""
    code = (
        "import sys\nfrom preflight.cli import program\n"
        "program(['run', '--help'], prog_name='preflight', standalone_mode=False)\n"
        f"print('LOADED', *[name for name in {BLOCKED!r} if name in sys.modules])"
    )
    assert start(sys.executable, "-c", code).stdout.splitlines()[-1] == "LOADED"


def test_the_version() -> None:
    """``--version`` prints name and version alone."""
    assert invoke("--version").output == f"preflight, version {__version__}\n"


def test_python_m_preflight_is_the_command() -> None:
    """``python -m preflight`` is the same program under the same name."""
    done = start(sys.executable, "-m", "preflight", "--help")
    assert done.returncode == 0
    assert done.stdout == start(sys.executable, "-m", "preflight", "-h").stdout
    assert done.stdout.startswith("Usage: preflight [OPTIONS] COMMAND")


# -- mistakes ----------------------------------------------------------------------------------

MISTAKES: list[tuple[list[str], str]] = [
    (["--frobnicate"], "--frobnicate"),
    (["frobnicate"], "frobnicate"),
    (["run", "--frobnicate"], "--frobnicate"),
    (["run", "surplus"], "surplus"),
    (["run", "--order"], "--order"),
    (["run", "--order", ""], "--order"),
    (["run", "--order", "a\nb"], "--order"),
    (["run", "--plan", "gone.toml"], "gone.toml"),
    (["run", "--plan", "."], "."),
    (["run", "--level", "fast"], "--level"),
    (["run", "--level", "soak"], "--level"),
    (["run", "--device", "tpu"], "--device"),
    (["run", "--gpus", "two"], "--gpus"),
    (["run", "--gpus", "2"], "--gpus"),
    (["run", "--gpus", "2", "--device", "cuda"], "--gpus"),
    (["run", "--gpus", "0", "--device", "cpu"], "--gpus"),
    (["run", "--python", "gone/python"], "--python"),
    (["run", "--only", "kernal"], "--only"),
    (["run", "--skip", ""], "--skip"),
    (["run", "--only", "order", "--skip", "kernel"], "--only and --skip"),
    (["run", "--checks", "gone"], "--checks"),
    (["run", "--deadline", "5"], "--deadline"),
    (["run", "--device", "cpu", "--out", "/proc/preflight"], "--out"),
    (["run", "--device", "cpu", "--out", "/dev/null"], "--out"),
    (["list", "--checks", "gone"], "--checks"),
    (["report"], "RUN_DIR|RECORD"),
    (["report", "gone"], "gone"),
    (["report", "/dev/null"], "/dev/null"),
    (["report", "record.json", "--format", "pdf"], "--format"),
    (["report", "record.json", "-o", "gone/report.txt"], "-o"),
    (["report", "record.json", "-o", "."], "-o"),
    (["audit", "--gpu", "B20"], "--gpu"),
    (["audit", "--gpu", ","], "--gpu"),
    (["audit", "--arch", "sm_100a"], "--arch"),
    (["audit", "--gpu", "B200", "--driver", "new"], "--driver"),
    (["audit", "--gpu", "B200", "--python", "gone/python"], "--python"),
    (["audit", "--gpu", "B200", "--site", "gone"], "--site"),
    (["audit", "--gpu", "B200", "--image-root", "gone"], "--image-root"),
    (["audit", "--gpu", "B200", "--image-root", "."], "--image-root"),
    (["audit", "--gpu", "B200", "--wheel"], "--wheel"),
    (["audit", "--gpu", "B200", "--wheel", "record.json"], "record.json"),
    (["audit", "--gpu", "B200", "surplus.whl"], "surplus.whl"),
    (["audit", "--gpu", "B200", "--site", ".", "--wheel", "x.whl"], "--wheel and --site"),
    (["audit", "--gpu", "B200", "--site", ".", "--package", "torch"], "--package"),
    (["init", "--python", "gone/python"], "--python"),
    (["init", "-o", "record.json"], "-o"),
    (["schema", "verdict"], "verdict"),
    (["completion"], "bash"),
    (["completion", "tcsh"], "tcsh"),
]


@pytest.mark.parametrize(
    ("arguments", "named"), MISTAKES, ids=[" ".join(arguments) for arguments, _ in MISTAKES]
)
def test_every_mistake_is_named_and_nothing_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], named: str
) -> None:
    """Exit code 2, the flag or argument in the message, no traceback, nothing on stdout or disk."""
    monkeypatch.chdir(tmp_path)
    Path("record.json").write_bytes(encode_record(sample.passing()))
    result = invoke(*arguments)
    assert result.exit_code == 2
    assert isinstance(result.exception, SystemExit)
    assert named in result.stderr
    assert "Traceback" not in result.stderr
    assert result.stdout == ""
    assert [path.name for path in tmp_path.iterdir()] == ["record.json"]


def test_a_reference_that_is_not_text_is_refused(tmp_path: Path) -> None:
    """Bytes that are no UTF-8 end in a message that can be printed, not in a traceback."""
    done = start(
        sys.executable, "-m", "preflight", "run", "--order", b"\xff\xfe", "--out", str(tmp_path)
    )
    assert done.returncode == 2
    assert "--order" in done.stderr and "Traceback" not in done.stderr


def test_a_plan_that_cannot_be_used_names_file_and_line(tmp_path: Path) -> None:
    """A mistake in the plan is told with its file, line and key."""
    plan = tmp_path / "plan.toml"
    plan.write_text('[order]\ngpu = "B200"\ngpuss = 2\n')
    result = invoke("run", "--plan", str(plan))
    assert result.exit_code == 2
    assert f"{plan}:3" in result.stderr and "gpus" in result.stderr


def test_a_fault_of_ours_says_what_to_send(tmp_path: Path) -> None:
    """An unexpected error exits with 4 and asks for its lines."""
    code = (
        "import preflight.schemas, sys\nfrom preflight.cli import main\n"
        "preflight.schemas.schema_text = lambda what: 1 / 0\n"
        "sys.argv[1:] = ['schema']\nmain()"
    )
    done = start(sys.executable, "-c", code)
    assert done.returncode == 4
    assert "ZeroDivisionError" in done.stderr
    assert f"preflight {__version__}: this is a fault of preflight" in done.stderr


# -- list, schema, completion ------------------------------------------------------------------


def test_the_list_names_every_stage_and_check_in_path_order() -> None:
    """``preflight list`` is the path: stages in order, their checks below them."""
    text = invoke("list").output
    heads = [line.split(" ")[0] for line in text.splitlines() if re.match(r"[a-z]", line)]
    assert heads == list(STAGE_NAMES)
    rows = re.findall(r"^ +([a-z0-9_]+\.[a-z0-9_]+) ", text, re.MULTILINE)
    assert rows == [spec.id for spec in list_checks([checks_folder()])]
    assert rows


def test_the_list_shows_checks_of_ones_own(tmp_path: Path) -> None:
    """--checks adds a folder, also to the list."""
    (tmp_path / "check_900_mine.py").write_text(
        "import pytest\n\n\n"
        '@pytest.mark.check(id="system.mine", stage="system", deadline="5s")\n'
        'def check_mine(result):\n    """Mine holds."""\n'
    )
    assert "system.mine" in invoke("list", "--checks", str(tmp_path)).output


@pytest.mark.parametrize("what", ["record", "plan"])
def test_the_schema_is_printed(what: str) -> None:
    """``preflight schema`` prints JSON and nothing else; the record is what it prints unasked."""
    assert invoke("schema", what).output == schema_text(what)
    assert json.loads(invoke("schema").output) == json.loads(schema_text("record"))


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_has_a_script_for_each_shell(shell: str) -> None:
    """The script of each shell asks this program by the variable that it listens to."""
    text = invoke("completion", shell).output
    assert f"_PREFLIGHT_COMPLETE={shell}_complete" in text
    assert "preflight" in text


def test_completion_answers() -> None:
    """What the script of bash asks is answered with the flags that begin so."""
    done = start(
        str(Path(sys.executable).with_name("preflight")),
        environment={
            "_PREFLIGHT_COMPLETE": "bash_complete",
            "COMP_WORDS": "preflight run --de",
            "COMP_CWORD": "2",
        },
    )
    assert done.stdout.split() == ["plain,--device", "plain,--deadline"]


def test_the_surface_is_frozen() -> None:
    """Commands, flags, words, stages, check ids and file names change on purpose alone.

    After a deliberate change: ``python tests/surface.py > tests/data/surface.json``, and a line in
    CHANGELOG.md.
    """
    path = Path(__file__).parent / "data" / "surface.json"
    assert surface() == json.loads(path.read_text(encoding="utf-8"))


def test_the_formats_of_the_flag_are_those_that_can_be_rendered() -> None:
    """The words of --format, kept apart for a fast help, are the table of renderers."""
    assert set(FORMATS) == set(RENDERED)


# -- report ------------------------------------------------------------------------------------


@pytest.fixture
def record_file(tmp_path: Path) -> Path:
    """A record in a file."""
    path = tmp_path / "record.json"
    path.write_bytes(encode_record(sample.failing()))
    return path


@pytest.mark.parametrize("form", FORMATS)
def test_a_report_goes_to_standard_output(record_file: Path, form: str) -> None:
    """Every format is printed, and nothing else on either stream."""
    result = invoke("report", str(record_file), "--format", form)
    assert (result.exit_code, result.stderr) == (0, "")
    assert len(result.stdout) > 100 and result.stdout.endswith("\n")


@pytest.mark.parametrize("form", FORMATS)
def test_a_report_goes_to_a_file(record_file: Path, form: str) -> None:
    """-o writes the very text that would be printed, and prints nothing."""
    path = record_file.with_name("report.out")
    result = invoke("report", str(record_file), "--format", form, "-o", str(path))
    assert (result.exit_code, result.output) == (0, "")
    printed = invoke("report", str(record_file), "--format", form).stdout
    assert path.read_text(encoding="utf-8").rstrip("\n") == printed.rstrip("\n")


def test_the_json_report_is_the_record(record_file: Path) -> None:
    """``--format json`` gives a record that reads back."""
    text = invoke("report", str(record_file), "--format", "json").stdout
    assert decode_record(text.encode(), where="stdout") == sample.failing()


def test_a_report_of_a_failed_run_is_no_failure(record_file: Path) -> None:
    """Rendering a NOT READY record succeeds: the exit code speaks of the rendering."""
    assert invoke("report", str(record_file)).exit_code == 0


# -- init --------------------------------------------------------------------------------------


def test_init_writes_a_plan_that_loads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first plan is a plan, and the command says what to do with it."""
    monkeypatch.chdir(tmp_path)
    first = invoke("init")
    assert (first.exit_code, first.stdout) == (0, "")
    assert "preflight run --plan plan.toml" in first.stderr
    load_plan(tmp_path / "plan.toml")


def test_init_keeps_a_plan_that_is_there(tmp_path: Path) -> None:
    """A plan is not written over unless --force is given, which needs no torch either."""
    path, python = tmp_path / "my plan.toml", tmp_path / "python"
    python.write_text(f'#!/bin/sh\nexec {sys.executable} -S "$@"\n')  # -S: without site-packages
    python.chmod(0o755)
    path.write_text("# mine\n")
    again = invoke("init", "-o", str(path), "--python", str(python))
    assert again.exit_code == 2
    assert "--force" in again.stderr
    assert path.read_text() == "# mine\n"

    assert invoke("init", "-o", str(path), "--python", str(python), "--force").exit_code == 0
    load_plan(path)
    assert "[order]" in path.read_text()


def test_an_interrupt_in_the_first_moments_shows_no_traceback() -> None:
    """Ctrl-C while the command line is still being imported is an interrupt like any other."""
    code = (
        "import sys\n"
        "class Interrupting:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name == 'click':\n"
        "            raise KeyboardInterrupt\n"
        "sys.meta_path.insert(0, Interrupting())\n"
        "from preflight.__main__ import main\n"
        "main()"
    )
    done = start(sys.executable, "-c", code)
    assert (done.returncode, done.stderr) == (130, "")
