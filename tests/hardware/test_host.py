"""Facts of the host as a whole, from made files and from this machine."""

from __future__ import annotations

import os
import platform
import resource
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from preflight.facts import ABSENCE_REASONS, Absence, HostFacts
from preflight.hardware.disks import Purpose
from preflight.hardware.files import THIS_MACHINE, Files
from preflight.hardware.host import read_host, read_host_facts

from .machines import MALFORMED, machine

GIB = 1024**3
CARDS = {"gpu0": "0000:1b:00.0", "gpu1": "0000:9a:00.0"}
PATHS: dict[Purpose, str] = {"checkpoint": "/ck", "data": "/data", "temporary": "/tmp"}
KERNEL = "/proc/sys/kernel"
TEXTS: dict[str, object] = {
    f"{KERNEL}/hostname": "node-a",
    f"{KERNEL}/osrelease": "6.8.0-60-generic",
    f"{KERNEL}/arch": "x86_64",
    "/proc/cpuinfo": "model name\t: AMD EPYC 9654 96-Core Processor \nmodel name\t: another",
    "/proc/meminfo": "MemTotal:       1584738304 kB\nMemFree: 12 kB",
    "/proc/self/status": "Cpus_allowed_list:\t0-191",
    "/proc/self/limits": "Max open files 1024 4096 f\nMax locked memory 8388608 unlimited bytes",
    "/proc/self/cgroup": "0::/user.slice",
    "/etc/os-release": 'ID=ubuntu\nPRETTY_NAME="Ubuntu 24.04.3 LTS"',
}


def leaves(value: Any) -> Iterator[Any]:
    """Every fact of a record, however deep."""
    if isinstance(value, msgspec.Struct) and not isinstance(value, Absence):
        for name in value.__struct_fields__:
            yield from leaves(getattr(value, name))
    elif isinstance(value, tuple):
        for item in value:
            yield from leaves(item)
    else:
        yield value


def test_a_host_is_read(tmp_path: Path) -> None:
    """The files of another machine give every fact of it."""
    host = read_host(machine(tmp_path, TEXTS))
    assert (host.name, host.kernel, host.machine) == ("node-a", "6.8.0-60-generic", "x86_64")
    assert host.distribution == "Ubuntu 24.04.3 LTS"
    assert host.cpu == "AMD EPYC 9654 96-Core Processor"
    assert (host.cores, host.memory_GiB) == (192, 1511.32)
    assert (host.memlock_KiB, host.open_files) == (8192, 1024)
    assert (host.container, host.shm_GiB) == (None, None)


def test_what_cannot_be_read_is_none(tmp_path: Path) -> None:
    """A host without files has unknown facts, never zeros and none of this machine's."""
    host = read_host(Files(tmp_path))
    known = {name: getattr(host, name) for name in host.__struct_fields__}
    assert known == {**dict.fromkeys(known), "name": "unknown"}


def test_bytes_that_are_no_text_do_not_stop_the_reading(tmp_path: Path) -> None:
    """A distribution may write what it likes into os-release."""
    (tmp_path / "etc").mkdir()
    (tmp_path / "etc/os-release").write_bytes(b"PRETTY_NAME=Caf\xe9 Linux\n")
    assert read_host(Files(tmp_path)).distribution == "Caf\ufffd Linux"


def test_the_environment_of_this_process_is_this_machines_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A pod that reads another machine's files does not make it a pod."""
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1")
    assert read_host().container == "kubernetes"
    assert read_host(machine(tmp_path, TEXTS)).container is None
    given = read_host(machine(tmp_path, TEXTS), {"KUBERNETES_SERVICE_HOST": "10.0.0.1"})
    assert given.container == "kubernetes"


def test_this_machine() -> None:
    """By default it is this one, and the interpreter knows the same of it by other means."""
    host, shm = read_host(), os.statvfs("/dev/shm")
    assert (host.name, host.kernel) == (socket.gethostname(), platform.release())
    assert host.machine == platform.machine()
    assert host.cores == len(os.sched_getaffinity(0))
    assert host.shm_GiB == round(shm.f_frsize * shm.f_blocks / GIB, 3)
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    assert host.open_files == (-1 if soft == resource.RLIM_INFINITY else soft)


def test_all_facts_of_this_machine_have_a_value_or_a_reason() -> None:
    """A look at a real machine ends, and what it tells can be written and read again."""
    facts = read_host_facts(THIS_MACHINE, {}, PATHS, os.environ)
    for fact in leaves(facts):
        assert not isinstance(fact, Absence) or fact.reason in ABSENCE_REASONS
    assert msgspec.json.decode(msgspec.json.encode(facts), type=HostFacts) == facts
    assert [disk.purpose for disk in facts.disks] == list(PATHS)


def test_nothing_of_this_machine_is_seen_below_an_empty_root(tmp_path: Path) -> None:
    """Without a single file every fact is an absence, and nothing else."""
    facts = read_host_facts(Files(tmp_path), CARDS, PATHS, {})
    words = {word for purpose, path in PATHS.items() for word in (purpose, path)}
    known = [fact for fact in leaves(facts) if not isinstance(fact, Absence) and fact not in words]
    assert known == []
    assert {fact.reason for fact in leaves(facts) if isinstance(fact, Absence)} == {"not found"}


def test_no_field_is_left_unasked(tmp_path: Path) -> None:
    """Every fact of a host is looked for; what a machine lacks says that it was not found."""
    facts = read_host_facts(Files(tmp_path), CARDS, PATHS, {})
    asked = [fact for fact in leaves(facts) if isinstance(fact, Absence)]
    assert "not asked" not in {fact.reason for fact in asked}
    assert all(fact.what for fact in asked)


def test_no_file_of_this_machine_is_opened_below_another_root(tmp_path: Path) -> None:
    """The kernel is asked: a process that reads another machine opens nothing of /proc or /sys."""
    code = (
        "import sys\n"
        "from pathlib import Path\n"
        "from preflight.hardware.files import Files\n"
        "from preflight.hardware.host import read_host, read_host_facts\n"
        "opened = []\n"
        "watch = ('open', 'os.listdir', 'os.scandir', 'subprocess.Popen')\n"
        "def hear(event, arguments):\n"
        "    if event in watch:\n"
        "        opened.append(str(arguments[0]))\n"
        "files = Files(Path(sys.argv[1]))\n"
        "sys.addaudithook(hear)\n"
        "read_host(files)\n"
        "read_host_facts(files, {'gpu0': '0000:1b:00.0'}, {'checkpoint': '/ck'}, {})\n"
        "print([path for path in opened if not path.startswith(sys.argv[1])])\n"
        "print(len(opened))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(machine(tmp_path, TEXTS).root)],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    outside, number = done.stdout.splitlines()
    assert outside == "[]"
    assert int(number) > 10


EVERY_FILE = (
    *TEXTS,
    "/proc/uptime",
    "/proc/stat",
    "/proc/cmdline",
    "/proc/modules",
    "/proc/self/mountinfo",
    "/proc/1/comm",
    "/proc/sys/kernel/numa_balancing",
    "/proc/driver/nvidia/version",
    "/dev/kmsg",
    "/run/systemd/container",
    "/sys/class/dmi/id/sys_vendor",
    "/sys/class/iommu/dmar0/x",
    "/sys/class/net/eth0/device/numa_node",
    "/sys/class/net/eth0/speed",
    "/sys/class/infiniband/mlx5_0/ports/1/rate",
    "/sys/class/infiniband_verbs/uverbs0/ibdev",
    "/sys/devices/system/cpu/online",
    "/sys/devices/system/cpu/cpu0/topology/physical_package_id",
    "/sys/devices/system/node/node0/meminfo",
    "/sys/bus/pci/devices/0000:1b:00.0/config",
    "/etc/ld.so.conf.d/a.conf",
)


@pytest.mark.parametrize("text", MALFORMED)
def test_torn_files_raise_nothing(tmp_path: Path, text: str) -> None:
    """A machine on which every file is torn still has an answer that can be written."""
    files = machine(tmp_path, dict.fromkeys(EVERY_FILE, text))
    read_host(files, {"container": text})
    facts = read_host_facts(files, CARDS, PATHS, {"LD_LIBRARY_PATH": text})
    assert msgspec.json.decode(msgspec.json.encode(facts), type=HostFacts) == facts


def test_names_that_are_no_text_can_still_be_written(tmp_path: Path) -> None:
    """A network interface, a folder of libraries or a path may carry bytes that are no letters."""
    odd = os.fsdecode(b"eth\xff")
    (tmp_path / f"sys/class/net/{odd}/device").mkdir(parents=True)
    (tmp_path / f"opt/{odd}").mkdir(parents=True)
    (tmp_path / f"opt/{odd}/libibverbs.so.1").touch()
    environ = {"LD_LIBRARY_PATH": f"/opt/{odd}", "container": odd}
    facts = read_host_facts(Files(tmp_path), {}, {"output": f"/out/{odd}"}, environ)
    assert facts.interfaces == ()
    assert facts.verbs_library == r"/opt/eth\udcff/libibverbs.so.1"
    assert msgspec.json.decode(msgspec.json.encode(facts), type=HostFacts) == facts


def test_a_machine_on_which_every_file_is_a_folder(tmp_path: Path) -> None:
    """A bind mount gone wrong makes folders where files belong."""
    for path in EVERY_FILE:
        (tmp_path / path.lstrip("/")).mkdir(parents=True, exist_ok=True)
    facts = read_host_facts(Files(tmp_path), CARDS, PATHS, {})
    assert facts.kernel_log == Absence(what="/dev/kmsg", reason="failed", detail="Is a directory")
