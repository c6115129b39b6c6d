"""``preflight audit`` against NVIDIA's cuobjdump: the same lists, the time, and the memory.

``python bench/audit.py --cuobjdump PATH --library .../torch/lib/libtorch_cuda.so --site DIR``

The same lists: for the library, entry for entry in the order of the file, what ``cuobjdump
--list-elf`` and ``--list-ptx`` name, and what plain ``cuobjdump`` prints of each entry, which alone
tells the suffix ``f``. Time and memory: of the whole process, this interpreter's start included.
Then the audit of the whole site, several times; the first time may read from the disk.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
_NAMED = re.compile(r"(?:ELF|PTX) file +\d+: .*\.((?:sm)_\d+[a-z]?)\.(cubin|ptx)$", re.MULTILINE)
_TOLD = re.compile(r"^Fatbin (elf|ptx) code:\n=+\narch = (sm_\w+)$", re.MULTILINE)
_ENTRIES = """
import sys
sys.path.insert(0, sys.argv[1])
from pathlib import Path
from preflight.auditing.file_bytes import open_bytes
from preflight.compat.device_code import LINKED
from preflight.compat.fatbin import read_fatbins
from preflight.compat.sections import read_sections

with open_bytes(Path(sys.argv[2])) as data:
    for section in read_sections(data):
        if section.name in LINKED:
            for fatbin in read_fatbins(data, section.offset, section.end):
                for code in fatbin.codes:
                    print(code.kind, code.target)
"""


@dataclass(frozen=True)
class Measured:
    """One process."""

    seconds: float
    peak_MiB: float
    output: str


def measure(command: Sequence[str]) -> Measured:
    """Run a program; its wall time, the most memory it held, and its standard output."""
    start = time.perf_counter()
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as child:
        assert child.stdout is not None
        output = child.stdout.read()
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
    return Measured(time.perf_counter() - start, usage.ru_maxrss / 1024, output)


def ours(library: Path) -> tuple[Measured, list[tuple[str, str]]]:
    """Kind and target of every entry, as preflight reads them."""
    found = measure([sys.executable, "-c", _ENTRIES, str(ROOT), str(library)])
    pairs = [line.split() for line in found.output.splitlines()]
    return found, [(kind, target) for kind, target in pairs]


def compare(cuobjdump: str, library: Path) -> None:
    """Print whether the lists are the same, and what either took."""
    mine, entries = ours(library)
    theirs = measure([cuobjdump, "--list-elf", str(library)])
    named = [name for name, kind in _NAMED.findall(theirs.output) if kind == "cubin"]
    cubins = [target for kind, target in entries if kind == "cubin"]
    print(f"{library.name}: {len(entries)} entries, {len(cubins)} cubins")
    print(f"  cuobjdump --list-elf, f left out: {_verdict(named, [t.rstrip('f') for t in cubins])}")
    ptx = measure([cuobjdump, "--list-ptx", str(library)])
    named = [name for name, kind in _NAMED.findall(ptx.output) if kind == "ptx"]
    ours_ptx = [t.replace("compute", "sm").rstrip("f") for kind, t in entries if kind == "ptx"]
    print(f"  cuobjdump --list-ptx: {_verdict(named, ours_ptx)}")
    told = [(kind, arch) for kind, arch in _TOLD.findall(measure([cuobjdump, str(library)]).output)]
    kinds = {"cubin": "elf", "ptx": "ptx"}
    as_told = [(kinds[k], t.replace("compute", "sm")) for k, t in entries if k in kinds]
    print(f"  cuobjdump, with suffixes: {_verdict(told, as_told)}")
    for name, one in (("cuobjdump --list-elf", theirs), ("preflight", mine)):
        print(f"  {name:<22} {one.seconds:7.2f} s {one.peak_MiB:8.0f} MiB")
    print(
        f"  time 1/{theirs.seconds / mine.seconds:.0f}, "
        f"memory 1/{theirs.peak_MiB / mine.peak_MiB:.0f}"
    )


def _verdict(theirs: Sequence[object], mine: Sequence[object]) -> str:
    if list(theirs) == list(mine):
        return f"the same {len(mine)}, in the same order"
    place = next(
        (i for i, pair in enumerate(zip(theirs, mine, strict=False)) if pair[0] != pair[1]), None
    )
    where = f"from entry {place} on" if place is not None else "at the end"
    return f"DIFFERENT {where}: theirs {len(theirs)}, ours {len(mine)}"


def audit(site: Path, times: int) -> None:
    """Print what the audit of a whole site takes."""
    command = [sys.executable, "-m", "preflight", "audit", "--site", str(site)]
    os.environ["PYTHONPATH"] = str(ROOT)
    found = [measure([*command, "--gpu", "B200,H200,MI300X", "--json"]) for _ in range(times)]
    libraries = found[0].output.count('"fatbins":')
    each = ", ".join(f"{one.seconds:.2f}" for one in found)
    peak = max(one.peak_MiB for one in found)
    print(f"preflight audit --site: {libraries} libraries, {each} s, at most {peak:.0f} MiB")


def main() -> None:
    """Compare, then audit."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--cuobjdump", metavar="PATH")
    parser.add_argument("--library", metavar="FILE", type=Path, action="append", default=[])
    parser.add_argument("--site", metavar="DIR", type=Path)
    parser.add_argument("--times", metavar="N", type=int, default=5)
    given = parser.parse_args()
    for library in given.library:
        compare(given.cuobjdump or "cuobjdump", library)
    if given.site:
        audit(given.site, given.times)


if __name__ == "__main__":
    main()
