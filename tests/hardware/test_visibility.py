"""Which devices the environment shows."""

from __future__ import annotations

import pytest

from preflight.hardware.visibility import (
    AMD_VARIABLES,
    NVIDIA_VARIABLES,
    order_is_uncertain,
    shown_slices,
    visible,
)

UUIDS = [
    "GPU-5d1c8e0a-9f3b-4c2d-8e7f-0a1b2c3d4e5f",
    "GPU-5d1c77a1-0242-4c0e-9d1f-0242ac110002",
    "GPU-a0b1c2d3-0242-4c0e-9d1f-0242ac110003",
    None,
]
CUDA, HIP, ROCR = "CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES"


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("0", (0,)),
        ("2,0", (2, 0)),
        (" 1 , 3 ", (1, 3)),
        ("3,2,1,0", (3, 2, 1, 0)),
        ("", ()),
        (" ", ()),
        ("-1", ()),
        ("1,-1,2", (1,)),
        ("NoDevFiles", ()),
        ("none", ()),
        ("0,4,1", (0,)),
        ("99", ()),
        ("0,0,1", (0, 1)),
        ("0,,1", (0,)),
        ("0;1", ()),
        ("0x1", ()),
        ("\u0661", ()),
        (UUIDS[2], (2,)),
        ("GPU-a0b1", (2,)),
        ("gpu-A0B1", (2,)),
        ("GPU-5d1c", ()),
        ("GPU-5d1c8", (0,)),
        ("GPU-5d1c7,GPU-5d1c8", (1, 0)),
        ("GPU-a0b1,0", (2, 0)),
        ("GPU-ffff,0", ()),
        ("GPU-", ()),
        ("MIG-GPU-5d1c8e0a/1/0", ()),
    ],
)
def test_cuda(value: str, shown: tuple[int, ...]) -> None:
    """An entry is an index or a unique prefix of a UUID; the first invalid one ends the list."""
    assert visible(UUIDS, {CUDA: value}, NVIDIA_VARIABLES)[0] == shown


def test_without_a_variable_everything_is_shown() -> None:
    """No variable hides nothing, an unrelated one neither."""
    assert visible(UUIDS, {}, NVIDIA_VARIABLES) == ((0, 1, 2, 3), ())
    assert visible(UUIDS, {HIP: "0", ROCR: "0"}, NVIDIA_VARIABLES) == ((0, 1, 2, 3), ())


def test_the_variable_that_hides_is_named_with_its_value() -> None:
    """The reader sees what to unset; a variable that shows everything is not blamed."""
    assert visible(UUIDS, {CUDA: "1"}, NVIDIA_VARIABLES)[1] == (f"{CUDA}=1",)
    assert visible(UUIDS, {CUDA: ""}, NVIDIA_VARIABLES)[1] == (f"{CUDA}=",)
    assert visible(UUIDS, {CUDA: "0,1,2,3"}, NVIDIA_VARIABLES)[1] == ()


@pytest.mark.parametrize(
    ("environment", "shown", "hiding"),
    [
        ({ROCR: "2,3"}, (2, 3), [ROCR]),
        ({HIP: "1"}, (1,), [HIP]),
        ({CUDA: "1"}, (1,), [CUDA]),
        ({ROCR: "2,3", HIP: "0"}, (2,), [ROCR, HIP]),
        ({ROCR: "2,1", HIP: "1"}, (1,), [ROCR, HIP]),
        ({ROCR: "3", HIP: "1"}, (), [ROCR, HIP]),
        ({ROCR: "2,3", CUDA: "1"}, (3,), [ROCR, CUDA]),
        ({HIP: "0", CUDA: "2"}, (0,), [HIP]),
        ({HIP: "", CUDA: "0"}, (), [HIP]),
        ({ROCR: ""}, (), [ROCR]),
        ({ROCR: "GPU-a0b1"}, (2,), [ROCR]),
        ({ROCR: "-1"}, (), [ROCR]),
    ],
)
def test_amd(environment: dict[str, str], shown: tuple[int, ...], hiding: list[str]) -> None:
    """ROCr's variable applies first; HIP's counts in what is left, and wins over CUDA's."""
    found, variables = visible(UUIDS, environment, AMD_VARIABLES)
    assert found == shown
    assert [text.partition("=")[0] for text in variables] == hiding


def test_no_device_at_all() -> None:
    """A machine without devices shows none, whatever is set."""
    assert visible([], {CUDA: "0"}, NVIDIA_VARIABLES) == ((), ())


SLICES = {
    "MIG-0a1b2c3d-1111-2222-3333-444455556666": 2,
    "MIG-0a1bffff-1111-2222-3333-444455556666": 2,
    "MIG-GPU-5d1c8e0a-9f3b-4c2d-8e7f-0a1b2c3d4e5f/1/0": 0,
}


@pytest.mark.parametrize(
    ("value", "shown", "chosen"),
    [
        ("MIG-0a1b2c3d-1111-2222-3333-444455556666", (2,), [0]),
        ("mig-0A1B2", (2,), [0]),
        ("MIG-0a1b2,MIG-0a1bf", (2,), [0, 1]),
        ("MIG-0a1b2,MIG-0a1b2", (2,), [0]),
        ("MIG-GPU-5d1c8e0a-9f3b-4c2d-8e7f-0a1b2c3d4e5f/1/0", (0,), [2]),
        ("MIG-0a1b", (), []),
        ("MIG-77", (), []),
        ("GPU-a0b1", (2,), []),
        ("1", (1,), []),
        ("", (), []),
    ],
)
def test_slices(value: str, shown: tuple[int, ...], chosen: list[int]) -> None:
    """A MIG slice, or a unique prefix of its UUID, shows the card that it is a part of."""
    assert visible(UUIDS, {CUDA: value}, NVIDIA_VARIABLES, SLICES)[0] == shown
    assert shown_slices({CUDA: value}, SLICES) == tuple(list(SLICES)[index] for index in chosen)


def test_no_variable_names_no_slice() -> None:
    """Without the variable nothing is chosen."""
    assert shown_slices({}, SLICES) == ()


ORDER = "CUDA_DEVICE_ORDER"


@pytest.mark.parametrize(
    ("environment", "products", "shown", "uncertain"),
    [
        ({CUDA: "0"}, ["H100", "L4"], (0,), True),
        ({CUDA: " 0 "}, ["H100", "L4"], (0,), True),
        ({CUDA: "0", ORDER: "FASTEST_FIRST"}, ["H100", "L4"], (0,), True),
        ({CUDA: "0", ORDER: "PCI_BUS_ID"}, ["H100", "L4"], (0,), False),
        ({CUDA: "0"}, ["H100", "H100"], (0,), False),
        ({CUDA: "0,1"}, ["H100", "L4"], (0, 1), False),
        ({CUDA: "7"}, ["H100", "L4"], (), False),
        ({CUDA: "GPU-5d1c8"}, ["H100", "L4"], (0,), False),
        ({CUDA: "GPU-5d1c8,1"}, ["H100", "L4", "L4"], (0, 1), True),
        ({}, ["H100", "L4"], (0, 1), False),
    ],
)
def test_the_order_of_cuda(
    environment: dict[str, str], products: list[str], shown: tuple[int, ...], uncertain: bool
) -> None:
    """Indices mean the same to CUDA and to NVML but for several products in CUDA's own order."""
    assert order_is_uncertain(environment, products, shown) is uncertain
