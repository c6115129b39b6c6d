from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from importlib import metadata
from pathlib import Path

import pytest

from preflight.records import Package, Record
from preflight.rendering import constraints

from . import extremes, gold, sample
from .test_protocol import RECORDS


@pytest.mark.parametrize("name", ["passing", "failing", "rehearsal"])
def test_the_file_is_as_frozen(name: str) -> None:
    """Header, index lines, pins and comments change only on purpose."""
    gold.check(f"{name}.constraints.txt", constraints.render(RECORDS[name]()))


def with_packages(packages: dict[str, Package]) -> Record:
    """The passing record with other packages."""
    return replace_packages(sample.passing(), packages)


def replace_packages(record: Record, packages: dict[str, Package]) -> Record:
    """A record with other packages."""
    return sample.replace(record, versions=sample.replace(record.versions, packages=packages))


def lines_of(name: str, version: str, origin: str = "index") -> list[str]:
    """Lines that pip reads: no header, no comments."""
    package = Package(version=version, origin=origin)  # type: ignore[arg-type]
    text = constraints.render(with_packages({name: package}))
    return [line for line in text.splitlines() if line and not line.startswith("#")]


@pytest.mark.parametrize(
    ("name", "version", "lines"),
    [
        ("NVIDIA_NCCL.cu13", "2.28.9", ["nvidia-nccl-cu13==2.28.9"]),
        ("torch", "2.13.0+cpu", ["cpu", "torch==2.13.0+cpu"]),
        ("torchvision", "0.26.0+cu130", ["cu130", "torchvision==0.26.0+cu130"]),
        ("torch", "2.9.1+rocm6.4", ["rocm6.4", "torch==2.9.1+rocm6.4"]),
        ("torch", "2.12.0.dev20260101+cu130", ["nightly/cu130", "torch==2.12.0.dev20260101+cu130"]),
        ("torch", "2.6.0a0+nv25.01", []),
        ("torch", "2.7.0a0+git1341794", []),
        ("flash-attn", "2.8.3+cu13torch2.11", []),
        ("numpy", "not a version", []),
        ("numpy\nevil", "1.0", []),
        ("numpy", "1.0\n--pre", []),
    ],
)
def test_versions_are_pinned_or_commented(name: str, version: str, lines: list[str]) -> None:
    """Index builds are pinned with their index line; what no index has is a comment."""
    index = "--extra-index-url https://download.pytorch.org/whl/"
    expected = [line if "==" in line else index + line for line in lines]
    assert lines_of(name, version) == expected


@pytest.mark.parametrize("origin", ["url", "editable"])
def test_what_came_from_no_index_is_a_comment(origin: str) -> None:
    """Editable installs and those from an address are named with the reason, not pinned."""
    assert lines_of("trainer", "1.0", origin) == []


@pytest.mark.parametrize(
    ("record", "name"),
    [
        (sample.passing(), "constraints.txt"),
        (sample.rehearsal(), "constraints.txt"),
        (sample.failing(), "constraints.failed.txt"),
        (sample.record((sample.check("kernel.x", status="error"),)), "constraints.failed.txt"),
        (sample.record((sample.check("kernel.x", status="warn"),)), "constraints.txt"),
    ],
)
def test_only_a_good_verdict_gives_constraints(record: Record, name: str) -> None:
    """READY, with or without warnings, and REHEARSED give the file; the others a failed one."""
    assert constraints.file_name(record) == name


@pytest.mark.parametrize("make", [sample.passing, sample.failing])
def test_a_run_that_read_no_environment_says_so(make: Callable[[], Record]) -> None:
    """Without one package the header tells why the file pins nothing, and warns of no versions."""
    record = make()
    text = constraints.render(replace_packages(record, {}))
    assert text.startswith("# Nothing was read of the environment: no version is known.\n")
    assert "found and tested" not in text
    assert "These versions did not pass" not in text
    assert all(line.startswith("#") for line in text.splitlines())
    assert "Nothing was read" not in constraints.render(record)


def test_two_spellings_of_a_name_never_contradict() -> None:
    """A second version of one distribution is a comment, as pip would refuse both."""
    text = constraints.render(extremes.hostile())
    assert "\nfoo-bar==1.0\n" in text and "\n# foo-bar==2.0: " in text


def test_the_record_cannot_choose_the_encoding() -> None:
    """pip looks for a coding line in the first two lines; both are ours."""
    head = constraints.render(extremes.hostile()).splitlines()[:2]
    assert head == ["# Versions that preflight found and tested.", "# -*- coding: utf-8 -*-"]


@pytest.mark.parametrize("make", [sample.passing, extremes.hostile])
def test_pip_accepts_the_file(make: object, tmp_path: Path) -> None:
    """pip resolves with the file as constraints, whatever names the record holds; no network."""
    pytest.importorskip("pip")
    record: Record = make()  # type: ignore[operator]
    packages = dict(record.versions.packages)
    packages["numpy"] = Package(version=metadata.version("numpy"))
    record = sample.replace(record, versions=sample.replace(record.versions, packages=packages))
    path = tmp_path / "constraints.txt"
    path.write_text(constraints.render(record), encoding="utf-8")
    command = [sys.executable, "-m", "pip", "--isolated", "--disable-pip-version-check"]
    command += ["install", "--dry-run", "--no-index", "-c", str(path), "numpy"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "already satisfied: numpy" in done.stdout
