"""An audit as text."""

from __future__ import annotations

import msgspec
import pytest
from compat.environments import (
    B200,
    H100,
    cuda,
    distribution,
    installed,
    library,
    torch_of,
)

from preflight.auditing.gpus import gpu_of_architecture
from preflight.compat.audit import Audit, Finding, Gpu
from preflight.compat.audit_judgement import judge_environment
from preflight.hardware.catalog import products
from preflight.rendering import audit_json, audit_text
from preflight.rendering.escaping import columns

from . import gold

EVERY = tuple(gpu_of_architecture(name) for name in sorted({p.architecture for p in products()}))
ENVIRONMENT = installed(
    torch_of(
        cuda("sm_80 sm_90 sm_100", "sm_80 sm_90 sm_100 sm_100a"),
        library("torch/lib/libtorch_cpu.so", glibc="2.28"),
        library("torch/lib/libtorch_cuda_linalg.so", cuda("sm_80 sm_90 sm_100")),
    ),
    distribution("flash-attn", library("flash_attn/_C.so", cuda("sm_80", "sm_80 sm_90a"))),
    distribution("vllm", library("vllm/_C.so", cuda("sm_90 sm_100", "sm_90a"))),
    distribution("nvidia-cublas", library("nvidia/libcublasLt.so.13", cuda("sm_90", "sm_100"))),
    distribution("numpy", library("numpy/core.so")),
    distribution("nvidia-nvshmem", library("nvidia/x.so", missing=("libucp.so.0",))),
    *map(distribution, ("six", "sympy")),
    glibc="2.36",
    python="3.12",
)


def audit(*gpus: Gpu, driver: str | None = None) -> Audit:
    """The audit of that environment."""
    return judge_environment(ENVIRONMENT, gpus, driver=driver, tool_version="0.1.0")


def test_the_text_is_as_frozen() -> None:
    """The text of a sample audit changes only on purpose."""
    gold.check("audit.txt", audit_text.render(audit(B200, H100, driver="570.86")))


def test_the_survey_is_as_frozen() -> None:
    """All that preflight knows, in one table, without a failure."""
    found = judge_environment(ENVIRONMENT, EVERY, gpus_from="catalogue")
    gold.check("audit-survey.txt", audit_text.render(found))


@pytest.mark.parametrize("name", ["x", "a-distribution-with-a-very-long-name-that-goes-on" * 2])
@pytest.mark.parametrize("count", [1, 7, 20])
def test_the_table_fits_100_columns(name: str, count: int) -> None:
    """Twenty GPUs and long names have room; every GPU is named somewhere."""
    architectures = [f"sm_{number}" for number in range(50, 50 + count)]
    gpus = tuple(
        Gpu(name=f"NVIDIA Something {index} of a long name", architecture=architecture)
        for index, architecture in enumerate(architectures)
    )
    environment = installed(distribution(name, library("x.so", cuda("sm_50", "sm_55"))))
    text = audit_text.render(judge_environment(environment, gpus))
    assert all(columns(line) <= 100 for line in text.splitlines())
    plain = " ".join(text.split())
    assert all(gpu.name in plain for gpu in gpus)


def test_gpus_of_one_architecture_share_a_column() -> None:
    """What holds for one holds for all of them."""
    h200 = msgspec.structs.replace(H100, name="H200")
    lines = audit_text.render(audit(H100, h200, B200)).splitlines()
    assert lines[2].split() == ["H100,", "H200", "B200"]
    assert lines[3].split() == ["sm_90", "sm_100"]


def test_what_is_not_judged_stands_in_brackets() -> None:
    """And a line says what the brackets mean."""
    text = audit_text.render(audit(B200))
    assert "nvidia-cublas 1.0  (partly)" in text
    assert "in brackets:" in text
    torch_only = judge_environment(installed(torch_of(cuda("sm_100"))), (B200,))
    assert "in brackets" not in audit_text.render(torch_only)


def test_packages_without_device_code_are_named() -> None:
    """Those with libraries by name, those without as a number."""
    text = audit_text.render(audit(B200))
    assert "no device code: numpy, nvidia-nvshmem, 2 packages without libraries" in text


def test_no_device_code_at_all() -> None:
    """It is said, and is no failure by itself."""
    found = judge_environment(installed(distribution("numpy", library("x.so"))), (B200,))
    assert "no device code in any library" in audit_text.render(found)


def test_equal_findings_are_told_once() -> None:
    """A finding for several GPUs names them all, and what to do for each where that differs."""
    text = " ".join(audit_text.render(audit(B200, H100, driver="570.86")).split())
    assert "fail on B200, H100: driver 570.86 is older than 580.65.06" in text
    assert "do B200: install driver 580.65.06 or newer; H100: install driver 580.65.06 or" in text


def test_what_was_not_judged_is_counted() -> None:
    """Optional parts of a vendor's package are one line, and all in the JSON."""
    text = audit_text.render(audit(B200))
    assert "not judged: libraries that optional parts of the vendors' packages lack (1," in text
    assert "libucp" not in text


def test_many_warnings_are_cut() -> None:
    """Failures are all shown, warnings up to a number; the rest is counted."""
    findings = tuple(
        Finding(status=status, package=f"p{index}", reason=f"{status} {index}", action="do")
        for status in ("fail", "warn")
        for index in range(50)
    )
    text = audit_text.render(msgspec.structs.replace(audit(B200), findings=findings))
    assert text.count("\nfail ") + text.startswith("fail ") == 50
    assert text.count("warn ") == 40  # the label and the words of 20
    assert "and 30 more warnings" in text


def test_nothing_speaks_against_it() -> None:
    """An environment that is fine is said to be."""
    found = judge_environment(installed(torch_of(cuda("sm_100"))), (B200,))
    assert "nothing speaks against it" in audit_text.render(found)
    assert "nothing speaks against it" not in audit_text.render(audit(B200))


def test_no_control_character_reaches_the_terminal() -> None:
    """Names of packages and files are others' words."""
    hostile = "a\x1b[31m\u202e\nb"
    environment = installed(
        distribution(hostile, library(f"{hostile}.so", cuda("sm_80"))), python="3.12"
    )
    environment = msgspec.structs.replace(environment, subject=hostile)
    text = audit_text.render(judge_environment(environment, (B200,)))
    assert "\x1b" not in text and "\u202e" not in text
    assert "\\x1b[31m" in text


def test_json_has_every_key() -> None:
    """What scripts read, with the exit code's reasons in ``findings``."""
    found = audit(B200)
    assert msgspec.json.decode(audit_json.render(found), type=Audit) == found
    assert audit_json.render(found).endswith("}\n")
