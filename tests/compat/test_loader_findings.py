"""What is said of libraries before they are loaded."""

from __future__ import annotations

import msgspec
import pytest

from preflight.compat.audit import Finding
from preflight.compat.device_code import DeviceLibrary
from preflight.compat.installed import (
    NO_DISTRIBUTION,
    Conflict,
    Copies,
    DoublyOwned,
    Installed,
    Library,
    Shadow,
)
from preflight.compat.loader_findings import loader_findings
from preflight.facts import Absence

from .environments import CUDA_13, cuda, distribution, installed, library


def findings(environment: Installed) -> list[Finding]:
    """Findings about loading."""
    return list(loader_findings(environment))


def only(*libraries: Library, name: str = "flash-attn") -> Finding:
    """The one finding about a distribution with these libraries."""
    (found,) = findings(installed(distribution(name, *libraries)))
    return found


def test_a_healthy_environment_has_none() -> None:
    """No finding without a reason."""
    assert findings(installed(distribution("numpy", library("numpy/x.so", glibc="2.17")))) == []


@pytest.mark.parametrize(
    ("reason", "status"),
    [
        ("no permission", "error"),
        ("failed", "error"),
        ("not found", "warn"),
        ("not readable", "warn"),
    ],
)
def test_a_file_that_cannot_be_read(reason: str, status: str) -> None:
    """What keeps us from looking is an error; a link to nowhere is a fact about the package."""
    absence = Absence(what="x.so", reason=reason, detail="the words")
    found = only(Library(path="x.so", absence=absence))
    assert (found.status, found.file) == (status, "x.so")
    assert "the words" in found.reason
    assert found.action


def test_a_damaged_library_fails_where_its_size_proves_it() -> None:
    """RECORD says how many bytes were installed."""
    damaged = DeviceLibrary(kind="none", trouble="it was cut short")
    found = only(library("x.so", damaged, num_bytes=10, recorded_bytes=20))
    assert (found.status, found.action) == ("fail", "install flash-attn again")
    assert "it has 10 bytes, RECORD says 20" in found.reason
    assert only(library("x.so", damaged, num_bytes=20, recorded_bytes=20)).status == "warn"
    assert only(library("x.so", damaged, num_bytes=20)).status == "warn"


def test_code_that_was_never_linked() -> None:
    """None of its kernels can be launched on any GPU."""
    found = only(library("x.so", cuda("sm_90", is_unlinked=True)))
    assert (found.status, "never linked" in found.reason) == ("warn", True)


def test_a_library_that_nothing_provides() -> None:
    """One finding for libraries that lack the same, with their names."""
    found = only(
        library("a/x.so", missing=("libcublas.so.12", "libcudnn.so.8")),
        library("a/y.so", missing=("libcublas.so.12", "libcudnn.so.8")),
    )
    assert found.status == "warn"
    assert found.reason == (
        "x.so, y.so need libcublas.so.12, libcudnn.so.8, which nothing here provides"
    )


def test_much_that_is_lacking_is_one_finding() -> None:
    """A package with a library for each release of FFmpeg lacks much, and it is said once."""
    found = only(*(library(f"core_{x}.so", missing=(f"libav{x}.so",)) for x in "abcdef"))
    assert found.reason.startswith("core_a.so, core_b.so, core_c.so, core_d.so, 2 more need libava")
    assert "libavf.so" in found.reason


def test_a_complete_sibling_makes_up_for_the_others() -> None:
    """Of libraries that differ in a number the package loads one that fits."""
    lacking = [library(f"core{n}.so", missing=(f"libav.so.{n}",)) for n in (4, 5, 6)]
    found = installed(distribution("torchcodec", *lacking, library("core7.so")))
    assert findings(found) == []
    assert len(findings(installed(distribution("torchcodec", *lacking)))) == 3


def test_what_torch_itself_lacks_fails() -> None:
    """import torch loads its libraries."""
    found = only(library("torch/lib/libtorch_cuda.so", missing=("libcudnn.so.9",)), name="torch")
    assert (found.status, found.action.split(",")[0]) == (
        "fail",
        "install what brings libcudnn.so.9",
    )


def test_what_torch_opens_only_when_it_is_used_is_a_warning() -> None:
    """libtorch_nvshmem is for symmetric memory alone."""
    lacking = library("torch/lib/libtorch_nvshmem.so", missing=("libnvshmem_host.so.3",))
    assert only(lacking, name="torch").status == "warn"


def test_what_optional_parts_of_a_vendor_lack_is_not_judged() -> None:
    """NVSHMEM has a transport for every network, of which one is loaded."""
    found = only(
        library("nvshmem_transport_ucx.so.3", missing=("libucp.so.0",)), name="nvidia-nvshmem-cu13"
    )
    assert found.status == "skip"


def test_siblings_that_are_not_loaded_lack_nothing() -> None:
    """The library for CUDA 11.8 is not loaded beside a torch for CUDA 13."""
    libraries = [
        library("libb_cuda118.so", missing=("libcublas.so.11",)),
        library("libb_cuda130.so"),
    ]
    assert findings(installed(distribution("b", *libraries))) == []
    assert findings(installed(distribution("b", *libraries), torch=None, is_complete=False)) == []


def test_symbols_of_another_torch_fail() -> None:
    """The first symbol, how many more, and against which torch to build."""
    found = only(library("x.so", unresolved=("_ZN3c105ErrorE", "_ZN2at1aEv")))
    assert (found.status, found.package) == ("fail", "flash-attn")
    assert "_ZN3c105ErrorE and 1 more symbols are not in torch 2.14.1+cu130" in found.reason
    assert "built for torch 2.14.1+cu130" in found.action


@pytest.mark.parametrize(
    ("because", "action"),
    [
        ("LD_LIBRARY_PATH", "take its folder out of LD_LIBRARY_PATH"),
        ("RPATH", "build it without that path, or remove that copy"),
    ],
)
def test_a_copy_that_comes_before_the_environments_own(because: str, action: str) -> None:
    """Both copies and what leads to the wrong one."""
    conflict = Conflict(
        soname="libcudnn.so.9",
        taken="/usr/local/cuda/lib64/libcudnn.so.9",
        own="nvidia/cudnn/lib/libcudnn.so.9",
        because=because,
    )
    found = only(library("torch/lib/libtorch_cuda.so", conflicts=(conflict,)), name="torch")
    assert (found.status, found.action) == ("warn", action)
    assert found.reason == (
        f"{because} makes it load /usr/local/cuda/lib64/libcudnn.so.9 in place of "
        "nvidia/cudnn/lib/libcudnn.so.9"
    )


def test_a_glibc_that_is_too_old_fails() -> None:
    """The loader refuses the library; 2.9 is older than 2.34."""
    new = distribution("x", library("a.so", glibc="2.34"), library("b.so", glibc="2.17"))
    (found,) = findings(installed(new, glibc="2.9"))
    assert (found.status, found.file) == ("fail", "a.so")
    assert found.reason == "it needs glibc 2.34, and 2.9 is here"
    assert findings(installed(new, glibc="2.34")) == []
    assert findings(installed(new, glibc=Absence(reason="not found"))) == []


def test_a_module_that_is_hidden() -> None:
    """What is taken, from where, and how to get rid of it."""
    shadow = Shadow(
        module="torch",
        path="/home/u/torch",
        place="the working folder",
        hidden="torch",
        hidden_version="2.14.1",
    )
    (found,) = findings(installed(shadows=(shadow,)))
    assert (found.status, found.package) == ("warn", "torch")
    assert found.reason == (
        "import torch takes /home/u/torch from the working folder in place of torch 2.14.1"
    )
    assert "start Python in another folder" in found.action
    user = msgspec.structs.replace(shadow, place="the user site", taken="torch 2.3.0")
    (found,) = findings(installed(shadows=(user,)))
    assert "(torch 2.3.0)" in found.reason
    assert "PYTHONNOUSERSITE" in found.action


def test_two_copies_of_a_library() -> None:
    """cu12 beside cu13, or one library twice."""
    copies = Copies(
        family="libcublas",
        places=("a/libcublas.so.12 (nvidia-cublas-cu12)", "b/libcublas.so.13 (nvidia-cublas)"),
        sonames=("libcublas.so.12", "libcublas.so.13"),
    )
    (found,) = findings(installed(copies=(copies,)))
    assert found.status == "warn"
    assert found.reason.startswith("2 versions of libcublas (libcublas.so.12, libcublas.so.13): a/")


def test_two_distributions_that_wrote_one_file() -> None:
    """nvidia-nccl-cu12 and nvidia-nccl-cu13 put their library to the same place."""
    owned = DoublyOwned(
        distributions=("nvidia-nccl-cu12 2.27.5", "nvidia-nccl-cu13 2.30.7"),
        files=("nvidia/nccl/lib/libnccl.so.2",),
    )
    (found,) = findings(installed(doubly_owned=(owned,)))
    assert (found.status, found.file) == ("warn", "nvidia/nccl/lib/libnccl.so.2")
    assert "nvidia-nccl-cu12 2.27.5 and nvidia-nccl-cu13 2.30.7 have written" in found.reason


def test_an_environment_without_torch() -> None:
    """No torch is worth a warning in an environment, and nothing in a wheel."""
    (found,) = findings(installed(torch=None))
    assert (found.status, "torch is not installed" in found.reason) == ("warn", True)
    assert findings(installed(torch=None, is_complete=False)) == []


def test_files_of_no_distribution_are_not_installed_again() -> None:
    """Nobody can install what nobody has recorded."""
    absence = Absence(what="x.so", reason="not found", detail="the link points nowhere")
    found = only(Library(path="x.so", absence=absence), name=NO_DISTRIBUTION)
    assert found.action == "remove it, or put it there again"
    assert CUDA_13.version not in found.reason
