from __future__ import annotations

from pathlib import Path

import pytest

from preflight.probes import extension

from .process_group import ProcessGroup, RankError


def test_version_and_place_of_an_installed_module() -> None:
    """An installed module is found in site-packages, with its version."""
    answer = extension.load("msgspec")
    assert answer["place"] == "site-packages"
    assert answer["version"] and answer["file"].endswith("__init__.py")
    assert answer["kernel"] is None


def test_version_comes_from_the_distribution_where_the_module_has_none() -> None:
    """A module without ``__version__`` has its distribution's."""
    assert extension.load("elftools.elf")["version"] is not None


def test_a_module_of_the_working_folder_shadows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A clone in the working folder is told from an installed module."""
    (tmp_path / "flash_attn_clone").mkdir()
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    answer = extension.load("flash_attn_clone")
    assert answer["place"] == "working folder"
    assert answer["version"] is None


def test_kernel_of_the_plan_is_called(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """``module:function`` is called, and what it raises comes through."""
    (tmp_path / "some_kernels.py").write_text("def good(): pass\ndef bad(): raise OSError(5, 'x')")
    monkeypatch.syspath_prepend(str(tmp_path))
    assert extension.load("json", "some_kernels:good")["kernel"]["seconds"] >= 0
    with pytest.raises(OSError, match="x"):
        extension.load("json", "some_kernels:bad")
    with pytest.raises(ValueError, match="module:function"):
        extension.load("json", "some_kernels")


def test_missing_module_is_a_fact(one_rank: ProcessGroup) -> None:
    """ModuleNotFoundError reaches the supervisor by its name."""
    with pytest.raises(RankError) as caught:
        one_rank.call("extension.load", name="no_such_module")
    assert caught.value.answers[0]["type"] == "ModuleNotFoundError"
