"""Containers, by what each runtime leaves behind."""

from __future__ import annotations

from pathlib import Path

import pytest

from preflight.hardware.container import NONE, OTHER, container_of
from preflight.hardware.files import Files

from .machines import machine, reason

HOST_CGROUP = "0::/user.slice/user-1000.slice/session-4.scope"
HOST_ROOT = "30 1 259:2 / / rw shared:1 - ext4 /dev/nvme0n1p2 rw"
FIRST = "pid:[4026531836]"


def inside(
    root: Path,
    *,
    cgroup: str = HOST_CGROUP,
    mounts: str = HOST_ROOT,
    pid: str = FIRST,
    sign: str = "",
) -> Files:
    """A process in these groups, on this root, in this namespace."""
    files = machine(root, {"/proc/self/cgroup": cgroup, "/proc/self/mountinfo": mounts})
    (root / "proc/self/ns").mkdir()
    (root / "proc/self/ns/pid").symlink_to(pid)
    return machine(root, {sign: ""}) if sign else files


def test_a_host_is_no_container(tmp_path: Path) -> None:
    """A look that shows no sign is an answer."""
    assert container_of(inside(tmp_path), {}) == NONE


def test_nothing_to_read_is_no_host(tmp_path: Path) -> None:
    """Without a look there is no answer."""
    assert reason(container_of(Files(tmp_path), {})) == "not found"


@pytest.mark.parametrize(
    ("sign", "kind"),
    [
        ("/.dockerenv", "docker"),
        ("/run/.containerenv", "podman"),
        ("/.singularity.d/labels.json", "apptainer"),
        ("/var/run/secrets/kubernetes.io/serviceaccount/token", "kubernetes"),
    ],
)
def test_files_that_runtimes_leave(tmp_path: Path, sign: str, kind: str) -> None:
    """Each runtime puts its own file into the container."""
    assert container_of(inside(tmp_path, sign=sign), {}) == kind


@pytest.mark.parametrize(
    ("variable", "value", "kind"),
    [
        ("KUBERNETES_SERVICE_HOST", "10.0.0.1", "kubernetes"),
        ("APPTAINER_CONTAINER", "/images/a.sif", "apptainer"),
        ("SINGULARITY_CONTAINER", "/images/a.sif", "apptainer"),
        ("container", "lxc", "lxc"),
        ("container", "oci", "podman"),
        ("container", "systemd-nspawn", "systemd-nspawn"),
        ("container", "Not A Name!", NONE),
        ("container", "", NONE),
        ("container", "wsl", NONE),
    ],
)
def test_variables_that_runtimes_set(tmp_path: Path, variable: str, value: str, kind: str) -> None:
    """The environment names some, and one variable names all that follow systemd's interface."""
    assert container_of(inside(tmp_path), {variable: value}) == kind


def test_what_orchestrates_wins(tmp_path: Path) -> None:
    """A pod on Docker is a pod."""
    files = inside(tmp_path, sign="/.dockerenv")
    assert container_of(files, {"KUBERNETES_SERVICE_HOST": "10.0.0.1"}) == "kubernetes"


def test_systemd_keeps_the_word(tmp_path: Path) -> None:
    """Below an init of its own a process no longer has the variable."""
    files = inside(tmp_path)
    assert container_of(machine(tmp_path, {"/run/systemd/container": "lxc"}), {}) == "lxc"
    assert container_of(files, {"container": "podman"}) == "podman"


ID = "3f1c0d9e8b7a3f1c0d9e8b7a3f1c0d9e8b7a3f1c0d9e8b7a3f1c0d9e8b7a3f1c"


@pytest.mark.parametrize(
    ("cgroup", "kind"),
    [
        (f"4:memory:/docker/{ID}", "docker"),
        (f"0::/system.slice/docker-{ID}.scope", "docker"),
        (f"0::/kubepods.slice/kubepods-burstable.slice/cri-containerd-{ID}.scope", "kubernetes"),
        (f"0::/machine.slice/libpod-{ID}.scope/container", "podman"),
        ("0::/lxc.payload.web/init.scope", "lxc"),
        ("11:cpu:/lxc/web", "lxc"),
        ("0::/user.slice/docker/mine", NONE),
        ("0::/system.slice/docker.service", NONE),
    ],
)
def test_groups_that_name_a_runtime(tmp_path: Path, cgroup: str, kind: str) -> None:
    """A container without a namespace of groups sees the path that its runtime made."""

    assert container_of(inside(tmp_path, cgroup=cgroup), {}) == kind


@pytest.mark.parametrize(
    ("root", "kind"),
    [
        ("/ / rw - overlay overlay rw,lowerdir=/var/lib/docker/overlay2/l/A:/B", "docker"),
        ("/ / rw - overlay overlay rw,upperdir=/var/lib/containers/storage/overlay/x", "podman"),
        ("/ / rw - overlay o rw,lowerdir=/var/lib/containerd/io.containerd.s/1/fs", "containerd"),
        ("/ / rw - overlay o rw,upperdir=/run/enroot/data/user-1000/pyxis_42", "enroot"),
        ("/data/enroot/me/img / rw - xfs /dev/sda1 rw", "enroot"),
        ("/ / ro - overlay o ro,lowerdir=/var/lib/apptainer/mnt/session/l", "apptainer"),
        ("/ / rw - overlay overlay rw,lowerdir=/run/initramfs/live", NONE),
        ("/@ / rw - btrfs /dev/nvme0n1p2 rw,subvol=/@", NONE),
    ],
)
def test_roots_that_name_a_runtime(tmp_path: Path, root: str, kind: str) -> None:
    """Where the layers of the root lie tells who laid them; an overlay alone tells nothing."""
    files = inside(tmp_path, cgroup="0::/", mounts=f"30 1 0:50 {root}")
    assert container_of(files, {}) == kind


def test_a_container_that_nobody_names(tmp_path: Path) -> None:
    """A process that does not see the host's processes is in some container."""
    assert container_of(inside(tmp_path, pid="pid:[4026532841]"), {}) == OTHER
