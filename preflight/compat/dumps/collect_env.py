"""torch's ``collect_env`` of every age, vLLM's and SGLang's forms of it, and torch's warnings."""

from __future__ import annotations

import re
from collections.abc import Iterator

from preflight.compat.dumps.card_names import architecture_of
from preflight.compat.dumps.facts import Build, Complaint, Gpu, Reading
from preflight.compat.dumps.text import Line

MOST_BUILDS = 32
MOST_GPUS = 256
MOST_PACKAGES = 2000

_FIELDS = {
    "pytorch version": "torch",
    "pytorch": "torch",
    "cuda used to build pytorch": "cuda",
    "rocm used to build pytorch": "hip",
    "is cuda available": "available",
    "cuda available": "available",
    "rocm available": "available",
    "nvidia driver version": "driver",
    "cuda driver version": "driver",  # SGLang: the driver, not a CUDA version
    "os": "os",
    "python platform": "platform",
    "platform": "platform",
}
_NAMES = ("torch", "cuda", "hip", "available", "driver", "gpu_words", "os", "platform")
_GPU_KEYS = ("gpu models and configuration", "gpu type")
_BOOLEANS = {"yes": "True", "no": "False", "true": "True", "false": "False"}
_GPU_LINE = re.compile(r"GPU (\d[\d,]{0,600}): ?(\S.*)")
_CAPABILITY_LINE = re.compile(r"GPU (\d[\d,]{0,600}) Compute Capability: (\d+)\.(\d)")
_MIG_LINE = re.compile(r"MIG (?:(?:\d+c\.)?\d+g\.\d+gb\S*|\S+) +Device +\d+:?", re.IGNORECASE)
_PIP = re.compile(r"\[pip3?\] ([\w.-]+)==(\S+)")
_CONDA = re.compile(r"\[conda\] ([\w.-]+) +(\d\S*)(?: +(\S+))?")
_SGLANG_PACKAGE = re.compile(r"([a-z][\w.-]{1,40}): (\d+\.\S*)$")
_UNSUPPORTED = re.compile(r"with CUDA capability sm_(?P<cc>\d+) is not compatible with ")
_SUPPORTS = re.compile(
    r"PyTorch install supports CUDA capabilities ((?:(?:sm|compute)_\w+[ .,]*)+)"
)
_FOUND_GPU = re.compile(
    r"(?:Found GPU\d+ (?P<name>.{1,80}?) which is of )?"
    r"(?:compute|cuda) capability (?:\(CC\) )?(?P<major>\d+)\.(?P<minor>\d)"
)
_REFUSAL = re.compile(
    r"one of these CUDA versions|no longer supports this GPU|not include kernels for this GPU|"
    r"is not supported by|minimum cuda capability",
    re.IGNORECASE,
)
_LISTED = re.compile(r"- (\d+)\.(\d) which supports hardware CC")
_RANGE = re.compile(r"\((\d+)\.(\d)\) - \((\d+)\.(\d)\)")


class CollectEnv:
    """Gathers builds, cards and packages line by line."""

    def __init__(self) -> None:
        self.builds: list[Build] = []
        self.packages: dict[str, Reading] = {}
        self.slices: list[Reading] = []
        self.complaints: list[Complaint] = []
        self.capability: Reading | None = None
        self._fields: dict[str, Reading] = {}
        self._gpus: list[Gpu] = []
        self._awaits_gpu = False

    def read(self, line: Line) -> None:
        """Take what a line has of interest."""
        text = line.text
        if text[:1] == "[" and ("[pip" in text or "[conda]" in text):
            self._package(line)
        elif (
            "capabilit" in text
            or (text[:2] == "- " and text[2:3].isdigit())
            or text[:1] == "("
            or "(CC)" in text
        ):
            self._warning(line)
        elif text.startswith("MIG ") and (found := _MIG_LINE.match(text)):
            self.slices.append(Reading(value=found[0].rstrip(":"), line=line.number))
        elif text.startswith("GPU ") and (found := _GPU_LINE.match(text)):
            self._listed(found[1], found[2], line)
        elif ":" in text:
            self._field(line)
        elif self._awaits_gpu:
            self._next_line(line)
        if text.startswith("Collecting") and "environment information" in text:
            self._close()

    def lines(self) -> Iterator[int]:
        """Lines of the fields and cards of every dump."""
        yield from (one.line for one in self._fields.values())
        yield from (gpu.line for gpu in self._gpus)
        for build in self.builds:
            yield from (gpu.line for gpu in build.gpus)
            yield from (one.line for name in _NAMES if (one := getattr(build, name)) is not None)
        if self.capability:
            yield self.capability.line

    def finish(self) -> tuple[Build, ...]:
        """Everything read, the dump that is still open included."""
        self._close()
        return tuple(self.builds)

    def _field(self, line: Line) -> None:
        key, _, value = line.text.partition(":")
        key, value = " ".join(key.lower().lstrip("-* ").replace("`", "").split()), value.strip()
        if key in _GPU_KEYS:
            self._awaits_gpu = not value
            if value:
                self._gpu_value(value, line)
            return
        self._awaits_gpu = False
        name = _FIELDS.get(key)
        if name is None:
            if "torch" in self._fields and (found := _SGLANG_PACKAGE.match(line.text)):
                self._add_package(found[1], found[2], line.number)
            return
        if name == "torch" and "torch" in self._fields:
            self._close()
        if name == "available":
            value = _BOOLEANS.get(value.partition(" ")[0].lower(), "")
        if value and name not in self._fields:
            self._fields[name] = Reading(value=value[:200], line=line.number)

    def _gpu_value(self, value: str, line: Line) -> None:
        """``GPU 0: NVIDIA A10``, ``No CUDA``, or AMD's one line without a number."""
        if found := _GPU_LINE.match(value):
            self._listed(found[1], found[2], line)
        elif value.lower() in ("could not collect", "no cuda", "n/a", "none"):
            self._fields["gpu_words"] = Reading(value=value, line=line.number)
        else:
            self._add_gpu(value, line)

    def _next_line(self, line: Line) -> None:
        self._awaits_gpu = False
        if line.text and (architecture_of(line.text) is not None):
            self._add_gpu(line.text, line)

    def _listed(self, numbers: str, name: str, line: Line) -> None:
        """``GPU 0,1,2,3: NAME`` of SGLang, ``GPU 0: NAME (UUID: GPU-...)`` of nvidia-smi -L."""
        self._awaits_gpu = False
        if found := _CAPABILITY_LINE.match(line.text):
            self._set_capability(found[1], f"sm_{found[2]}{found[3]}", line)
            return
        name = name.partition(" (UUID:")[0].strip()
        for _ in numbers.strip(",").split(","):
            self._add_gpu(name, line)

    def _add_gpu(self, name: str, line: Line) -> None:
        if len(self._gpus) < MOST_GPUS:
            arch = architecture_of(name[:200])
            self._gpus.append(
                Gpu(name=name[:200], architecture=arch, line=line.number, tool="collect_env")
            )

    def _set_capability(self, numbers: str, arch: str, line: Line) -> None:
        """SGLang's line; on AMD it says 9.4 for gfx94x, which is no CUDA architecture."""
        if any((gpu.architecture or "").startswith("gfx") for gpu in self._gpus):
            return
        self.capability = Reading(value=arch, line=line.number)
        self._gpus = [
            Gpu(
                name=gpu.name,
                architecture=gpu.architecture or arch,
                line=gpu.line,
                tool=gpu.tool,
            )
            for gpu in self._gpus
        ]

    def _package(self, line: Line) -> None:
        if found := _PIP.match(line.text):
            self._add_package(found[1], found[2], line.number)
        elif found := _CONDA.match(line.text):
            self._add_package(found[1], found[2], line.number)
            if found[1] == "pytorch" and "torch" not in self._fields:
                self._fields["torch"] = Reading(value=found[2], line=line.number)
                if "cpu" in (found[3] or ""):
                    self._fields.setdefault("cuda", Reading(value="None", line=line.number))
                toolkit = re.search(r"cuda(\d+\.\d+)", found[3] or "")
                if toolkit and "cuda" not in self._fields:
                    self._fields["cuda"] = Reading(value=toolkit[1], line=line.number)

    def _add_package(self, name: str, version: str, number: int) -> None:
        plain = re.sub(r"[-_.]+", "-", name.lower())
        if plain not in self.packages and len(self.packages) < MOST_PACKAGES:
            self.packages[plain] = Reading(value=version[:100], line=number)

    def _warning(self, line: Line) -> None:
        """torch's warnings that a build does not fit a card: older, newer and newest wording."""
        text = line.text
        last = self.complaints[-1] if self.complaints else None
        if found := _CAPABILITY_LINE.match(text):
            self._set_capability(found[1], f"sm_{found[2]}{found[3]}", line)
        elif "with CUDA cap" in text and (found := _UNSUPPORTED.search(text)):
            self._complain(text[: found.start()][-81:], f"sm_{found['cc']}", line)
            text = text[found.end() :]
        elif (
            "apability" in text
            and (found := _FOUND_GPU.search(text))
            and (found["name"] or _REFUSAL.search(text))
        ):
            self._complain(found["name"], f"sm_{found['major']}{found['minor']}", line)
            text = text[found.end() :]
        elif last is None:
            return
        if found := _SUPPORTS.search(text):
            self._extend(re.findall(r"(?:sm|compute)_\w+", found[1]), line)
        elif found := _LISTED.match(text):
            self._extend([f"sm_{found[1]}{found[2]}"], line)
        elif found := _RANGE.search(text):
            self._extend([f"sm_{found[1]}{found[2]}", f"sm_{found[3]}{found[4]}"], line)

    def _complain(self, name: str | None, arch: str, line: Line) -> None:
        if len(self.complaints) < MOST_GPUS:
            name = (name or "").strip() or "the card"
            name = name.rsplit("UserWarning: ", 1)[-1].strip()
            self.complaints.append(
                Complaint(name=name, architecture=arch, built_for=(), lines=(line.number,))
            )

    def _extend(self, targets: list[str], line: Line) -> None:
        if self.complaints:
            last = self.complaints[-1]
            self.complaints[-1] = Complaint(
                name=last.name,
                architecture=last.architecture,
                built_for=tuple(dict.fromkeys([*last.built_for, *targets]))[:64],
                lines=tuple(dict.fromkeys([*last.lines, line.number]))[:16],
            )

    def _close(self) -> None:
        if (self._fields or self._gpus) and len(self.builds) < MOST_BUILDS:
            self.builds.append(Build(gpus=tuple(self._gpus), **self._fields))
        self._fields, self._gpus, self._awaits_gpu = {}, [], False
