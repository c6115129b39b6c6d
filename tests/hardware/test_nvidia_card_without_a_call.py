"""What a failing or missing call of NVML costs: its own facts, and no others."""

from __future__ import annotations

from pathlib import Path

import pynvml
import pytest

from preflight.facts import Absence

from .nvml_in_place import flat, look, newer, old_and_new, write_place

LINKS = [f"links.{index}" for index in range(18)]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """The kernel's files of the first card."""
    write_place(tmp_path)
    return tmp_path


FACTS: dict[str, set[str]] = {
    "nvmlDeviceGetSerial": {"serial"},
    "nvmlDeviceGetBoardPartNumber": {"board"},
    "nvmlDeviceGetVbiosVersion": {"vbios"},
    "nvmlDeviceGetPciInfo_v3": {"pci_id", "subsystem_id", "numa_node", "near_cpus"},
    "nvmlDeviceGetPersistenceMode": {"persistence"},
    "nvmlDeviceGetComputeMode": {"compute_mode"},
    "nvmlDeviceGetMigMode": {"mig", "mig_slices"},
    "nvmlDeviceGetMemoryInfo_v2": {"memory_used_GiB"},
    "nvmlDeviceGetCurrPcieLinkGeneration": {"pcie.generation"},
    "nvmlDeviceGetCurrPcieLinkWidth": {"pcie.width"},
    "nvmlDeviceGetMaxPcieLinkGeneration": {"pcie.max_generation"},
    "nvmlDeviceGetMaxPcieLinkWidth": {"pcie.max_width"},
    "nvmlDeviceGetGpuMaxPcieLinkGeneration": {"pcie.card_max_generation"},
    "nvmlDeviceGetPcieReplayCounter": {"pcie.replays"},
    "nvmlDeviceGetEccMode": {"ecc.enabled", "ecc.pending"},
    "nvmlDeviceGetTotalEccErrors": {
        "ecc.corrected",
        "ecc.uncorrected",
        "ecc.lifetime_corrected",
        "ecc.lifetime_uncorrected",
    },
    "nvmlDeviceGetRemappedRows": {
        "remapped.corrected",
        "remapped.uncorrected",
        "remapped.pending",
        "remapped.failed",
    },
    "nvmlDeviceGetRowRemapperHistogram": {"remapped.banks", "remapped.banks_without_spares"},
    "nvmlDeviceGetRetiredPages": {"retired.single_bit", "retired.double_bit"},
    "nvmlDeviceGetRetiredPagesPendingStatus": {"retired.pending"},
    "nvmlDeviceGetFieldValues": {
        "recovery_action",
        "temperature.memory_C",
        *(f"{link}.rate_GBps" for link in LINKS),
    },
    "nvmlDeviceGetRepairStatus": {"repair"},
    "nvmlDeviceGetNvLinkVersion": {f"{link}.version" for link in LINKS},
    "nvmlDeviceGetGpuFabricInfoV": {
        "fabric.state",
        "fabric.status",
        "fabric.cluster",
        "fabric.clique",
        "fabric.health",
    },
    "nvmlDeviceGetClockInfo": {"clocks.sm_MHz", "clocks.memory_MHz"},
    "nvmlDeviceGetMaxClockInfo": {"clocks.sm_max_MHz", "clocks.memory_max_MHz"},
    "nvmlDeviceGetCurrentClocksEventReasons": {"clocks.slowed_by"},
    "nvmlDeviceGetTemperature": {"temperature.card_C"},
    "nvmlDeviceGetTemperatureThreshold": {"temperature.slowdown_C", "temperature.shutdown_C"},
    "nvmlDeviceGetPowerUsage": {"power.draw_W"},
    "nvmlDeviceGetEnforcedPowerLimit": {"power.limit_W"},
    "nvmlDeviceGetPowerManagementDefaultLimit": {"power.default_limit_W"},
    "nvmlDeviceGetPowerManagementLimitConstraints": {"power.max_limit_W"},
    "nvmlDeviceGetComputeRunningProcesses_v3": {"processes"},
}
"""Function of the library to the facts that it costs when it fails."""


NEWER = ("nvmlDeviceGetRepairStatus", "nvmlDeviceGetGpuFabricInfoV")


@pytest.mark.parametrize(
    "function", [pytest.param(one, marks=newer) if one in NEWER else one for one in FACTS]
)
@pytest.mark.parametrize(
    ("code", "reason"),
    [
        (pynvml.NVML_ERROR_NO_PERMISSION, "no permission"),
        (pynvml.NVML_ERROR_GPU_IS_LOST, "device lost"),
    ],
)
def test_a_failing_call_costs_its_own_facts_only(
    function: str, code: int, reason: str, root: Path
) -> None:
    """The facts of a failing call are Absences with its reason; all others are as before."""
    library = old_and_new()
    before = flat(look(library, root=root).cards[0])
    library.cards[0].broken[function] = code
    after = flat(look(library, root=root).cards[0])
    changed = {path for path in after if after[path] != before.get(path)}
    assert changed == FACTS[function]
    for path in changed:
        fact = after[path]
        assert isinstance(fact, Absence), path
        assert fact.reason == reason
        assert fact.what.startswith(("nvmlDevice", "NVML_FI_DEV_"))


FALLBACKS: dict[str, set[str]] = {
    "nvmlDeviceGetMemoryInfo_v2": set(),
    "nvmlDeviceGetCurrentClocksEventReasons": set(),
    "nvmlDeviceGetTemperature": set(),
    "nvmlDeviceGetComputeRunningProcesses_v3": set(),
    "nvmlDeviceGetGpuFabricInfoV": {"fabric.health"},
}
"""Functions that have another to ask in their place, and what is lost even so."""


@newer
@pytest.mark.parametrize("function", FACTS)
def test_a_driver_that_lacks_a_call(function: str, root: Path) -> None:
    """A function that the library does not have costs the facts that no other function tells."""
    library = old_and_new()
    library.lacking.add(function)
    lost = {
        path
        for path, fact in flat(look(library, root=root).cards[0]).items()
        if isinstance(fact, Absence) and fact.reason == "driver lacks the call"
    }
    assert lost == FALLBACKS.get(function, FACTS[function])
