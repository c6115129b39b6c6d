"""Control groups of both versions, from made files and from real ones."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from preflight.facts import Cgroup
from preflight.hardware.cgroups import read_cgroup
from preflight.hardware.files import THIS_MACHINE, Files
from preflight.hardware.mounts import Mount, read_mounts

from .machines import MALFORMED, machine, reason

GIB = 1024**3
TOP = "/sys/fs/cgroup"
NO_LIMIT_1 = 9223372036854771712
NO_LIMIT_1_64K = 9223372036854710272


def version_2(
    root: Path, path: str, folders: dict[str, dict[str, object]], mounted: str = "/"
) -> Files:
    """A machine with one hierarchy; ``folders`` are the files of each group below TOP."""
    texts: dict[str, object] = {
        "/proc/self/cgroup": f"0::{path}",
        "/proc/self/mountinfo": f"31 23 0:28 {mounted} {TOP} rw - cgroup2 cgroup2 rw,nsdelegate",
        f"{TOP}/cgroup.controllers": "cpu memory pids",
    }
    for folder, files in folders.items():
        texts |= {f"{TOP}{folder}/{name}": text for name, text in files.items()}
    return machine(root, texts)


def version_1(root: Path, path: str, mounted: str, folders: dict[str, dict[str, object]]) -> Files:
    """A machine with a hierarchy for each controller, all with the same paths."""
    names = ("memory", "cpu,cpuacct", "pids")
    texts: dict[str, object] = {
        "/proc/self/cgroup": "\n".join(
            [*(f"{n}:{name}:{path}" for n, name in enumerate(names, 2)), "1:name=systemd:/x"]
        ),
        "/proc/self/mountinfo": "\n".join(
            f"{n} 9 0:{n} {mounted} {TOP}/{name} rw - cgroup cgroup rw,{name}"
            for n, name in enumerate(names, 30)
        ),
    }
    for folder, files in folders.items():
        texts |= {f"{TOP}/{folder}/{name}": text for name, text in files.items()}
    return machine(root, texts)


LEAF = {"cgroup.type": "domain", "memory.max": "max", "memory.current": 3 * GIB}


def test_the_tightest_limit_on_the_way_up_counts(tmp_path: Path) -> None:
    """A group above may allow less than the own one, and its use is what is told."""
    files = version_2(
        tmp_path,
        "/a/b/c",
        {
            "/a": {"cgroup.type": "domain", "memory.max": 64 * GIB, "memory.current": 9 * GIB},
            "/a/b": {"cgroup.type": "domain", "memory.max": 8 * GIB, "memory.current": 5 * GIB},
            "/a/b/c": {**LEAF, "memory.max": 16 * GIB},
        },
    )
    found = read_cgroup(files)
    assert (found.version, found.path) == (2, "/a/b/c")
    assert (found.memory_limit_GiB, found.memory_used_GiB) == (8.0, 5.0)


def test_max_everywhere_is_no_limit(tmp_path: Path) -> None:
    """No limit is a fact, and the use is that of the own group."""
    unlimited = {**LEAF, "cpu.max": "max 100000", "pids.max": "max"}
    found = read_cgroup(version_2(tmp_path, "/a", {"/a": unlimited}))
    assert (found.memory_limit_GiB, found.cpus, found.processes) == (None, None, None)
    assert found.memory_used_GiB == 3.0


def test_memory_high_is_no_limit(tmp_path: Path) -> None:
    """It slows down and does not kill."""
    files = version_2(tmp_path, "/a", {"/a": {**LEAF, "memory.high": GIB}})
    assert read_cgroup(files).memory_limit_GiB is None


def test_limits_of_cpu_and_processes(tmp_path: Path) -> None:
    """Each controller has its own tightest group."""
    files = version_2(
        tmp_path,
        "/a/b",
        {
            "/a": {**LEAF, "cpu.max": "150000 100000", "pids.max": "max"},
            "/a/b": {**LEAF, "cpu.max": "800000 100000", "pids.max": "4096"},
        },
    )
    found = read_cgroup(files)
    assert (found.cpus, found.processes) == (1.5, 4096)


def test_a_container_with_a_namespace_sees_its_group_as_the_root(tmp_path: Path) -> None:
    """The path is ``/`` and the files of the mounted folder are its own."""
    files = version_2(tmp_path, "/", {"": {**LEAF, "memory.max": 2 * GIB}})
    assert read_cgroup(files).memory_limit_GiB == 2.0


def test_a_container_without_a_namespace_sees_the_hosts_path(tmp_path: Path) -> None:
    """What is mounted is the container's group, whose path the table of mounts has too."""
    path = "/kubepods/pod1/abc"
    files = version_2(tmp_path, path, {"": {**LEAF, "memory.max": 2 * GIB}}, mounted=path)
    assert read_cgroup(files).memory_limit_GiB == 2.0


def test_a_group_below_what_is_mounted(tmp_path: Path) -> None:
    """An init inside the container makes groups of its own below the mounted one."""
    files = version_2(
        tmp_path,
        "/docker/abc/init.scope",
        {"/init.scope": {**LEAF, "memory.max": 4 * GIB}, "": {**LEAF, "memory.max": 2 * GIB}},
        mounted="/docker/abc",
    )
    assert read_cgroup(files).memory_limit_GiB == 2.0


@pytest.mark.parametrize(
    ("path", "mounted"),
    [("/../../other", "/docker/abc"), ("/elsewhere", "/docker/abc"), ("/../x", "/"), ("/x", "/..")],
)
def test_a_path_that_does_not_fit_what_is_mounted(tmp_path: Path, path: str, mounted: str) -> None:
    """The mounted group is all that can be seen; nothing above it is read."""
    files = version_2(tmp_path, path, {"": {**LEAF, "memory.max": 2 * GIB}}, mounted=mounted)
    for folder in ("sys/fs", "sys/fs/x", "sys/other"):
        (tmp_path / folder).mkdir(exist_ok=True)
        (tmp_path / folder / "memory.max").write_text("1")
    assert read_cgroup(files).memory_limit_GiB == 2.0


def test_the_root_of_a_machine_has_no_limit(tmp_path: Path) -> None:
    """Its files do not exist, for above it nothing limits."""
    assert read_cgroup(version_2(tmp_path, "/", {})).memory_limit_GiB is None


def test_a_group_that_cannot_be_seen_is_not_unlimited(tmp_path: Path) -> None:
    """Files that miss where there is no root leave the limit unknown."""
    found = read_cgroup(version_2(tmp_path, "/a", {"": {"cgroup.type": "domain"}}))
    assert reason(found.memory_limit_GiB) == "not found"
    assert reason(found.cpus) == "not found"


def test_a_limit_that_cannot_be_read_is_not_unlimited(tmp_path: Path) -> None:
    """One torn file on the way hides whether there is a limit."""
    files = version_2(tmp_path, "/a/b", {"/a": {**LEAF, "memory.max": "torn"}, "/a/b": {**LEAF}})
    assert reason(read_cgroup(files).memory_limit_GiB) == "not readable"


def test_version_1(tmp_path: Path) -> None:
    """Each controller has a hierarchy; a quota of -1 is none."""
    files = version_1(
        tmp_path,
        "/slurm/job_7",
        "/",
        {
            "memory/slurm/job_7": {
                "memory.limit_in_bytes": 32 * GIB,
                "memory.usage_in_bytes": GIB,
            },
            "memory/slurm": {"memory.limit_in_bytes": NO_LIMIT_1},
            "memory": {"memory.limit_in_bytes": NO_LIMIT_1, "release_agent": ""},
            "cpu,cpuacct/slurm/job_7": {"cpu.cfs_quota_us": -1, "cpu.cfs_period_us": 100000},
            "cpu,cpuacct/slurm": {"cpu.cfs_quota_us": 250000, "cpu.cfs_period_us": 100000},
            "pids/slurm/job_7": {"pids.max": "max"},
            "pids": {"release_agent": ""},
        },
    )
    found = read_cgroup(files)
    assert (found.version, found.path) == (1, "/slurm/job_7")
    assert (found.memory_limit_GiB, found.memory_used_GiB) == (32.0, 1.0)
    assert (found.cpus, found.processes) == (2.5, None)


def test_version_1_tells_limits_that_a_container_does_not_see(tmp_path: Path) -> None:
    """The kernel's sum over all groups above stands in the group's own statistics."""
    files = version_1(
        tmp_path,
        "/docker/abc",
        "/docker/abc",
        {
            "memory": {
                "memory.limit_in_bytes": NO_LIMIT_1,
                "memory.stat": f"cache 1\nhierarchical_memory_limit {4 * GIB}\ntotal_cache 2",
                "memory.usage_in_bytes": GIB,
            }
        },
    )
    assert read_cgroup(files).memory_limit_GiB == 4.0


@pytest.mark.parametrize("number", [NO_LIMIT_1, NO_LIMIT_1_64K, 2**63 - 1])
def test_version_1_has_numbers_that_mean_no_limit(tmp_path: Path, number: int) -> None:
    """Their value depends on the size of a page."""
    files = version_1(tmp_path, "/a", "/", {"memory/a": {"memory.limit_in_bytes": number}})
    assert read_cgroup(files).memory_limit_GiB is None


def test_both_versions_on_one_machine(tmp_path: Path) -> None:
    """A hybrid machine rules memory by version 1 and has a hierarchy of version 2 beside it."""
    texts = {
        "/proc/self/cgroup": "4:memory:/a\n0::/user.slice",
        "/proc/self/mountinfo": (
            f"35 31 0:32 / {TOP}/memory rw - cgroup cgroup rw,memory\n"
            f"41 31 0:38 / {TOP}/unified rw - cgroup2 cgroup2 rw"
        ),
        f"{TOP}/memory/a/memory.limit_in_bytes": GIB,
        f"{TOP}/unified/cgroup.controllers": "",
        f"{TOP}/unified/user.slice/cgroup.type": "domain",
        f"{TOP}/unified/user.slice/cpu.max": "200000 100000",
    }
    found = read_cgroup(machine(tmp_path, texts))
    assert (found.version, found.memory_limit_GiB, found.cpus) == (1, 1.0, 2.0)


def test_the_hosts_groups_mounted_elsewhere_do_not_count(tmp_path: Path) -> None:
    """A monitoring pod sees those of the host below /host, after its own."""
    files = version_2(tmp_path, "/", {"": {**LEAF, "memory.max": GIB}})
    table = tmp_path / "proc/self/mountinfo"
    table.write_text(table.read_text() + f"99 1 0:28 / /host{TOP} ro - cgroup2 cgroup2 rw\n")
    (tmp_path / f"host{TOP}").mkdir(parents=True)
    assert read_cgroup(files).memory_limit_GiB == 1.0


def test_a_machine_without_groups(tmp_path: Path) -> None:
    """Without the files, and without a mount, nothing is known."""
    everything = read_cgroup(Files(tmp_path))
    for name in Cgroup.__struct_fields__:
        assert reason(getattr(everything, name)) == "not found"
    texts = {"/proc/self/cgroup": "0::/a", "/proc/self/mountinfo": "1 0 8:1 / / rw - xfs a rw"}
    assert reason(read_cgroup(machine(tmp_path, texts)).memory_limit_GiB) == "not found"


@pytest.mark.parametrize("text", MALFORMED)
def test_malformed_files_are_absences(tmp_path: Path, text: str) -> None:
    """Whatever stands in the files, nothing is raised and no limit is made up."""
    torn = {"memory.max": f"x{text}", "cpu.max": text, "pids.max": f"x{text}", "cgroup.type": text}
    found = read_cgroup(version_2(tmp_path / "2", "/a", {"/a": torn, "": {"cgroup.type": ""}}))
    for fact in (found.memory_limit_GiB, found.cpus, found.processes):
        assert reason(fact) == "not readable"
    texts = {
        "/proc/self/cgroup": text,
        "/proc/self/mountinfo": f"1 0 0:1 / {TOP} rw - cgroup2 c rw",
    }
    read_cgroup(machine(tmp_path / "1", texts))


@pytest.mark.parametrize("quota", ["0 0", "100 0", "max", "100000", "1e5 1e5", "-1 100000"])
def test_a_quota_without_a_period_is_not_readable(tmp_path: Path, quota: str) -> None:
    """Nothing is divided by 0."""
    files = version_2(tmp_path, "/a", {"/a": {**LEAF, "cpu.max": quota}})
    assert reason(read_cgroup(files).cpus) == "not readable"


# Real groups


def _group_of_memory() -> tuple[Path, str] | None:
    """Folder of this process's group and its file of limits; None where there is none to write."""
    found = read_cgroup(THIS_MACHINE)
    mounts = read_mounts(THIS_MACHINE)
    if not isinstance(found.path, str) or not isinstance(mounts, tuple):
        return None

    def rules(mount: Mount) -> bool:
        return mount.filesystem == ("cgroup2" if found.version == 2 else "cgroup") and (
            found.version == 2 or "memory" in mount.options
        )

    point = next((mount.point for mount in mounts if rules(mount) and mount.root == "/"), None)
    if point is None:
        return None
    name = "memory.max" if found.version == 2 else "memory.limit_in_bytes"
    return Path(point + found.path), name


@contextlib.contextmanager
def limited_group(limit_bytes: int) -> Iterator[Path]:
    """A group below our own with a limit of memory; skips where this machine allows none."""
    place = _group_of_memory()
    if place is None:
        pytest.skip("no group that rules memory is mounted here")
    folder = place[0] / f"preflight-{os.getpid()}"
    try:
        folder.mkdir()
    except OSError as error:
        pytest.skip(f"this user may make no control group: {error}")
    try:
        try:
            (folder / place[1]).write_text(str(limit_bytes))
        except OSError as error:
            pytest.skip(f"memory is not delegated to this group: {error}")
        yield folder
    finally:
        folder.rmdir()


def test_a_real_group_with_a_limit() -> None:
    """A child inside it reads the limit that was written, and its own path."""
    code = (
        "import pathlib, sys, msgspec\n"
        "from preflight.hardware.cgroups import read_cgroup\n"
        "from preflight.hardware.files import THIS_MACHINE\n"
        "pathlib.Path(sys.argv[1], 'cgroup.procs').write_text('0')\n"
        "sys.stdout.buffer.write(msgspec.json.encode(read_cgroup(THIS_MACHINE)))\n"
    )
    with limited_group(768 * 1024**2) as folder:
        done = subprocess.run(
            [sys.executable, "-c", code, str(folder)], capture_output=True, timeout=60, check=False
        )
    assert done.returncode == 0, done.stderr.decode()
    found = msgspec.json.decode(done.stdout, type=Cgroup)
    assert found.memory_limit_GiB == 0.75
    assert isinstance(found.path, str) and found.path.endswith(folder.name)
    assert isinstance(found.memory_used_GiB, float) and found.memory_used_GiB < 0.75
