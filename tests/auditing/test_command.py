"""``preflight audit`` as a whole."""

from __future__ import annotations

import json
import subprocess
import sys
import zipfile
from collections.abc import Sequence
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from compat.binaries import bundle, elf, library

from preflight.auditing.command import run_audit
from preflight.cli import program
from preflight.errors import UsageError

from .site import cuda, install, install_torch


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """An environment with a torch for CUDA, an extension, and a package for the CPU."""
    folder = tmp_path / "lib/python3.12/site-packages"
    install_torch(folder, {"torch/lib/libtorch_cuda.so": cuda("sm_80", "sm_90", "sm_100")})
    install(folder, "flash-attn", "2.8.3", {"flash_attn.so": cuda("sm_80", "sm_90a")})
    install(folder, "numpy", "2.4", {"numpy/core.so": library(needed=["libc.so.6"])})
    return folder


def invoke(*arguments: str | Path) -> Result:
    """Run the command in this process."""
    return CliRunner().invoke(program, ["audit", *map(str, arguments)], prog_name="preflight")


@pytest.mark.parametrize(
    ("flags", "code"),
    [
        (("--gpu", "H100"), 0),
        (("--gpu", "A100,H100"), 0),
        (("--gpu", "B200"), 1),
        (("--gpu", "B200", "--package", "torch"), 0),
        (("--arch", "sm_103", "--package", "torch,numpy"), 0),
        (("--gpu", "H100", "--gpu", "MI300X"), 1),
        (("--gpu", "H100", "--driver", "550.54.14"), 1),
        (("--gpu", "H100", "--driver", "580.95.05"), 0),
        (("--gpu", "H1000"), 2),
    ],
)
def test_exit_codes(site: Path, flags: Sequence[str], code: int) -> None:
    """0 fine or warnings, 1 a failure, 2 a mistake."""
    result = invoke("--site", site, *flags)
    assert result.exit_code == code, result.output
    assert isinstance(result.exception, SystemExit) or result.exception is None


def test_the_table(site: Path) -> None:
    """A line for each package with device code, a word for each GPU."""
    lines = invoke("--site", site, "--gpu", "B200,H100").output.splitlines()
    cells = {line.split()[0]: line.split()[2:] for line in lines if " yes" in line or " no" in line}
    assert cells["torch"] == ["yes", "yes"]
    assert cells["flash-attn"] == ["no", "yes"]
    assert any(line.startswith("no device code: numpy") for line in lines)


def test_json(site: Path) -> None:
    """Packages, files, findings and the driver's floor, by name of the GPU."""
    result = invoke("--site", site, "--gpu", "B200,MI300X", "--json")
    tree = json.loads(result.output)
    torch = next(package for package in tree["packages"] if package["name"] == "torch")
    assert torch["covered"] == {"B200": "yes", "MI300X": "no"}
    assert torch["files"] == [
        {
            "path": "torch/lib/libtorch_cuda.so",
            "kind": "cuda",
            "fatbins": 1,
            "archs": ["sm_80", "sm_90", "sm_100"],
            "archs_in_all": ["sm_80", "sm_90", "sm_100"],
            "judged": True,
            "covered": {"B200": "yes", "MI300X": "no"},
        }
    ]
    assert tree["driver_floor"] == {"B200": "580.65.06", "MI300X": None}
    keys = {"status", "package", "file", "gpu", "reason", "action", "source"}
    assert all(set(finding) == keys for finding in tree["findings"])
    assert result.exit_code == 1


def test_wheels_are_named_after_the_flag(tmp_path: Path) -> None:
    """As a shell expands dist/*.whl."""
    names = []
    for name, targets in (("a-1.0-py3-none-any.whl", "sm_90"), ("b-2.0-py3-none-any.whl", "sm_80")):
        with zipfile.ZipFile(tmp_path / name, "w") as archive:
            archive.writestr("x.so", cuda(targets))
        names.append(tmp_path / name)
    result = invoke("--gpu", "H100", "--wheel", *names, "--json")
    covered = {one["name"]: one["covered"]["H100"] for one in json.loads(result.output)["packages"]}
    assert covered == {"a": "yes", "b": "no"}


def test_an_image(site: Path, tmp_path: Path) -> None:
    """An unpacked image has its own loader's folders and C library."""
    (tmp_path / "opt").mkdir()
    (tmp_path / "lib").rename(tmp_path / "opt/lib")
    (tmp_path / "opt/venv").mkdir()
    (tmp_path / "opt/lib").rename(tmp_path / "opt/venv/lib")
    (tmp_path / "usr/lib").mkdir(parents=True)
    libc = library(soname="libc.so.6", defined_versions=["GLIBC_2.31"])
    (tmp_path / "usr/lib/libc.so.6").write_bytes(libc)
    packages = tmp_path / "opt/venv/lib/python3.12/site-packages"
    newer = library(needed=["libc.so.6"], versions={"libc.so.6": ["GLIBC_2.34"]})
    install(packages, "new", "1.0", {"new.so": newer})
    tree = json.loads(invoke("--image-root", tmp_path, "--gpu", "H100", "--json").output)
    assert (tree["python"], tree["glibc"], tree["glibc_floor"]) == ("3.12", "2.31", "2.34")
    (failure,) = (one for one in tree["findings"] if one["status"] == "fail")
    assert failure["reason"] == "it needs glibc 2.34, and 2.31 is here"


def test_a_file_that_cannot_be_read_is_never_fine(tmp_path: Path) -> None:
    """A member of a wheel that is damaged leaves the audit incomplete: exit code 3."""
    path = tmp_path / "x-1.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("x.so", cuda("sm_90"))
    data = bytearray(path.read_bytes())
    data[40:50] = b"\xff" * 10
    path.write_bytes(data)
    result = invoke("--gpu", "H100", "--wheel", path)
    assert result.exit_code == 3
    assert "error   x 1.0 (x.so): cannot be read" in result.output


def test_hostile_files_end_in_findings(site: Path) -> None:
    """Each is named with what to do, and none ends in a traceback."""
    (site / "cut.so").write_bytes(cuda("sm_90")[:-10])
    (site / "zeros.so").write_bytes(b"\0" * 4096)
    (site / "lies.so").write_bytes(elf({".hip_fatbin": bundle(["gfx942"])[:100]}))
    (site / "folder.so").mkdir()
    (site / "gone.so").symlink_to("nowhere")
    result = invoke("--site", site, "--gpu", "H100", "--json")
    assert result.exit_code == 0
    found = {one["file"]: one for one in json.loads(result.output)["findings"]}
    for name in ("cut.so", "zeros.so", "lies.so", "folder.so", "gone.so"):
        assert found[name]["status"] == "warn"
        assert found[name]["reason"] and found[name]["action"]


def test_a_damaged_library_of_a_package_fails(site: Path) -> None:
    """RECORD proves that bytes are missing."""
    path = site / "torch/lib/libtorch_cuda.so"
    path.write_bytes(path.read_bytes()[:-100])
    result = invoke("--site", site, "--gpu", "H100", "--package", "torch")
    assert result.exit_code == 1
    assert "install torch again" in result.output


def test_the_running_interpreter_is_looked_at_by_default() -> None:
    """Its torch, its packages; nothing is imported."""
    audit = run_audit(gpu=["B200"], package=["pytest"])
    assert audit.subject == sys.executable
    assert [package.name for package in audit.packages] == ["pytest"]
    assert audit.python == f"{sys.version_info[0]}.{sys.version_info[1]}"


def test_nothing_of_the_environment_is_imported(site: Path) -> None:
    """torch of that environment raises where it is imported, and so does its .pth file."""
    (site / "bad.pth").write_text("import sys; sys.exit('a .pth file was run')\n")
    done = subprocess.run(
        [sys.executable, "-m", "preflight", "audit", "--site", str(site), "--gpu", "H100"],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_little_is_loaded(site: Path) -> None:
    """An audit of a folder needs no torch, no numpy and no pytest, and starts at once."""
    code = (
        "import sys; from preflight.auditing.command import run_audit; "
        f"run_audit(site={str(site)!r}, gpu=['H100']); "
        "print([name for name in ('torch', 'numpy', 'pytest') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


@pytest.mark.parametrize(
    ("flags", "named"),
    [
        ({"site": "x", "python": "y"}, "--python and --site"),
        ({"image_root": "x", "python": "y"}, "--python and --image-root"),
        ({"is_wheel": True, "wheels": ["x"], "image_root": "y"}, "--wheel and --image-root"),
        ({"is_wheel": True}, "--wheel"),
        ({"wheels": ["x.whl"]}, "x.whl"),
        ({"driver": "5"}, "--driver"),
        ({"driver": "570.86.15.1"}, "--driver"),
    ],
)
def test_flags_that_exclude_each_other(flags: dict[str, object], named: str) -> None:
    """They are named, and nothing is looked at."""
    with pytest.raises(UsageError, match=named):
        run_audit(gpu=["B200"], **flags)  # type: ignore[arg-type]


def test_a_package_that_is_not_there(site: Path) -> None:
    """It is named with near ones."""
    with pytest.raises(UsageError, match="--package") as caught:
        run_audit(site=str(site), gpu=["B200"], package=["flash_atn"])
    assert "did you mean flash-attn?" in str(caught.value)
