from __future__ import annotations

import json
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from preflight.probes import environment

from .process_group import ProcessGroup


def _install(folder: Path, name: str, version: str, direct_url: dict[str, object] | None) -> None:
    info = folder / f"{name}-{version}.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    if direct_url is not None:
        (info / "direct_url.json").write_text(json.dumps(direct_url))


def test_packages_are_sent_before_torch_is_imported() -> None:
    """An interpreter whose torch is broken is still described: packages come first."""
    with ProcessGroup(1, join=False) as probe:
        facts = probe.call("environment.facts")[0]
        steps = [m.get("step", m["event"]) for m in probe.progress[0]]
    assert steps == ["ready", "packages", "import torch", "ask torch"]
    assert facts["torch"] and facts["seconds"] > 0
    assert facts["distributed"] is True and facts["gloo"] is True


def test_broken_torch_leaves_the_packages(tmp_path: Path) -> None:
    """A torch that cannot be imported raises, after the packages have been sent."""
    (tmp_path / "torch").mkdir()
    (tmp_path / "torch" / "__init__.py").write_text("raise ImportError('libamd_smi.so')")
    with ProcessGroup(1, {"PYTHONPATH": str(tmp_path)}, join=False) as probe:
        with pytest.raises(Exception, match="libamd_smi"):
            probe.call("environment.facts")
        sent = next(m for m in probe.progress[0] if m["event"] == "packages")
    assert sent["torch_file"] == str(tmp_path / "torch" / "__init__.py")


def test_origin_and_shadowed_copies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """PEP 610 tells editable and url installs; a second copy later on the path is listed."""
    first, second = tmp_path / "a", tmp_path / "b"
    _install(first, "from_index", "1.0", None)
    _install(first, "from_url", "1.0", {"url": "https://x/y.whl", "archive_info": {}})
    _install(first, "my.checkout", "1.0", {"url": "file:///x", "dir_info": {"editable": True}})
    _install(second, "from-index", "0.9", None)
    monkeypatch.setattr(sys, "path", [str(first), str(second)])
    found = {d["key"]: d for d in environment.distributions()}
    assert {key: d["origin"] for key, d in found.items()} == {
        "from-index": "index",
        "from-url": "url",
        "my-checkout": "editable",
    }
    assert found["from-index"]["version"] == "1.0"
    assert [copy["version"] for copy in found["from-index"]["shadowed"]] == ["0.9"]


def test_a_folder_without_name_is_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What an interrupted uninstall leaves behind is no distribution."""
    (tmp_path / "~umpy-1.0.dist-info").mkdir()
    monkeypatch.setattr(sys, "path", [str(tmp_path)])
    assert environment.distributions() == []


def _properties(**fields: object) -> SimpleNamespace:
    base = {"name": "X", "major": 9, "minor": 0, "total_memory": 1 << 30}
    return SimpleNamespace(**{**base, **fields})


def test_devices_are_named_as_the_driver_names_them() -> None:
    """UUID as NVML writes it, PCI address with domain, architecture from the capability."""
    properties = _properties(uuid="e0a5-77", pci_domain_id=0, pci_bus_id=0x9A, pci_device_id=0)
    device = environment._device(properties, 1, hip=False)
    assert device["torch_device"] == "cuda:1"
    assert device["uuid"] == "GPU-e0a5-77"
    assert device["pci"] == "0000:9a:00.0"
    assert device["architecture"] == "sm_90"


def test_rocm_uuid_is_the_text_in_its_bytes() -> None:
    """HIP fills the UUID with ASCII digits; ROCm's tools print those."""
    digits = "8d6b4a0a1c2d3e4f"
    text = digits.encode().hex()
    shown = "-".join((text[:8], text[8:12], text[12:16], text[16:20], text[20:]))
    device = environment._device(
        _properties(uuid=shown, gcnArchName="gfx942:sramecc+:xnack-"), 0, hip=True
    )
    assert device["uuid"] == "GPU-" + digits
    assert device["architecture"] == "gfx942"
    assert device["pci"] is None


def test_a_gpu_build_without_a_driver_says_why() -> None:
    """is_available() is silent about the reason, so init() is asked."""

    def init() -> None:
        raise RuntimeError("Found no NVIDIA driver on your system.")

    broken = SimpleNamespace(cuda=SimpleNamespace(init=init))
    assert environment._cuda_error(broken) == "Found no NVIDIA driver on your system."
