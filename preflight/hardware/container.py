"""Which container this process runs in, from what the runtimes leave behind."""

from __future__ import annotations

import re
from collections.abc import Mapping

from preflight.facts import Absence, Text
from preflight.hardware.files import Files
from preflight.hardware.mounts import Mount, mount_of, read_mounts

NONE = "none"
OTHER = "other"
"""Some container: this process counts its processes apart, and nothing tells by whom."""
_CGROUP = "/proc/self/cgroup"
_PID_NAMESPACE = "/proc/self/ns/pid"
_FIRST_PID_NAMESPACE = "pid:[4026531836]"
"""PROC_PID_INIT_INO of linux/proc_ns.h."""

_VARIABLES: tuple[tuple[str, str], ...] = (
    ("KUBERNETES_SERVICE_HOST", "kubernetes"),
    ("APPTAINER_CONTAINER", "apptainer"),
    ("SINGULARITY_CONTAINER", "apptainer"),
)
_FILES: tuple[tuple[str, str], ...] = (
    ("/var/run/secrets/kubernetes.io", "kubernetes"),
    ("/.dockerenv", "docker"),
    ("/run/.containerenv", "podman"),
    ("/.singularity.d", "apptainer"),
)
_NAMES = {"singularity": "apptainer", "oci": "podman", "lxc-libvirt": "lxc"}
"""Other words for them in the variable ``container``."""
_IN_CGROUP: tuple[tuple[str, str], ...] = (
    (r"kubepods", "kubernetes"),
    (r"/docker[/-][0-9a-f]{12}", "docker"),
    (r"/libpod-", "podman"),
    (r"/lxc(?:\.payload)?[./]", "lxc"),
)
_IN_ROOT: tuple[tuple[str, str], ...] = (
    (r"/enroot/|pyxis_", "enroot"),
    (r"/(?:apptainer|singularity)/", "apptainer"),
    (r"/docker/", "docker"),
    (r"/containers/storage/", "podman"),
    (r"/containerd/|io\.containerd", "containerd"),
)
"""Where the runtimes keep the layers of a container's root, as mountinfo tells them."""


def container_of(files: Files, environ: Mapping[str, str]) -> Text:
    """``docker``, ``kubernetes`` and so on; NONE where a look shows none of their signs.

    What orchestrates wins over the runtime below it.
    """
    for name, kind in _VARIABLES:
        if name in environ:
            return kind
    for path, kind in _FILES:
        if files.exists(path):
            return kind
    return _by_word(files, environ) or _by_kernel(files)


def _by_word(files: Files, environ: Mapping[str, str]) -> str | None:
    """What the variable of systemd's container interface says, or its copy of it."""
    written = files.text("/run/systemd/container")
    word = environ.get("container") or ("" if isinstance(written, Absence) else written)
    if not re.fullmatch(r"[a-z0-9-]{1,32}", word) or word == "wsl":
        return None  # WSL's own systemd calls it a container
    return _NAMES.get(word, word)


def _by_kernel(files: Files) -> Text:
    """What the kernel shows of the control group, the root and the namespaces."""
    cgroup = files.text(_CGROUP)
    if isinstance(cgroup, Absence):
        return cgroup
    mounts = read_mounts(files)
    root = mount_of("/", () if isinstance(mounts, Absence) else mounts)
    kind = _first(_IN_CGROUP, cgroup) or _first(_IN_ROOT, _words(root))
    namespace = files.target(_PID_NAMESPACE)
    if kind is None and isinstance(namespace, str) and namespace != _FIRST_PID_NAMESPACE:
        return OTHER
    return kind or NONE


def _first(signs: tuple[tuple[str, str], ...], text: str) -> str | None:
    return next((kind for sign, kind in signs if re.search(sign, text)), None)


def _words(root: Mount | None) -> str:
    if root is None:
        return ""
    return " ".join([root.root, root.source, *sorted(root.options)])
