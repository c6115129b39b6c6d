"""``preflight explain``: the answer on standard output, its exit codes, and input of every kind."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from preflight.cli import program
from preflight.explanation import SCHEMA
from preflight.stages import STAGE_NAMES

CASES = Path(__file__).parent / "data" / "cases"
BROKEN = CASES / "001-pytorch-150733-rtx5090d-cu126.txt"
HEALTHY = CASES / "130-vllm-33543-gb200-format-control.txt"
ECC = "RuntimeError: CUDA error: uncorrectable ECC error encountered\n"


def invoke(*arguments: str, text: str | bytes = "") -> Result:
    """Run the command in this process, with a text on standard input."""
    return CliRunner().invoke(program, ["explain", *arguments], input=text, prog_name="preflight")


@pytest.mark.parametrize(
    ("text", "exit_code"),
    [
        (BROKEN.read_text(), 1),
        (HEALTHY.read_text(), 0),
        ("[pip3] triton==3.3.0\n[pip3] pytorch-triton==3.3.1\n", 0),  # a warning alone
        ("Good morning.\n", 3),
        ("", 3),
    ],
)
def test_the_exit_code(text: str, exit_code: int) -> None:
    """1 where a failure is proved, 3 where nothing can be told, else 0."""
    assert invoke("-", text=text).exit_code == exit_code


def test_standard_input_is_read_where_no_file_is_named() -> None:
    """Without a file, and with a dash, the answer is the same."""
    assert invoke(text=ECC).stdout == invoke("-", text=ECC).stdout
    assert "first cause: system" in invoke(text=ECC).stdout


def test_a_file_is_read() -> None:
    """The answer names status, action and the line of the text."""
    shown = invoke(str(BROKEN)).stdout
    assert "  arch        fail     torch has no code for NVIDIA GeForce RTX 5090 D" in shown
    assert "line 3: NVIDIA GeForce RTX 5090 D with CUDA capability sm_120" in shown
    assert "first cause: arch" in shown and "--index-url" in shown


@pytest.mark.parametrize("name", ["nothing-here.txt", "."])
def test_a_file_that_cannot_be_read_ends_in_two(name: str, tmp_path: Path) -> None:
    """A missing file and a folder are answered with their name, and nothing on standard output."""
    result = invoke(str(tmp_path / name))
    assert (result.exit_code, result.stdout) == (2, "") and "cannot be read" in result.stderr


def test_a_gpu_without_a_name_ends_in_two() -> None:
    """--gpu '' is a mistake, not a card."""
    result = invoke("--gpu", " ", text=ECC)
    assert result.exit_code == 2 and "--gpu" in result.stderr


def test_json_has_every_stage_cause_and_facts() -> None:
    """The schema's name, statuses, lines with their text, and what was read."""
    tree = json.loads(invoke("--json", str(BROKEN)).stdout)
    assert tree["schema"] == SCHEMA and list(tree["stages"]) == list(STAGE_NAMES)
    arch = tree["stages"]["arch"]
    assert set(arch) == {"status", "reason", "action", "lines"} and arch["status"] == "fail"
    assert {str(line) for line in arch["lines"]} <= set(tree["quotes"])
    assert (tree["cause"]["stage"], tree["facts"]["torch"]) == ("arch", "2.6.0+cu126")
    assert tree["facts"]["gpus"] == [
        {"name": "NVIDIA GeForce RTX 5090 D", "architecture": "sm_120"}
    ]


def test_json_of_a_healthy_dump_has_no_cause() -> None:
    """``cause`` is null, and what the text does not show is unknown with a command."""
    tree = json.loads(invoke("--json", str(HEALTHY)).stdout)
    assert tree["cause"] is None
    assert tree["stages"]["kernel"]["status"] == "unknown"
    assert "preflight run --only kernel" in tree["stages"]["kernel"]["action"]


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (gzip.compress(b"text", mtime=0), "gzip"),
        (b"\x00" * 100_000, "binary"),
        (os.urandom(100_000), "binary"),
        (b"", "the input is empty"),
        (b"hello\n", "nothing in the 1 lines"),
    ],
)
def test_input_that_tells_nothing_is_named(data: bytes, words: str) -> None:
    """What it is, what to paste instead, exit code 3 and no traceback."""
    result = invoke("-", text=data)
    assert result.exit_code == 3 and words in result.stderr and "collect_env" in result.stderr
    assert "Traceback" not in result.stderr


@pytest.mark.parametrize("form", [(), ("--json",)])
def test_secrets_of_a_paste_are_not_repeated(form: tuple[str, ...]) -> None:
    """A line that is quoted loses the token that stands in it."""
    token = "HF_TOKEN=hf_abcdefghijklmnopqrstuvwxyz0123456789"
    text = f"{token} CUDA error: no kernel image is available\n"
    shown = invoke(*form, "-", text=text).stdout
    assert "no kernel image" in shown and "hf_abcdefghij" not in shown


def test_codes_in_a_paste_reach_no_terminal() -> None:
    """Escape codes of the pasted text are gone from what is printed."""
    shown = invoke("-", text=f"\x1b[31m{ECC}\x1b]0;title\x07").stdout
    assert "\x1b" not in shown and "\x07" not in shown


def test_a_long_log_is_read_in_bounded_memory(tmp_path: Path) -> None:
    """20 MB of a log of NCCL with a warning at its end, in a process of less than 150 MiB."""
    log = tmp_path / "nccl.log"
    line = "node-1:{}:{} [3] NCCL INFO Channel 07/0 : 3[3] -> 4[4] via P2P/CUMEM/read\n"
    with log.open("w") as file:
        file.writelines(line.format(number, number % 977) for number in range(260_000))
        file.write(
            "node-1:1:1 [3] NCCL WARN Error while creating shared memory segment /dev/shm/n\n"
        )
    code = (
        "import re, sys\n"
        "from preflight.cli import program\n"
        "try: program(['explain', '--json', sys.argv[1]])\n"
        # Not ru_maxrss, which begins with that of the process that forked.
        "finally: print(re.search(r'VmHWM:\\s*(\\d+)', open('/proc/self/status').read())[1],"
        " file=sys.stderr)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(log)], capture_output=True, text=True, check=False
    )
    tree = json.loads(done.stdout)
    assert tree["cause"]["stage"] == "system" and tree["stages"]["collective"]["status"] == "fail"
    assert tree["stages"]["collective"]["lines"] == [260_001]
    assert int(done.stderr.split()[-1]) < 150 * 1024  # KiB on Linux
