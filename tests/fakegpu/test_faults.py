"""Every kind of fault of an operation, on one device of two."""

from __future__ import annotations

import subprocess
import sys

import pytest

from fakegpu.build import Libraries
from fakegpu.environment import ILLEGAL_ACCESS, NO_KERNEL, fake_environment, fault
from fakegpu.python import run_python

TRY = """
import time

def attempt(device):
    start = time.perf_counter()
    try:
        product = torch.ones(8, 8, device=device) @ torch.ones(8, 8, device=device)
        torch.cuda.synchronize(device)
    except torch.AcceleratorError as error:
        return f"error {error.error_code}"
    except torch.OutOfMemoryError:
        return "out of memory"
    except RuntimeError as error:
        return str(error).splitlines()[0]
    if time.perf_counter() - start > 0.5:
        return "late"
    if product.isnan().any():
        return "NaN"
    return "right" if bool((product == 8).all()) else "wrong"

print(attempt("cuda:0"), attempt("cuda:1"), sep="|")
"""


@pytest.mark.parametrize(
    ("kind", "seen"),
    [
        ("raise some text", "some text"),
        (NO_KERNEL, "error 209"),
        (ILLEGAL_ACCESS, "error 700"),
        ("oom", "out of memory"),
        ("sleep 1000", "late"),
        ("flip", "wrong"),
        ("nan", "NaN"),
    ],
    ids=lambda text: text.partition(" ")[0],
)
def test_a_fault_shows_on_its_device_alone(libraries: Libraries, kind: str, seen: str) -> None:
    """The sick device shows the fault, the other computes right."""
    told = run_python(libraries, TRY, FAKEGPU_COUNT="2", **fault("aten::mm", kind, device=1))
    assert told == f"right|{seen}"


@pytest.mark.parametrize(("kind", "number"), [("abort", 6), ("kill", 9)])
def test_a_fault_ends_the_process(libraries: Libraries, kind: str, number: int) -> None:
    """By SIGABRT or SIGKILL, inside the operation."""
    lines = "import torch; torch.ones(2, 2, device='cuda:1') @ torch.ones(2, 2, device='cuda:1')"
    done = subprocess.run(
        [sys.executable, "-c", lines],
        env=fake_environment(libraries, **fault("aten::mm", kind, device=1)),
        capture_output=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == -number


def test_the_first_calls_can_be_let_through(libraries: Libraries) -> None:
    """The fault comes with the call after SKIP others, and stays."""
    told = run_python(
        libraries,
        """
        one = torch.ones(2, 2, device="cuda:1")
        print([bool(((one @ one) == 2).all()) for _ in range(4)])
        """,
        **fault("aten::mm", "flip", device=1, skip=2),
    )
    assert told == "[True, True, False, False]"


def test_a_fault_of_one_rank_spares_the_others(libraries: Libraries) -> None:
    """FAKEGPU_FAULT_RANK keeps it to the process of that rank."""
    sick = {**fault("aten::mm", "flip", device=1), "FAKEGPU_FAULT_RANK": "2"}
    for rank, seen in (("1", "right|right"), ("2", "right|wrong")):
        assert run_python(libraries, TRY, RANK=rank, **sick) == seen
