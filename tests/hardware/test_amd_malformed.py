"""Every file that is read of an AMD machine, damaged: no exception, and no other fact is lost."""

from __future__ import annotations

import re
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from preflight.facts import Absence
from preflight.hardware.amd import AmdBackend
from preflight.hardware.files import Files
from preflight.hardware.kfd import NODES
from preflight.hardware.protocol import Sighting
from preflight.hardware.simulated_kfd import SimulatedAmd, SimulatedProcess, mi300x_cards

CARD = "/sys/bus/pci/devices/0000:05:00.0"
NODE = f"{NODES}/2"
FIRST = r"(devices|cards)\.gpu0\..*"
PEERS = r"peers\.rows\.0\.\d"
FACTS = {
    rf"{NODES}/(0|1)/(gpu_id|properties)": "nothing",
    rf"{NODES}/(0|1)/mem_banks/0/properties": "nothing",
    rf"{NODES}/(0|1)/(io|p2p)_links/\d/properties": "nothing",
    rf"{NODE}/gpu_id": r"cards\.gpu0\.processes.*",
    rf"{NODE}/properties": rf"{FIRST}|driver\.files.*|topology.*|peers.*",
    rf"{NODE}/mem_banks/0/properties": r"devices\.gpu0\.memory_GiB",
    rf"{NODE}/io_links/0/properties": rf"cards\.gpu0\.links\.0\..*|{PEERS}",
    rf"{NODE}/io_links/1/properties": rf"cards\.gpu0\.links\.1\..*|{PEERS}",
    rf"{NODE}/p2p_links/0/properties": PEERS,
    r"/sys/class/kfd/kfd/proc/4242/vram_28851": r"cards\.gpu0\.processes.*",
    r"/proc/4242/comm": r"cards\.gpu0\.processes\.4242\.name",
    r"/sys/module/amdgpu/version": r"driver\.version|devices\.gpu\d\.driver",
    r"/opt/rocm/\.info/version": r"driver\.rocm",
    rf"{CARD}/product_name": r"devices\.gpu0\.product",
    rf"{CARD}/serial_number": r"cards\.gpu0\.serial",
    rf"{CARD}/product_number": r"cards\.gpu0\.board",
    rf"{CARD}/vbios_version": r"cards\.gpu0\.vbios",
    rf"{CARD}/(vendor|device)": r"cards\.gpu0\.pci_id",
    rf"{CARD}/subsystem_(vendor|device)": r"cards\.gpu0\.subsystem_id",
    rf"{CARD}/current_compute_partition": r"cards\.gpu0\.partition",
    rf"{CARD}/current_memory_partition": r"cards\.gpu0\.memory_partition",
    rf"{CARD}/mem_info_vram_used": r"cards\.gpu0\.memory_used_GiB",
    rf"{CARD}/numa_node": r"cards\.gpu0\.numa_node",
    rf"{CARD}/local_cpulist": r"cards\.gpu0\.near_cpus",
    rf"{CARD}/ras/features": r"cards\.gpu0\.ecc\.enabled",
    rf"{CARD}/ras/umc_err_count": r"cards\.gpu0\.(ras\..*|ecc\.(un)?corrected)",
    rf"{CARD}/ras/\w+_err_count": r"cards\.gpu0\.ras\..*",
    rf"{CARD}/hwmon/hwmon3/name": "nothing",
    rf"{CARD}/hwmon/hwmon3/temp2_\w+": r"cards\.gpu0\.temperature\.(card|slowdown|shutdown)_C",
    rf"{CARD}/hwmon/hwmon3/temp3_\w+": r"cards\.gpu0\.temperature\.memory_C",
    rf"{CARD}/hwmon/hwmon3/power1_input": r"cards\.gpu0\.power\.draw_W",
    rf"{CARD}/hwmon/hwmon3/power1_cap": r"cards\.gpu0\.power\.limit_W",
    rf"{CARD}/hwmon/hwmon3/power1_cap_default": r"cards\.gpu0\.power\.default_limit_W",
    rf"{CARD}/hwmon/hwmon3/power1_cap_max": r"cards\.gpu0\.power\.max_limit_W",
    rf"{CARD}/hwmon/hwmon3/freq1_\w+": r"cards\.gpu0\.clocks\.sm_MHz",
    rf"{CARD}/hwmon/hwmon3/freq2_\w+": r"cards\.gpu0\.clocks\.memory_MHz",
    rf"{CARD}/pp_dpm_sclk": r"cards\.gpu0\.clocks\.sm_max_MHz",
    rf"{CARD}/pp_dpm_mclk": r"cards\.gpu0\.clocks\.memory_max_MHz",
    rf"{CARD}/pcie_replay_count": r"cards\.gpu0\.pcie\.replays",
    r".*/current_link_speed": r"cards\.gpu0\.pcie\.generation",
    r".*/current_link_width": r"cards\.gpu0\.pcie\.width",
    r".*/0000:05:00.0/max_link_speed": r"cards\.gpu0\.pcie\.(card_)?max_generation",
    r".*/0000:05:00.0/max_link_width": r"cards\.gpu0\.pcie\.max_width",
    r".*/0000:04:01.1/max_link_(speed|width)": "nothing",
    r".*/0000:04:01.1/vendor": "nothing",
}
"""File to the facts that it tells; a file that is not here is a mistake of this test."""
LINES = {
    "simd_count": "nothing",
    "location_id": "nothing",
    "domain": "nothing",
    "unique_id": "nothing",
    "gfx_target_version": r"devices\.gpu0\.architecture",
    "drm_render_minor": r"driver\.files\./dev/dri/renderD128\..*",
    "hive_id": r"cards\.gpu0\.hive",
    "device_id": "nothing",
    "vendor_id": "nothing",
    "cpu_cores_count": "nothing",
    "mem_banks_count": "nothing",
}
"""Line of the node's properties to the facts that it alone tells; others stand elsewhere too."""
GONE = object()
DAMAGES = ("", "zz", b"\xff\xfe", GONE)
FREE_TEXT = re.compile(r".*\.(product|serial|board|vbios|name|version|driver)")
MISSING = "missing"


class Recording(Files):
    """Notes what is read."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.read: set[str] = set()

    def text(self, path: str) -> str | Absence:
        """The contents, and the path is noted."""
        self.read.add(path)
        return super().text(path)


def machine() -> SimulatedAmd:
    """Two cards, the first of which somebody uses."""
    cards = mi300x_cards(2)
    cards[0].processes = [SimulatedProcess(pid=4242, memory_bytes=1024**3)]
    return SimulatedAmd(cards=cards)


def see(files: Files) -> Sighting:
    """The sighting of a machine whose environment hides nothing."""
    return AmdBackend(files, {}).look("n")


def files_read() -> list[str]:
    """Every file of the first card and of the machine as a whole that exists and is read."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        machine().write(root)
        files = Recording(root)
        see(files)
        other = re.compile(rf"{NODES}/3/|.*0000:(25|26):")
        return sorted(p for p in files.read if files.at(p).is_file() and not other.match(p))


def facts(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Every fact with its place, ``cards.0.power.draw_W``; an unknown one is MISSING."""
    if value is None or isinstance(value, Absence):
        yield path, MISSING
    elif isinstance(value, msgspec.Struct):
        for name in value.__struct_fields__:
            yield from facts(getattr(value, name), f"{path}.{name}" if path else name)
    elif isinstance(value, tuple):
        for index, item in enumerate(value):
            yield from facts(item, f"{path}.{_key(item, index)}")
    else:
        yield path, value


def _key(item: Any, index: int) -> Any:
    """What an item is known by, so that one which is missing moves no other."""
    if not isinstance(item, msgspec.Struct):
        return index
    names = ("path", "block", "index", "pid", "device", "name")
    return next((getattr(item, name) for name in names if hasattr(item, name)), index)


def facts_of(sighting: Sighting) -> dict[str, Any]:
    """Facts without the list of what is missing."""
    return dict(facts(msgspec.structs.replace(sighting, absences=())))


def damage(path: Path, content: Any) -> None:
    """Replace the contents, or take the file away."""
    if content is GONE:
        path.unlink()
    else:
        path.write_bytes(content if isinstance(content, bytes) else content.encode())


def compare(before: dict[str, Any], after: dict[str, Any], allowed: str, damaged: str) -> None:
    """Only facts that match ``allowed`` differ, and they are missing now, not wrong."""
    for place in before.keys() | after.keys():
        was, is_now = before.get(place, MISSING), after.get(place, MISSING)
        if was == is_now:
            continue
        assert re.fullmatch(allowed, place), f"{damaged}: {place} became {is_now!r}"
        is_text = is_now == "zz" and FREE_TEXT.fullmatch(place)
        falls_back = place.endswith((".product", ".driver")) or place.startswith("peers")
        assert is_now == MISSING or is_text or falls_back or ".links." in place, (
            f"{damaged}: {place} is {is_now!r}, which nothing says"
        )


def test_the_table_names_every_file() -> None:
    """Each file that is read has its facts, so that a new one cannot go untested."""
    for path in files_read():
        assert any(re.fullmatch(pattern, path) for pattern in FACTS), path


@pytest.mark.parametrize("path", files_read())
def test_a_damaged_file_costs_its_own_fact(tmp_path: Path, path: str) -> None:
    """Empty, letters, binary or gone: the facts of that file are missing, and no others."""
    allowed = next(facts for pattern, facts in FACTS.items() if re.fullmatch(pattern, path))
    machine().write(tmp_path)
    files = Files(tmp_path)
    before, intact = facts_of(see(files)), files.at(path).read_bytes()
    for content in DAMAGES:
        damage(files.at(path), content)
        compare(before, facts_of(see(files)), allowed, f"{path} with {content!r}")
        files.at(path).write_bytes(intact)


@pytest.mark.parametrize("line", LINES)
@pytest.mark.parametrize(
    "value", ["zz", "-1", "9" * 5000, ""], ids=["letters", "negative", "digits", "nothing"]
)
def test_a_damaged_line_costs_its_own_fact(tmp_path: Path, line: str, value: str) -> None:
    """A line of the node's properties that is no number is not read as 0."""
    machine().write(tmp_path)
    files = Files(tmp_path)
    before = facts_of(see(files))
    path = files.at(f"{NODE}/properties")
    text = path.read_text(encoding="utf-8")
    changed = re.sub(rf"^{line} \d+$", f"{line} {value}", text, flags=re.MULTILINE)
    assert changed != text
    path.write_text(changed, encoding="utf-8")
    compare(before, facts_of(see(files)), LINES[line], f"{line} {value[:9]}")


@pytest.mark.parametrize(
    "folder",
    [
        f"{NODE}/mem_banks",
        f"{NODE}/io_links",
        f"{NODE}/p2p_links",
        f"{CARD}/hwmon",
        f"{CARD}/ras",
        "/sys/class/kfd/kfd/proc",
        CARD,
        NODE,
        "/sys/module/amdgpu",
        "/opt",
    ],
)
@pytest.mark.parametrize("is_file", [False, True])
def test_a_folder_that_is_gone(tmp_path: Path, folder: str, is_file: bool) -> None:
    """A folder that vanishes, or that is a file, leaves the other card as it was."""
    machine().write(tmp_path)
    files = Files(tmp_path)
    before = facts_of(see(files))
    real = files.at(folder).resolve()
    shutil.rmtree(real)
    if is_file:
        real.write_text("zz")
    after = facts_of(see(files))
    name = "gpu0" if folder == NODE else "gpu1"  # KFD's order is that of the nodes that are left
    for place in before:
        if re.match(r"cards\.gpu1\.(serial|power|temperature|pcie)", place):
            assert after[place.replace("gpu1", name)] == before[place]
