"""The assemblers that Triton would call, found and asked in a process of its own."""

from __future__ import annotations

from pathlib import Path

import pytest

from preflight.probes import assemblers

BANNER = "ptxas: NVIDIA (R) Ptx optimizing assembler\nCuda compilation tools, release {0}, V{0}.93"


def make(path: Path, text: str, *, mode: int = 0o755) -> Path:
    """A program that prints ``text``."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\ncat <<'END'\n{text}\nEND\n")
    path.chmod(mode)
    return path


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder on sys.path with a Triton that must not be imported."""
    package = tmp_path / "triton"
    package.mkdir()
    (package / "__init__.py").write_text("raise RuntimeError('imported')")
    monkeypatch.syspath_prepend(str(tmp_path))
    for name in ("TRITON_PTXAS_PATH", "TRITON_PTXAS_BLACKWELL_PATH"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


def versions(site: Path) -> dict[str, str | None]:
    """Version of each assembler that is found, for a torch in ``site``."""
    found = assemblers.found(str(site / "torch" / "__init__.py"))
    return {name: answer["version"] for name, answer in found.items()}


def test_tritons_own_assemblers_are_asked(site: Path) -> None:
    """Both of Triton 3, and torch's own beside them."""
    folder = site / "triton/backends/nvidia/bin"
    make(folder / "ptxas", BANNER.format("12.8"))
    make(folder / "ptxas-blackwell", BANNER.format("13.1"))
    make(site / "torch/bin/ptxas", BANNER.format("13.0"))
    assert versions(site) == {
        "ptxas": "12.8.93",
        "ptxas-blackwell": "13.1.93",
        "torch": "13.0.93",
    }


def test_the_place_of_triton_2(site: Path) -> None:
    """Before 3.0 the assembler lay elsewhere, and there was one."""
    make(site / "triton/third_party/cuda/bin/ptxas", BANNER.format("12.1"))
    assert versions(site) == {"ptxas": "12.1.93"}


def test_a_path_from_the_environment_comes_first(
    site: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As in Triton: the named one is taken, and its own where that does not run."""
    make(site / "triton/backends/nvidia/bin/ptxas", BANNER.format("12.8"))
    named = make(site / "cuda/ptxas", BANNER.format("13.2"))
    monkeypatch.setenv("TRITON_PTXAS_PATH", str(named))
    assert versions(site) == {"ptxas": "13.2.93"}
    make(named, "no banner")
    assert versions(site) == {"ptxas": "12.8.93"}
    monkeypatch.setenv("TRITON_PTXAS_PATH", str(site / "gone"))
    assert versions(site) == {"ptxas": "12.8.93"}


def test_an_assembler_that_does_not_run_says_why(site: Path) -> None:
    """Without its executable bit, and one that answers with something else."""
    plain = make(site / "triton/backends/nvidia/bin/ptxas", BANNER.format("12.8"), mode=0o644)
    denied = assemblers.ask(plain)
    assert denied["version"] is None
    assert "Permission denied" in str(denied["error"])
    silent = assemblers.ask(make(site / "other", "hello"))
    assert silent["error"] == "it ended with 0 and told no version"


def test_without_triton_there_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A torch alone has no assembler, which is no error."""
    monkeypatch.setattr(assemblers.importlib.util, "find_spec", lambda name: None)
    assert assemblers.found(str(tmp_path / "torch/__init__.py")) == {}
