from __future__ import annotations

import sysconfig
from pathlib import Path

import pytest

from preflight.probes import compilation

from .process_group import ProcessGroup

QUICK: dict[str, str] = {
    "TORCHINDUCTOR_COMPILE_THREADS": "1",
    "TORCHINDUCTOR_CPP_CACHE_PRECOMPILE_HEADERS": "0",
    "TORCHINDUCTOR_VEC_ISA_OK": "1",
}


def _missing(backend: str = "inductor", device: str = "cpu") -> dict[str, dict[str, str]]:
    return {entry["what"]: entry for entry in compilation.toolchain(backend, device)["missing"]}


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", str(tmp_path / "inductor"))
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path / "triton"))


def test_nothing_is_missing_where_a_compiler_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """This machine builds for the CPU."""
    monkeypatch.delenv("CXX", raising=False)
    assert _missing() == {}


def test_a_compiler_that_is_named_and_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    """CXX is believed: where it names nothing that exists, no other compiler counts."""
    monkeypatch.setenv("CXX", "/no/such/g++")
    entry = _missing()["c++ compiler"]
    assert "/no/such/g++" in entry["looked"]


def test_no_compiler_on_the_path(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """An image without a compiler is named before torch.compile fails on it."""
    monkeypatch.delenv("CXX", raising=False)
    monkeypatch.delenv("CC", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert list(_missing()) == ["c++ compiler"]
    assert {"c compiler", "triton"} <= _missing(device="cuda:0").keys()


def test_no_python_header(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """An accelerator's compiler needs Python.h."""
    monkeypatch.setattr(sysconfig, "get_paths", lambda: {"include": str(tmp_path)})
    assert _missing(device="cuda:0")["python.h"]["looked"] == str(tmp_path)


def test_a_cache_folder_that_cannot_be_written(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A file in the folder's place, as a read-only home: the folder is named with the error."""
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", str(tmp_path / "file" / "cache"))
    entry = _missing()["inductor cache folder"]
    assert "Not a directory" in entry["why"]


def test_a_full_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """Less than 64 MiB free is too little for a cold cache."""
    monkeypatch.setattr(compilation, "NEEDED_BYTES", 1 << 62)
    assert "are free" in _missing()["inductor cache folder"]["why"]


def test_another_backend_needs_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Eager backends compile nothing."""
    monkeypatch.setenv("CXX", "/no/such/g++")
    assert _missing(backend="aot_eager") == {}


def _first_call(backend: str, environment: dict[str, str]) -> dict[str, object]:
    with ProcessGroup(1, environment, join=False) as probe:
        return dict(
            probe.call(
                "compilation.first_call", device="cpu", backend=backend, seed=1, level="quick"
            )[0]
        )


def _check(answer: dict[str, object]) -> None:
    values = answer["values"]
    assert isinstance(values, dict) and values["ratio"] < 1
    assert answer["graphs"] == 1 and answer["graph_breaks"] == 0
    steady, eager = answer["steady"], answer["eager"]
    assert isinstance(steady, dict) and isinstance(eager, dict) and steady["n"] == 20
    assert answer["gain"] == eager["median_s"] / steady["median_s"]


@pytest.mark.long
def test_first_call_through_aot_autograd() -> None:
    """Without a compiler the graph is traced forward and backward, and its values are right."""
    _check(_first_call("aot_eager", {}))


@pytest.mark.long
def test_a_warm_cache_in_a_fresh_process_saves_the_compilation(tmp_path: Path) -> None:
    """The second process finds what the first compiled, and starts in less than half the time."""
    environment = {**QUICK, "TORCHINDUCTOR_CACHE_DIR": str(tmp_path / "cache")}
    cold, warm = (_first_call("inductor", environment) for _ in range(2))
    _check(cold)
    _check(warm)
    assert cold["cache_hits"] == 0 and warm["cache_hits"] == 2
    assert float(str(warm["first_call_s"])) < 0.5 * float(str(cold["first_call_s"]))
