"""What identifies a machine is gone from a collected folder, and the rest is as it was."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from . import redact

UUID = "5d1c8e0a-9f3b-4c2d-8e7f-0a1b2c3d4e5f"
OTHER = "77a1b2c3-0242-4c0e-9d1f-0242ac110002"
SMI = f"""\
Driver Version                            : 580.65.06
GPU 00000000:9A:00.0
    Product Name                          : NVIDIA H200
    Serial Number                         : 1650523012345
    GPU UUID                              : GPU-{UUID}
    GPU PDI                               : 0x9a3b1c2d4e5f6071
    VBIOS Version                         : 96.00.89.00.01
    Chassis Serial Number                 : N/A
    MIG Device UUID                       : MIG-{OTHER}
    Process ID 4711, Name: /home/agatha/venv/bin/python
"""
XML = f"<serial>1650523012345</serial><uuid>GPU-{UUID}</uuid><pdi>0x9a3b1c2d4e5f6071</pdi>"
NVML = json.dumps(
    {"call": "nvmlDeviceGetSerial", "value": "1650523099999", "clusterUuid": [7, 0, 12]}, indent=1
)
RECORD = json.dumps(
    {
        "host": {"name": "rack7-gpu12", "kernel": "6.8.0"},
        "devices": [{"node": "rack7-gpu12", "uuid": f"GPU-{UUID}", "pci": "0000:9a:00.0"}],
        "packages": {"nvidia-curand": "10.3.9.90", "nvidia-cublas": "12.8.4.1"},
    }
)
KFD = "unique_id 11111026870321152001\nGPU-9a1b00000000c001 gfx942\nUnique ID: 0x9a1b00000000c001\n"
PORTS = "node_guid 0c42:a103:0065:d1f2 at 0c:42:a1:65:d1:f2, serial 0c-42-a1-03-00-65-d1-f2\n"
IDENTITY = "host rack7-gpu12.example.org\nuser agatha\naddress 10.11.12.13\n"


@pytest.fixture
def collected(tmp_path: Path) -> Path:
    """A folder as run.sh leaves it."""
    files = {
        "identity.txt": IDENTITY,
        "nvidia-smi-q.txt": SMI,
        "nvidia-smi-q.xml": XML,
        "nvml.json": NVML,
        "kfd.txt": KFD,
        "ports.txt": PORTS,
        "run/no-order/20261201T090412Z-rack7-gpu12/record.json": RECORD,
    }
    for name, text in files.items():
        path = tmp_path / "collected" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path / "collected"


def redacted(source: Path, *also: str) -> dict[str, str]:
    """The files of the redacted copy by their names."""
    target = source.with_name(f"{source.name}-redacted")
    redact.redact(source, target, also)
    return {
        path.relative_to(target).as_posix(): path.read_text()
        for path in sorted(target.rglob("*"))
        if path.is_file()
    }


@pytest.mark.parametrize(
    "secret",
    [
        UUID,
        OTHER,
        "1650523012345",
        "1650523099999",
        "9a3b1c2d4e5f6071",
        "11111026870321152001",
        "9a1b00000000c001",
        "0c42:a103",
        "0c:42:a1",
        "0c-42-a1",
        "rack7",
        "agatha",
        "10.11.12.13",
        "example.org",
    ],
)
def test_what_identifies_the_machine_is_gone(collected: Path, secret: str) -> None:
    """No value is left in any text or in any name of a file."""
    before = [path.read_text() for path in collected.rglob("*.*") if path.is_file()]
    assert any(secret in text for text in before)
    for name, text in redacted(collected).items():
        assert secret.lower() not in f"{name}\n{text}".lower()


def test_a_uuid_in_bytes_becomes_zeros(collected: Path) -> None:
    """NVML tells the UUID of a cluster as sixteen numbers."""
    assert json.loads(redacted(collected)["nvml.json"])["clusterUuid"] == [0] * 16


def test_what_describes_the_machine_stays(collected: Path) -> None:
    """Models, versions, addresses on the bus, and packages whose version looks like an address."""
    files = redacted(collected)
    smi = files["nvidia-smi-q.txt"]
    for kept in ("580.65.06", "00000000:9A:00.0", "NVIDIA H200", "96.00.89.00.01", "N/A", "4711"):
        assert kept in smi
    (record,) = (json.loads(text) for name, text in files.items() if "record" in name)
    assert record["packages"] == json.loads(RECORD)["packages"]
    assert record["devices"][0]["pci"] == "0000:9a:00.0"


def test_one_value_has_one_placeholder_everywhere(collected: Path) -> None:
    """Files can still be joined: on the UUID, the serial number and the name of the host."""
    files = redacted(collected)
    uuid = "GPU-00000000-0000-0000-0000-000000000001"
    assert uuid in files["nvidia-smi-q.txt"] and uuid in files["nvidia-smi-q.xml"]
    serial = files["nvidia-smi-q.xml"].partition("<serial>")[2].partition("<")[0]
    assert len(serial) == len("1650523012345")
    assert f": {serial}\n" in files["nvidia-smi-q.txt"]
    assert serial not in files["nvml.json"]
    (name,) = (name for name in files if "record" in name)
    host = json.loads(files[name])["host"]["name"]
    assert json.loads(files[name])["devices"][0]["node"] == host
    assert name == f"run/no-order/20261201T090412Z-{host}/record.json"


def test_two_values_have_two_placeholders(collected: Path) -> None:
    """Different cards stay different."""
    smi = redacted(collected)["nvidia-smi-q.txt"]
    assert "MIG-00000000-0000-0000-0000-000000000002" in smi


def test_redacting_again_changes_nothing(collected: Path) -> None:
    """Placeholders are known as such."""
    first = redacted(collected)
    again = redacted(collected.with_name("collected-redacted"))
    assert first == again


def test_the_same_folder_gives_the_same_placeholders(collected: Path, tmp_path: Path) -> None:
    """They are numbered by the order of files and lines, so that two copies can be compared."""
    redact.redact(collected, tmp_path / "one")
    redact.redact(collected, tmp_path / "two")
    for path in (tmp_path / "one").rglob("*.*"):
        if path.is_file():
            other = tmp_path / "two" / path.relative_to(tmp_path / "one")
            assert path.read_text() == other.read_text()


def test_common_names_are_left_alone(tmp_path: Path) -> None:
    """The user root tells nothing, and the word stands in many a path that does."""
    folder = tmp_path / "in"
    folder.mkdir()
    (folder / "identity.txt").write_text("host localhost\nuser root\n")
    (folder / "a.txt").write_text("root /sys/devices at localhost\n")
    assert redacted(folder)["a.txt"] == "root /sys/devices at localhost\n"


def test_further_names_can_be_given(tmp_path: Path) -> None:
    """A name that nothing tells, such as the seller's, is replaced on demand, as a whole word."""
    folder = tmp_path / "in"
    folder.mkdir()
    (folder / "a.txt").write_text("Acme sold it; acmeology stays\n")
    assert redacted(folder, "acme")["a.txt"] == "name-1 sold it; acmeology stays\n"


def test_what_needs_a_look_is_told(tmp_path: Path) -> None:
    """A file that is no text is left out, a name of two letters is not replaced: exit code 1."""
    folder = tmp_path / "in"
    folder.mkdir()
    (folder / "identity.txt").write_text("host vm\nuser vm\n")
    (folder / "core.bin").write_bytes(b"\xff\xfe\x00\x80")
    command = [sys.executable, redact.__file__, str(folder), str(tmp_path / "out")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 1
    assert json.loads(done.stderr) == {"not text": ["core.bin"], "too short": ["vm"]}
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["identity.txt"]


def test_a_target_that_exists_is_not_touched(tmp_path: Path) -> None:
    """A usage error, and nothing is written."""
    for name in ("in", "out"):
        (tmp_path / name).mkdir()
    command = [sys.executable, redact.__file__, str(tmp_path / "in"), str(tmp_path / "out")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 2
    assert "exists" in done.stderr
