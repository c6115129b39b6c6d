"""nvidia-smi: table and -q."""

from __future__ import annotations

import pytest

from preflight.compat.dumps.nvidia_smi import NvidiaSmi
from preflight.compat.dumps.text import Line, unwrap

OLD = """\
| NVIDIA-SMI 418.67       Driver Version: 418.67       CUDA Version: 10.1     |
|-------------------------------+----------------------+----------------------+
| GPU  Name        Persistence-M| Bus-Id        Disp.A | Volatile Uncorr. ECC |
| Fan  Temp  Perf  Pwr:Usage/Cap|         Memory-Usage | GPU-Util  Compute M. |
|   0  Tesla V100-PCIE...  Off  | 00000000:3B:00.0 Off |                    0 |
| N/A   35C    P0    26W / 250W |   4000MiB / 16130MiB |      3%      Default |
|   1  Tesla V100-PCIE...  Off  | 00000000:AF:00.0 Off |                    7 |
| N/A   35C    P0    26W / 250W |      0MiB / 16130MiB |      0%      Default |
| Processes:                                                       GPU Memory |
"""
MIG = """\
| NVIDIA-SMI 535.104.05             Driver Version: 535.104.05   CUDA Version: 12.2     |
|   0  NVIDIA A100-SXM4-80GB          On  | 00000000:07:00.0 Off |                   On |
| N/A   29C    P0              64W / 400W |     37MiB / 81920MiB |     N/A      Default |
|                                         |                      |              Enabled |
|  0    1   0   0  |              19MiB / 40192MiB  | 42      0 |  3   0    2    0    0 |
|  0    2   0   1  |              19MiB / 40192MiB  | 42      0 |  3   0    2    0    0 |
"""
QUERY = """\
Driver Version                            : 550.54.15
CUDA Version                              : 12.4
GPU 00000000:07:00.0
    Product Name                          : NVIDIA H100 80GB HBM3
    Fabric
        State                             : {fabric}
        Status                            : N/A
    GPU Link Info
        Link Width
            Max                           : 16x
            Current                       : {width}
    Clocks Event Reasons
        SW Power Cap                      : {cap}
        HW Slowdown                       : {slow}
    ECC Errors
        Volatile
            DRAM Uncorrectable            : {ecc}
        Aggregate
            DRAM Uncorrectable            : 9
    Remapped Rows
        Uncorrectable Error               : 3
        Pending                           : {pending}
    Power Draw                            : 690.00 W
    Current Power Limit                   : 700.00 W
"""
HEALTHY = {
    "fabric": "Completed",
    "width": "16x",
    "cap": "Not Active",
    "slow": "Not Active",
    "ecc": "0",
    "pending": "No",
}


def read(text: str) -> NvidiaSmi:
    """The reader after a text."""
    reader = NvidiaSmi()
    for number, line in enumerate(text.splitlines(), 1):
        reader.read(Line(number, unwrap(line)))
    return reader


def test_a_table_of_two_rows_a_card() -> None:
    """Driver, CUDA, cards, memory, load and counters; a name that is cut has no architecture."""
    found = read(OLD)
    assert found.driver is not None and found.driver.value == "418.67" and found.complete
    assert found.driver_cuda is not None and found.driver_cuda.value == "10.1"
    assert [(g.memory_MiB, g.used_MiB, g.utilization_percent) for g in found.gpus] == [
        (16130, 4000, 3),
        (16130, 0, 0),
    ]
    assert found.gpus[0].architecture is None
    (ecc,) = found.conditions
    assert (ecc.stage, ecc.status, ecc.line) == ("system", "fail", 7) and ecc.reason.startswith("7")


def test_slices_are_found() -> None:
    """MIG devices and the mode, with the card itself."""
    found = read(MIG)
    assert len(found.slices) == 2 and len(found.gpus) == 1
    assert [one.stage for one in found.conditions] == ["order"]


def test_a_table_without_its_end_is_not_complete() -> None:
    """A paste that stops after the head says nothing of the number of cards."""
    assert not read("\n".join(OLD.splitlines()[:4])).complete


@pytest.mark.parametrize(
    ("changed", "stage", "status"),
    [
        ({}, None, None),
        ({"fabric": "In Progress"}, "driver", "fail"),
        ({"width": "8x"}, "system", "warn"),
        ({"slow": "Active"}, "system", "fail"),
        ({"ecc": "2"}, "system", "fail"),
        ({"pending": "Yes"}, "system", "fail"),
        ({"cap": "Active"}, None, None),  # at 690 of 700 W: full load
    ],
)
def test_what_the_sections_of_q_say(
    changed: dict[str, str], stage: str | None, status: str | None
) -> None:
    """Each state is judged below its own heading; a card that is well gives none."""
    found = read(QUERY.format(**{**HEALTHY, **changed}))
    assert [(one.stage, one.status) for one in found.conditions] == (
        [(stage, status)] if stage else []
    )
    assert found.gpus[0].architecture == "sm_90"


def test_a_power_cap_far_below_the_limit_is_a_warning() -> None:
    """Capped at 150 of 700 W: somebody holds the card down."""
    text = QUERY.format(**{**HEALTHY, "cap": "Active"}).replace("690.00", "150.00")
    assert [one.status for one in read(text).conditions] == ["warn"]
