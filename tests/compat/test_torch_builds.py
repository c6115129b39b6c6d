"""What each release of torch carries, against what is known of it, written by hand."""

from __future__ import annotations

import pytest

from preflight.compat.torch_builds import Wheel, release_of, releases, rocm_of, toolkit_of

SINCE_KEPLER = "37 50 60 70 75 80 86 90"
SINCE_MAXWELL = "50 60 70 75 80 86 90"

INDEXES = {
    "2.1": "cu118 cu121 rocm5.5 rocm5.6",
    "2.2": "cu118 cu121 rocm5.6 rocm5.7",
    "2.3": "cu118 cu121 rocm5.7 rocm6.0",
    "2.4": "cu118 cu121 cu124 rocm6.0 rocm6.1",
    "2.5": "cu118 cu121 cu124 rocm6.1 rocm6.2",
    "2.6": "cu118 cu124 cu126 rocm6.1 rocm6.2.4",
    "2.7": "cu118 cu126 cu128 rocm6.2.4 rocm6.3",
    "2.8": "cu126 cu128 cu129 rocm6.3 rocm6.4",
    "2.9": "cu126 cu128 cu130 rocm6.3 rocm6.4",
    "2.10": "cu126 cu128 cu130 rocm7.0 rocm7.1",
    "2.11": "cu126 cu128 cu130 rocm7.1 rocm7.2",
    "2.12": "cu126 cu130 cu132 rocm7.1 rocm7.2",
    "2.13": "cu126 cu130 cu132 rocm7.1 rocm7.2",
    "2.14": "cu126 cu130 cu132 rocm7.2 rocm7.14",
    "2.15": "cu126 cu130 cu132 cu134 rocm7.14",
}
"""Of the build matrix, x86_64."""

PYPI = {
    # What the wheels of PyPI say of themselves: default variant and its code.
    "2.1": ("cu121", SINCE_MAXWELL),
    "2.2": ("cu121", SINCE_MAXWELL),
    "2.3": ("cu121", SINCE_MAXWELL),
    "2.4": ("cu121", SINCE_MAXWELL),
    "2.5": ("cu124", SINCE_MAXWELL),
    "2.6": ("cu124", SINCE_MAXWELL),
    "2.7": ("cu126", SINCE_MAXWELL),
    "2.8": ("cu128", "70 75 80 86 90 100 120"),
    "2.9": ("cu128", "70 75 80 86 90 100 120"),
    "2.10": ("cu128", "70 75 80 86 90 100 120"),
    "2.11": ("cu130", "75 80 86 90 100 120"),
    "2.12": ("cu130", "75 80 86 90 100 120"),
    "2.13": ("cu130", "75 80 86 90 100 120"),
    "2.14": ("cu130", "75 80 86 90 100 120"),
    "2.15": ("cu132", "75 80 86 90 100 120"),
}
OTHERS = [
    ("2.6", "cu118", SINCE_KEPLER),
    ("2.7", "cu118", SINCE_KEPLER),
    ("2.7", "cu128", "75 80 86 90 100 120"),
    ("2.9", "cu130", "75 80 86 90 100 120"),
    ("2.10", "cu126", SINCE_MAXWELL),
    ("2.11", "cu126", SINCE_MAXWELL),
    ("2.11", "cu128", "75 80 86 90 100 120"),
    ("2.14", "cu126", SINCE_MAXWELL),
]
LIBRARIES = [
    # cuDNN and NCCL that the wheels of PyPI require.
    ("2.1", "8.9.2.26", "2.18.1", "2.1.0"),
    ("2.2", "8.9.2.26", "2.19.3", "2.2.0"),
    ("2.3", "8.9.2.26", "2.20.5", "2.3.1"),
    ("2.4", "9.1.0.70", "2.20.5", "3.0.0"),
    ("2.5", "9.1.0.70", "2.21.5", "3.1.0"),
    ("2.6", "9.1.0.70", "2.21.5", "3.2.0"),
    ("2.7", "9.5.1.17", "2.26.2", "3.3.1"),
    ("2.8", "9.10.2.21", "2.27.3", "3.4.0"),
    ("2.9", "9.10.2.21", "2.27.5", "3.5.1"),
    ("2.10", "9.10.2.21", "2.27.5", "3.6.0"),
    ("2.11", "9.19.0.56", "2.28.9", "3.6.0"),
    ("2.12", "9.20.0.48", "2.29.7", "3.7.1"),
    ("2.13", "9.20.0.48", "2.29.7", "3.7.1"),
    ("2.14", "9.24.0.43", "2.30.7", "3.8.0"),
    ("2.15", "9.26.0.51", "2.30.7", "3.9.0"),
]


def wheel(version: str, variant: str, machine: str = "x86_64") -> Wheel:
    """A wheel that must be there."""
    release = release_of(version)
    assert release is not None
    found = release.wheel_of(variant, machine)
    assert found is not None
    return found


def code(one: Wheel) -> str:
    """``80 90`` of a CUDA wheel."""
    return " ".join(name.removeprefix("sm_") for name in one.architectures)


@pytest.mark.parametrize("version", INDEXES)
def test_the_indexes_of_a_release(version: str) -> None:
    """Each release has the variants of its build matrix, and no others."""
    release = release_of(version)
    assert release is not None
    found = [one.variant for one in release.wheel if one.machine == "x86_64"]
    assert sorted(found) == sorted(INDEXES[version].split())


@pytest.mark.parametrize("version", PYPI)
def test_what_pypi_serves(version: str) -> None:
    """The default variant on x86_64 and its code are those of the wheel itself: verified."""
    variant, architectures = PYPI[version]
    release = release_of(version)
    assert release is not None and release.default["x86_64"] == variant
    assert code(wheel(version, variant)) == architectures
    assert wheel(version, variant).standing == "verified"


@pytest.mark.parametrize(("version", "variant", "architectures"), OTHERS)
def test_what_other_indexes_serve(version: str, variant: str, architectures: str) -> None:
    """Kepler only in cu118, Volta in cu126 for ever and in cu128 until 2.10, never in CUDA 13."""
    assert code(wheel(version, variant)) == architectures


@pytest.mark.parametrize("version", ["2.1", "2.6", "2.10"])
def test_pypi_serves_no_device_code_for_arm_before_2_11(version: str) -> None:
    """A plain install on aarch64 is a CPU build until 2.10."""
    release = release_of(version)
    assert release is not None and release.default["aarch64"] == "cpu"


@pytest.mark.parametrize(
    ("version", "variant"), [("2.11", "cu130"), ("2.14", "cu130"), ("2.15", "cu132")]
)
def test_arm_wheels_from_2_11_on(version: str, variant: str) -> None:
    """CUDA 13 for aarch64 holds Thor and neither Turing nor 8.6, whose cards run code for 8.0."""
    release = release_of(version)
    assert release is not None and release.default["aarch64"] == variant
    assert code(wheel(version, variant, "aarch64")) == "80 90 100 110 120"


@pytest.mark.parametrize(
    ("version", "variant", "has", "has_not"),
    [
        ("2.1", "rocm5.6", "gfx90a gfx1100", "gfx942"),
        ("2.3", "rocm5.7", "gfx90a", "gfx942"),
        ("2.3", "rocm6.0", "gfx942 gfx90a", "gfx950 gfx1101"),
        ("2.5", "rocm6.2", "gfx942", "gfx1101"),
        ("2.7", "rocm6.3", "gfx1101 gfx1102 gfx1200 gfx1201", "gfx950"),
        ("2.9", "rocm6.4", "gfx942 gfx1201", "gfx950 gfx1151"),
        ("2.10", "rocm7.0", "gfx950 gfx1150 gfx1151", "gfx1103"),
        ("2.11", "rocm7.2", "gfx900 gfx906 gfx950", "gfx1103"),
        ("2.13", "rocm7.2", "gfx900 gfx1103", ""),
        ("2.14", "rocm7.14", "gfx908 gfx950 gfx1103", "gfx900 gfx906"),
    ],
)
def test_processors_of_amd(version: str, variant: str, has: str, has_not: str) -> None:
    """MI300X from ROCm 6.0 on, MI355X from 7.0 on, and Vega gone from TheRock's."""
    listed = set(wheel(version, variant).architectures)
    assert set(has.split()) <= listed
    assert not set(has_not.split()) & listed


@pytest.mark.parametrize(("version", "cudnn", "nccl", "triton"), LIBRARIES)
def test_libraries_that_pypis_wheels_require(
    version: str, cudnn: str, nccl: str, triton: str
) -> None:
    """cuDNN, NCCL and Triton of the newest patch release, as its wheel requires them."""
    release = release_of(version)
    assert release is not None
    default = wheel(version, release.default["x86_64"])
    assert (default.cudnn, default.nccl) == (cudnn, nccl)
    assert release.triton[release.newest] == triton


@pytest.mark.parametrize(
    ("version", "first", "last", "threaded"),
    [
        ("2.1", "3.8", "3.11", ""),
        ("2.4", "3.8", "3.12", ""),
        ("2.6", "3.9", "3.13", ""),
        ("2.8", "3.9", "3.13", "3.13t"),
        ("2.11", "3.10", "3.14", "3.13t 3.14t"),
        ("2.14", "3.10", "3.14", "3.14t"),
        ("2.15", "3.11", "3.15", "3.14t 3.15t"),
    ],
)
def test_pythons_of_a_release(version: str, first: str, last: str, threaded: str) -> None:
    """Oldest, newest and free-threaded interpreters that a release has wheels for."""
    release = release_of(version)
    assert release is not None
    plain = [one for one in release.pythons if not one.endswith("t")]
    assert (plain[0], plain[-1]) == (first, last)
    assert [one for one in release.pythons if one.endswith("t")] == threaded.split()


def test_glibc_of_a_release() -> None:
    """2.17 until 2.6 and 2.28 from 2.7 on, but for the wheels of 2.6 that came over early."""
    assert {one.version: one.glibc for one in releases()}["2.6"] == "2.17"
    assert {one.glibc for one in releases()[6:]} == {"2.28"}
    release = release_of("2.6")
    assert release is not None
    assert release.glibc_of(wheel("2.6", "cu126")) == "2.28"
    assert release.glibc_of(wheel("2.6", "cu124")) == "2.17"
    assert release.glibc_of(None) == "2.17"


def test_releases_stand_in_order_and_once() -> None:
    """Oldest first, each wheel once."""
    numbers = [tuple(map(int, one.version.split("."))) for one in releases()]
    assert numbers == sorted(set(numbers))
    for release in releases():
        keys = [(one.variant, one.machine) for one in release.wheel]
        assert len(keys) == len(set(keys))


@pytest.mark.parametrize("version", ["2.16.0", "1.13.1", "3.0", "nightly", ""])
def test_what_the_table_does_not_know(version: str) -> None:
    """An older, a newer and no version have no release."""
    assert release_of(version) is None


@pytest.mark.parametrize(
    ("variant", "toolkit", "rocm"),
    [
        ("cu126", "12.6", None),
        ("cu118", "11.8", None),
        ("cu130", "13.0", None),
        ("rocm6.2.4", None, "6.2.4"),
        ("cpu", None, None),
    ],
)
def test_a_variant_names_its_toolkit(variant: str, toolkit: str | None, rocm: str | None) -> None:
    """The last digit of cu126 is the minor version."""
    assert (toolkit_of(variant), rocm_of(variant)) == (toolkit, rocm)
