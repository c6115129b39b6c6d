"""The judgement of what the interpreter under test imports."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from preflight.events import Environment
from preflight.harness import CannotLook, ProbeFailed
from preflight.harness.result import Result
from preflight.plan import Plan, decode_plan
from preflight.records import Versions

from .situations import asking, card, environment, judged, load, mi300x, rehearsal, situation

imports = load("check_050_import.py")


def judge(answer: Environment, machine: Any = None) -> Result:
    """The judgement of ``import torch``."""
    return judged(imports.check_torch, machine or situation(), ask_torch=asking(answer))


# -- torch -------------------------------------------------------------------------------------


def test_torch_imports() -> None:
    """A build for the cards that are there passes, with its version, time and file."""
    result = judge(environment())
    assert (result.status, result.reason) == ("pass", "torch 2.13.0+cu130")
    assert [(m.name, m.value, m.unit) for m in result.measurements] == [("import torch", 2.5, "s")]
    assert "torch/__init__.py" in result.evidence


def test_torch_is_not_installed() -> None:
    """The failure tells what installs one with code for the card into this very interpreter."""
    cause = "ModuleNotFoundError: No module named 'torch'"
    answer = Environment(versions=Versions(), failed=True, cause=cause, evidence="Traceback")
    result = judge(answer)
    assert (result.status, result.reason, result.evidence) == ("fail", cause, "Traceback")
    assert "/opt/venv/bin/python -m pip install torch==2." in result.action
    assert "--index-url https://download.pytorch.org/whl/cu13" in result.action


def test_torch_is_not_installed_where_plain_pip_would_bring_the_wrong_one() -> None:
    """PyPI's newest has no code for a V100: the command names the index that has."""
    volta = card(0, product="Tesla V100-SXM2-32GB", architecture="sm_70", memory_GiB=32.0)
    cause = "ModuleNotFoundError: No module named 'torch'"
    answer = Environment(versions=Versions(), failed=True, cause=cause)
    assert "/whl/cu126" in judge(answer, situation(devices=(volta,))).action


def test_torch_is_not_installed_on_a_machine_without_cards() -> None:
    """Where no card was found there is nothing to choose by."""
    cause = "ModuleNotFoundError: No module named 'torch'"
    answer = Environment(versions=Versions(), failed=True, cause=cause)
    for machine in (rehearsal(), situation(devices=())):
        assert judge(answer, machine).action.endswith("/opt/venv/bin/python -m pip install torch")


def test_torch_is_broken() -> None:
    """A torch that is installed and does not import is to be installed again, in its release."""
    cause = "ImportError: libcudart.so.13: cannot open shared object file"
    result = judge(Environment(versions=Versions(torch="2.13.0"), failed=True, cause=cause))
    assert result.status == "fail"
    assert "pip uninstall -y torch && " in result.action
    assert "torch==2.13.0+cu130" in result.action


def test_an_interpreter_that_does_not_start_could_not_be_looked_at() -> None:
    """Where no process could be asked, nothing is known of torch: an error."""
    answer = Environment(versions=Versions(), failed=False, cause="python did not start")
    with pytest.raises(CannotLook, match="python did not start") as caught:
        judge(answer)
    assert "--python" in caught.value.action


def test_a_cpu_build_on_a_machine_with_cards() -> None:
    """A CPU-only torch beside accelerators is a failure that says so."""
    result = judge(environment(torch="2.13.0+cpu", cuda=None, cuda_available=False))
    assert result.status == "fail"
    assert result.reason == (
        "torch 2.13.0+cpu is a CPU-only build, and this machine has 2 x NVIDIA H100 80GB HBM3"
    )
    assert "--index-url" in result.action


def test_a_build_for_the_other_vendor() -> None:
    """A CUDA build on AMD cards, and the reverse, fail."""
    amd = situation(devices=(mi300x(0),))
    result = judge(environment(), amd)
    assert result.status == "fail"
    assert result.reason.endswith("is built for CUDA, and this machine has AMD Instinct MI300X")
    assert result.action.startswith("install a torch built for HIP: ")
    assert "/whl/rocm" in result.action
    hip = environment(torch="2.9.0+rocm6.4", cuda=None, hip="6.4")
    assert judge(hip).status == "fail"
    assert judge(hip, amd).status == "pass"


@pytest.mark.parametrize(
    ("error", "words"), [("CUDA error 802: not initialized", "802"), (None, "it says nothing")]
)
def test_a_build_that_finds_no_device(error: str | None, words: str) -> None:
    """The right build that sees no card fails, in torch's own words."""
    result = judge(environment(cuda_available=False, cuda_error=error))
    assert result.status == "fail" and words in result.reason


@pytest.mark.parametrize("machine", [rehearsal(), situation(devices=())])
def test_a_cpu_build_is_fine_without_cards(machine: Any) -> None:
    """In a rehearsal, and where no card was found, the build is not judged."""
    cpu = environment(torch="2.13.0+cpu", cuda=None, cuda_available=False)
    assert judge(cpu, machine).status == "pass"


@pytest.mark.parametrize(
    ("version", "status"),
    [
        ("2.6.0", "pass"),
        ("2.6.0+cu124", "pass"),
        ("2.5.1+cu121", "warn"),
        ("1.13.1", "warn"),
        ("2.6.0a0+nv25.01", "warn"),
        ("2.10.0", "pass"),
        ("nightly", "pass"),
    ],
)
def test_an_old_torch_is_a_finding(version: str, status: str) -> None:
    """Before 2.6 torch.load could be made to run code; a version of nobody's form is not judged."""
    result = judge(environment(torch=version))
    assert result.status == status
    assert ("CVE-2025-32434" in result.reason) == (status == "warn")


def test_a_failure_is_not_hidden_by_the_age() -> None:
    """An old CPU build on cards is a failure first."""
    old = environment(torch="2.4.0+cpu", cuda=None, cuda_available=False)
    assert judge(old).status == "fail"


# -- numpy and extensions ----------------------------------------------------------------------


class Fresh:
    """Fresh processes that answer for the modules of a table, and fail for all others."""

    def __init__(self, **versions: str) -> None:
        self.versions = versions
        self.asked: list[str] = []

    def __call__(self) -> Callable[..., dict[str, Any]]:
        """A process that has done nothing yet."""
        return self.call

    def call(self, probe: str, *, name: str) -> dict[str, Any]:
        """The answer of ``extension.load``."""
        assert probe == "extension.load"
        self.asked.append(name)
        if name not in self.versions:
            cause = f"ModuleNotFoundError: No module named {name!r}"
            raise ProbeFailed(cause, evidence=f"Traceback of {name}")
        return {"seconds": 0.5, "version": self.versions[name], "file": f"/lib/{name}.py"}


def test_numpy_imports() -> None:
    """numpy passes with version, time and file."""
    result = judged(imports.check_numpy, fresh=Fresh(numpy="2.4.6"), situation=situation())
    assert (result.status, result.reason) == ("pass", "numpy 2.4.6")
    assert result.measurements[0].unit == "s"
    assert result.evidence == "/lib/numpy.py"


def test_a_missing_numpy_tells_how_to_install_it() -> None:
    """The advice stands before the import is tried, so that the failure carries it."""
    result = Result()
    with pytest.raises(ProbeFailed, match="numpy"):
        imports.check_numpy(result=result, fresh=Fresh(), situation=situation())
    assert result.on_failure == "install it: /opt/venv/bin/python -m pip install numpy"


def extensions(fresh: Fresh, *listed: Any) -> Result:
    """The judgement of a plan's extensions."""
    table = '{{import = "{}", distribution = "{}"}}'
    rows = [f'"{row}"' if isinstance(row, str) else table.format(*row) for row in listed]
    text = f"[software]\nextensions = [{', '.join(rows)}]\n"
    plan = decode_plan(text, where="plan.toml")
    return judged(imports.check_extensions, fresh=fresh, plan=plan, situation=situation())


def test_no_extension_is_planned() -> None:
    """Without extensions in the plan there is nothing to import."""
    result = judged(imports.check_extensions, fresh=Fresh(), plan=Plan(), situation=situation())
    assert (result.status, result.reason) == ("skip", "the plan lists no extensions")


def test_each_extension_is_imported_in_a_process_of_its_own() -> None:
    """Every extension is measured and named with version and file."""
    fresh = Fresh(flash_attn="2.8.3", xformers="0.0.33")
    result = extensions(fresh, "flash_attn", "xformers")
    assert (result.status, result.reason) == ("pass", "flash_attn, xformers")
    assert [m.name for m in result.measurements] == ["import flash_attn", "import xformers"]
    assert "flash_attn 2.8.3 /lib/flash_attn.py" in result.evidence


def test_a_broken_extension_does_not_hide_the_others() -> None:
    """The first failure is told with its distribution's name; the rest are still tried."""
    fresh = Fresh(xformers="0.0.33")
    result = extensions(fresh, ("apex", "nvidia-apex"), "flash_attn", "xformers")
    assert fresh.asked == ["apex", "flash_attn", "xformers"]
    assert result.status == "fail"
    assert result.reason == "apex: ModuleNotFoundError: No module named 'apex'"
    assert result.action.endswith("--force-reinstall --no-deps nvidia-apex")
    assert "Traceback of flash_attn" in result.evidence
    assert [m.name for m in result.measurements] == ["import xformers"]
