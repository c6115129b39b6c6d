"""AMD cards: a KFD topology in a mount namespace of the command's own, and a torch for HIP."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from fakegpu.build import Libraries
from hardware.sysfs import VRAM, mi300x, write_link, write_node

from certify.command import plan_text, run_command

HIP = {"FAKEGPU_HIP": "7.0.2", "FAKEGPU_COUNT": "2", "FAKEGPU_MEM_MB": str(VRAM >> 20)}
SEEN = """
set -e
mkdir -p "$0/dev/shm"
for name in null zero full random urandom tty; do
    touch "$0/dev/$name"
    mount --bind "/dev/$name" "$0/dev/$name"
done
touch "$0/dev/kfd"
ln -sfn /proc/self/fd "$0/dev/fd"
mount --bind /dev/shm "$0/dev/shm"
mount --rbind "$0/dev" /dev
mount --bind "$0/sys/class" /sys/class
mount --bind "$0/pci" /sys/bus/pci/devices
exec "$@"
"""
"""preflight reads /sys and /dev and takes no other root from its environment: both are replaced."""


@pytest.fixture
def machine(tmp_path: Path) -> tuple[str, ...]:
    """What stands before a command so that it sees two MI300X; skips where that cannot be."""
    root = tmp_path / "machine"
    for index in range(2):
        properties = mi300x(index)
        # As the fake torch has them, which counts its buses from 1.
        properties.update(location_id=(index + 1) << 8, unique_id=0xFA4E0000 + index)
        folder = write_node(root, index, properties, [(1, VRAM)])
        write_link(folder, node_from=index, node_to=1 - index)
        card = root / "pci" / f"0000:{index + 1:02x}:00.0"
        card.mkdir(parents=True)
        (card / "product_name").write_text("AMD Instinct MI300X\n", encoding="utf-8")
        (card / "class").write_text("0x120000\n", encoding="utf-8")  # Gloo reads every card's
    if shutil.which("unshare") is None:
        pytest.skip("there is no unshare to give the command a /sys of its own")
    around = ("unshare", "--map-root-user", "--mount", "sh", "-c", SEEN, str(root))
    tried = subprocess.run([*around, "true"], capture_output=True, text=True, check=False)
    if tried.returncode:
        pytest.skip(f"no /sys of its own for the command: {tried.stderr.strip()}")
    return around


@pytest.mark.long
def test_amd_cards_and_torch_are_joined(
    libraries: Libraries, tmp_path: Path, machine: tuple[str, ...]
) -> None:
    """KFD's cards are counted, named and found in torch by their own number; gfx942 has code."""
    run = run_command(
        libraries,
        tmp_path,
        plan=plan_text(gpus=2, gpu="MI300X"),
        only="order,driver,arch,import",
        device="hip",
        around=machine,
        **HIP,
    )
    assert run.of_status("fail", "error") == set(), run.table()
    assert run.named("arch.torch", "gpu1").reason.startswith("gfx942 in gfx90a gfx942")
    found = [(d.name, d.product, d.uuid, d.torch_device) for d in run.record.devices]
    assert found == [
        ("gpu0", "AMD Instinct MI300X", "GPU-00000000fa4e0000", "cuda:0"),
        ("gpu1", "AMD Instinct MI300X", "GPU-00000000fa4e0001", "cuda:1"),
    ]


@pytest.mark.long
def test_two_amd_cards_are_ready(
    libraries: Libraries, tmp_path: Path, machine: tuple[str, ...]
) -> None:
    """The whole path with the look of ROCm: READY and exit code 0."""
    run = run_command(
        libraries,
        tmp_path,
        plan=plan_text(gpus=2, gpu="MI300X"),
        device="hip",
        around=machine,
        **HIP,
    )
    assert (run.record.verdict.word, run.exit_code) == ("READY", 0), run.table()
    assert run.record.versions.hip == "7.0.2"
    assert "2 ranks over nccl" in run.named("collective.all_reduce").reason
