"""Variables of the environment that close a path."""

from __future__ import annotations

import pytest

from preflight.compat.variables import steering, variables


def named(**environment: str) -> list[str]:
    """Names of the entries that an environment meets."""
    return [entry.name for entry in steering(environment)]


def test_every_entry_is_whole() -> None:
    """Each name stands once, and says what it does, how to mend it, and who says so."""
    names = [entry.name for entry in variables()]
    assert len(names) == len(set(names))
    for entry in variables():
        assert entry.does and entry.mend and " " in entry.source
        assert not entry.does.endswith(".") and not entry.mend.endswith(".")


@pytest.mark.parametrize(
    ("name", "closed", "open_"),
    [
        ("NCCL_P2P_DISABLE", ("1", "2", " 1 "), ("0", "", "no")),
        ("NCCL_P2P_LEVEL", ("LOC", "loc", "0"), ("NVL", "SYS", "5", "")),
        ("NCCL_IB_DISABLE", ("1",), ("0",)),
        ("NCCL_NET", ("Socket", "socket"), ("IB", "AWS Libfabric", "")),
        ("NCCL_NVLS_ENABLE", ("0",), ("1", "2", "")),
        ("NCCL_ALGO", ("Ring",), ("", "  ")),
        ("NCCL_SOCKET_IFNAME", ("lo", "docker0"), ("eth0", "^docker,lo", "ib")),
        ("CUDA_VISIBLE_DEVICES", ("", "-1", "NoDevFiles"), ("0", "0,1", "GPU-77a1")),
        ("CUDA_LAUNCH_BLOCKING", ("1", "true"), ("0",)),
        ("NVIDIA_TF32_OVERRIDE", ("0",), ("1", "")),
        ("TORCH_NCCL_ASYNC_ERROR_HANDLING", ("0",), ("1", "3")),
        ("TORCH_DISTRIBUTED_DEBUG", ("DETAIL", "detail"), ("INFO", "OFF")),
        ("AMD_SERIALIZE_KERNEL", ("1", "3"), ("0",)),
        ("HSA_OVERRIDE_GFX_VERSION", ("11.0.0",), ("",)),
        ("HSA_ENABLE_SDMA", ("0",), ("1",)),
    ],
)
def test_the_value_decides(name: str, closed: tuple[str, ...], open_: tuple[str, ...]) -> None:
    """A variable matters by its value, not by being there."""
    assert all(named(**{name: value}) == [name] for value in closed)
    assert not any(named(**{name: value}) for value in open_)


def test_other_variables_do_not_matter() -> None:
    """What is not in the table steers nothing, and neither does an empty environment."""
    assert named() == [] == named(PATH="/usr/bin", NCCL_DEBUG="INFO")


def test_the_order_is_that_of_the_table() -> None:
    """What closes a link stands before what slows a program."""
    assert named(HSA_XNACK="1", NCCL_P2P_DISABLE="1") == ["NCCL_P2P_DISABLE", "HSA_XNACK"]
