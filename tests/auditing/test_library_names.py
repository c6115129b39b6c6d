"""Names of libraries and modules."""

from __future__ import annotations

import pytest

from preflight.auditing.library_names import is_library_name, module_name


@pytest.mark.parametrize(
    "name",
    [
        *("libx.so", "libnccl.so.2", "libcudart.so.11.0", "libMLIR.so.23.0git", "_C.abi3.so"),
        *("_C.cpython-312-x86_64-linux-gnu.so", "x.pyd", "x.dll", "kernel.hsaco", "kernel.co"),
    ],
)
def test_names_of_libraries(name: str) -> None:
    """Libraries with and without a version, of Linux and Windows, and code objects."""
    assert is_library_name(name)


@pytest.mark.parametrize(
    "name", ["x.py", "x.sound", "x.so.txt", "so", "x.cpp", "libx.a", "x.so.", "x.solution"]
)
def test_names_of_other_files(name: str) -> None:
    """A name that only looks alike is none."""
    assert not is_library_name(name)


@pytest.mark.parametrize(
    ("name", "module"),
    [
        ("six.py", "six"),
        ("_C.abi3.so", "_C"),
        ("_C.cpython-312-x86_64-linux-gnu.so", "_C"),
        ("x.pyd", "x"),
        ("libx.so.2", None),
        ("data.json", None),
    ],
)
def test_names_of_modules(name: str, module: str | None) -> None:
    """What import can find in a file of that name."""
    assert module_name(name) == module
