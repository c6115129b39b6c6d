"""No secret that a run can come across is in any file that it leaves."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

SECRETS = {
    "environment": "hf_Zq8vRk2mWx7pLd4nTy6uBs1cFg3hJk5e",
    "key": "wJalrXUtnFEMI/K7MDENG/bPxRfiCYzzzzzzzKEY",
    "pip": "pip-s3cr3t-passw0rd",
    "plan": "glpat-Xy7Kp2Qw9Zr4Tm6Vb8Nc",
    "path": "ghp_R4nd0mR4nd0mR4nd0mR4nd0mR4nd0mR4nd0m",
    "traceback": "sk-proj-A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6",
    "output": "xoxb-1234567890-abcdefghijklmnop",
}

CHECK = '''
import os
import pytest


@pytest.mark.check(id="system.leaks", stage="system", deadline="30s")
def check_leaks(result):
    """A check that spills what it knows."""
    print("slack token {output}")
    result.attach(str(os.environ.get("PIP_INDEX_URL")))
    result.note("index " + str(os.environ.get("PIP_INDEX_URL")))
    raise RuntimeError("login with OPENAI_API_KEY={traceback} failed")
'''

BROKEN = """
raise ValueError("cannot reach https://bob:{pip}@pypi.example.com/simple with {environment}")
"""


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What a run leaves whose surroundings are full of secrets."""
    folder = tmp_path_factory.mktemp("secrets") / f"data-{SECRETS['path']}"
    (folder / "checks").mkdir(parents=True)
    (folder / "checks" / "check_leaks.py").write_text(CHECK.format(**SECRETS))
    (folder / "checks" / "check_broken.py").write_text(BROKEN.format(**SECRETS))
    (folder / "plan.toml").write_text(f'[software.env]\nGITLAB_TOKEN = "{SECRETS["plan"]}"\n')
    environment = {
        **os.environ,
        "HF_TOKEN": SECRETS["environment"],
        "NCCL_SECRET": SECRETS["environment"],
        "AWS_SECRET_ACCESS_KEY": SECRETS["key"],
        "PIP_INDEX_URL": f"https://bob:{SECRETS['pip']}@pypi.example.com/simple",
    }
    out = folder.parent / "out"
    command = [
        *(sys.executable, "-m", "preflight", "run", "--device", "cpu", "--level", "quick"),
        *("--only", "system,import", "--plan", str(folder / "plan.toml"), "--out", str(out)),
        *("--checks", str(folder / "checks"), "--deadline", "5m"),
    ]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 3, done.stdout + done.stderr
    (out / "terminal.txt").write_text(done.stdout + done.stderr)
    return out


@pytest.mark.parametrize("name", SECRETS)
def test_a_secret_is_in_no_file(out: Path, name: str) -> None:
    """Tokens planted in variables, an address, the plan, paths, tracebacks and output are gone."""
    files = [path for path in out.rglob("*") if path.is_file()]
    assert {"record.json", "report.html", "journal.jsonl", "run.log"} <= {f.name for f in files}
    found = [f.name for f in files if SECRETS[name].encode() in f.read_bytes()]
    assert found == []


def test_what_is_no_secret_stays(out: Path) -> None:
    """The cause of the failing check can still be read."""
    (record,) = out.glob("*/*/record.json")
    text = record.read_text()
    assert "login with OPENAI_API_KEY=" in text
    assert "pypi.example.com/simple" in text
