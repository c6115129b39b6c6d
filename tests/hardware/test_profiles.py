"""The names of simulated machines and of their faults."""

from __future__ import annotations

import pytest

from preflight.errors import UsageError
from preflight.hardware.catalog import products
from preflight.hardware.profiles import Struck, profile_table, read_profile, shipped


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("2xB200", "2xB200"),
        ("8xH100", "8xH100-SXM"),
        ("8xa100", "8xA100-80"),
        ("4XGB200", "4xGB200"),
    ],
)
def test_a_profile_is_found_by_name_or_alias(text: str, name: str) -> None:
    """Case does not matter, and an alias means the profile."""
    profile = read_profile(text, where="--simulate")
    assert (profile.name, profile.text, profile.faults) == (name, text, ())


def test_faults_are_joined_with_a_plus() -> None:
    """Each strikes the machine or one of its cards."""
    profile = read_profile("8xH100:fabric-down+nvlink-down-3+pcie-x8-1+xid79-6", where="x")
    assert profile.faults == (
        Struck(name="fabric-down"),
        Struck(name="nvlink-down", card=3),
        Struck(name="pcie-x8", card=1),
        Struck(name="xid79", card=6),
    )


@pytest.mark.parametrize(
    ("text", "what", "mend"),
    [
        ("2xB300", "no machine is called '2xB300'", "did you mean 2xB200?"),
        ("", "no machine is called ''", "There are 2xB200, 8xB200"),
        ("2xB200:", "'2xB200:' names no fault", "write PROFILE"),
        ("2xB200:gone-1", "no fault is called 'gone-1'", "faults are missing"),
        ("2xB200:missing", "missing strikes one card", "write missing-0"),
        ("2xB200:mig-1", "mig strikes the whole machine", "write mig"),
        ("2xB200:missing-2", "2xB200 has no card 2", "cards are 0 to 1"),
        ("2xB200:kfd-eacces", "kfd-eacces is a fault of AMD machines", "faults of 2xB200 are"),
        ("8xMI300X:nvml-hang", "nvml-hang is a fault of NVIDIA machines", "faults of 8xMI300X are"),
        ("1xRTX5090:fabric-down", "RTX 5090 has no fabric", "choose another fault"),
        ("1xRTX5090:nvlink-down-0", "RTX 5090 has no link", "choose another fault"),
        ("1xRTX5090:mig", "RTX 5090 has no slices", "choose another fault"),
        ("2xB200:ecc-0+ecc-0", "names a fault twice", "name it once"),
        ("2xB200:ecc-0+", "no fault is called ''", "faults are"),
    ],
)
def test_a_name_that_is_none_is_refused(text: str, what: str, mend: str) -> None:
    """The message says what is wrong, where, and what there is."""
    with pytest.raises(UsageError) as caught:
        read_profile(text, where="--simulate")
    assert what in caught.value.what
    assert mend in caught.value.mend
    assert caught.value.where == "--simulate"


def test_every_product_of_a_profile_is_in_the_catalogue() -> None:
    """The cards that are delivered and those that are delivered instead have an entry each."""
    names = {product.name for product in products()}
    for row in shipped().profiles.values():
        assert {row.product, row.wrong_product} <= names


def test_the_table_lists_every_profile_and_fault() -> None:
    """What can be asked for is shown with its meaning."""
    table = profile_table()
    for name, row in shipped().profiles.items():
        assert f"\n{name} " in f"\n{table}"
        assert all(alias in table for alias in row.aliases)
    for name, fault in shipped().faults.items():
        assert f"\n{name}" in table
        assert fault.meaning in table
    assert all(len(line) <= 100 for line in table.splitlines())
