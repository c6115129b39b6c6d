"""The distribution as a user gets it: built, installed elsewhere, run from an empty folder."""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
CONSTRAINTS = ROOT / "constraints-dev.txt"

pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def dist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the sdist, and the wheel built from that sdist."""
    folder = tmp_path_factory.mktemp("dist")
    build = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(folder), str(ROOT)]
    subprocess.run(build, check=True, capture_output=True, timeout=300)
    return folder


@pytest.fixture(scope="module")
def environment(dist: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A virtual environment with the wheel and what it depends on."""
    folder = tmp_path_factory.mktemp("installed") / "venv"
    venv.create(folder, with_pip=True)
    (wheel,) = dist.glob("*.whl")
    pip = [str(folder / "bin" / "python"), "-m", "pip", "install", "-q", "-c", str(CONSTRAINTS)]
    subprocess.run([*pip, str(wheel)], check=True, capture_output=True, timeout=900)
    return folder


def _run(environment: Path, folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [str(environment / "bin" / "preflight"), *arguments]
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "PREFLIGHT"))}
    return subprocess.run(
        command, cwd=folder, env=clean, capture_output=True, text=True, timeout=300
    )


def test_the_wheel_has_one_top_level_package(dist: Path) -> None:
    """No top-level package named checks or reports is installed."""
    (wheel,) = dist.glob("*.whl")
    tops = {name.partition("/")[0] for name in zipfile.ZipFile(wheel).namelist()}
    assert {top for top in tops if not top.endswith(".dist-info")} == {"preflight"}


def test_the_wheel_carries_every_check_and_template(dist: Path) -> None:
    """What stands in checks/ and reports/ at the root lies inside the package in the wheel."""
    (wheel,) = dist.glob("*.whl")
    names = set(zipfile.ZipFile(wheel).namelist())
    for folder, pattern in (("checks", "check_*.py"), ("reports", "*")):
        files = [p for p in (ROOT / folder).glob(pattern) if p.is_file()]
        assert files
        assert {f"preflight/{folder}/{p.name}" for p in files} <= names


def test_the_wheel_carries_every_file_of_data(dist: Path) -> None:
    """The catalogue and the schema, which are no Python, lie in the wheel beside their modules."""
    (wheel,) = dist.glob("*.whl")
    names = set(zipfile.ZipFile(wheel).namelist())
    assert {"preflight/hardware/catalog.toml", "preflight/record.schema.json"} <= names


def test_the_sdist_holds_what_the_tests_need(dist: Path) -> None:
    """A packager can run the tests from the sdist."""
    (archive,) = dist.glob("*.tar.gz")
    with tarfile.open(archive) as tar:
        names = {name.partition("/")[2] for name in tar.getnames()}
    assert {"Makefile", "README.md", "LICENSE", "tests/test_wheel.py"} <= names


def test_the_installed_command_runs_from_an_empty_folder(environment: Path, tmp_path: Path) -> None:
    """The wheel alone rehearses the stages that need no ranks, and leaves its report."""
    done = _run(
        environment,
        tmp_path,
        "run",
        "--device",
        "cpu",
        "--level",
        "quick",
        "--deadline",
        "10m",
        "--only",
        "system,import,kernel,collective",
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "REHEARSED" in done.stdout
    assert len(list(tmp_path.glob("preflight-reports/no-order/*/report.html"))) == 1


def test_the_installed_command_lists_its_checks(environment: Path, tmp_path: Path) -> None:
    """The shipped checks are found inside the wheel."""
    done = _run(environment, tmp_path, "list")
    assert done.returncode == 0
    assert "kernel.first" in done.stdout


def test_an_editable_install_runs_from_an_empty_folder(environment: Path, tmp_path: Path) -> None:
    """An editable install finds checks and templates at the root of the checkout."""
    python = str(environment / "bin" / "python")
    code = (
        "import sys; sys.path.insert(0, sys.argv.pop(1)); "
        "from preflight.folders import checks_folder; print(checks_folder())"
    )
    done = subprocess.run(
        [python, "-c", code, str(ROOT)], cwd=tmp_path, capture_output=True, text=True, timeout=60
    )
    assert Path(done.stdout.strip()) == ROOT / "checks", done.stderr
