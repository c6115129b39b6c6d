"""Which build a version of torch names."""

from __future__ import annotations

import pytest

from preflight.compat.builds import build_of

FORMS = [
    # text, patch, maker, variant, CUDA, ROCm, Triton
    ("2.7.0+cu126", "2.7.0", "release", "cu126", "12.6", None, "3.3.0"),
    ("2.7.0", "2.7.0", "release", "cu126", "12.6", None, "3.3.0"),
    ("2.11.0", "2.11.0", "release", "cu130", "13.0", None, "3.6.0"),
    ("2.1.0+cu121.with.pypi.cudnn", "2.1.0", "release", "cu121", "12.1", None, "2.1.0"),
    ("2.6.0+rocm6.2.4", "2.6.0", "release", "rocm6.2.4", None, "6.2.4", "3.2.0"),
    ("2.9.0+cpu", "2.9.0", "release", "cpu", None, None, "3.5.0"),
    ("2.5.1+cpu.cxx11.abi", "2.5.1", "release", "cpu", None, None, "3.1.0"),
    ("2.7.0+xpu", "2.7.0", "release", "xpu", None, None, "3.3.0"),
    ("2.6.0a0+ecf3bae40a.nv25.01", "2.6.0", "NVIDIA", None, None, None, None),
    ("2.8.0.dev20250408+cu128", "2.8.0", "nightly", "cu128", "12.8", None, None),
    ("2.9.1+git8907517", "2.9.1", "source", None, None, None, None),
    ("2.7.0a0+gitf1c9a0a", "2.7.0", "source", None, None, None, None),
    ("2.9.0rc3+cu128", "2.9.0", "source", "cu128", "12.8", None, None),
    ("2.3.1.post300", "2.3.1", "source", None, None, None, None),
    ("2.16.0+cu134", "2.16.0", "release", "cu134", "13.4", None, None),
    ("2.16.0", "2.16.0", "release", None, None, None, None),
]


@pytest.mark.parametrize("form", FORMS, ids=[form[0] for form in FORMS])
def test_every_form_is_read(form: tuple[str | None, ...]) -> None:
    """PyPI, indexes, nightlies, containers and builds from source, each as what it is."""
    build = build_of(str(form[0]))
    assert build is not None
    assert form == (
        build.text,
        build.patch,
        build.maker,
        build.variant,
        build.toolkit,
        build.rocm,
        build.triton,
    )


@pytest.mark.parametrize("text", ["2.7.1+cu126", "2.7.1", "2.9.0+rocm6.4"])
def test_a_release_has_its_wheel(text: str) -> None:
    """A release of PyTorch's own is looked up in the table."""
    build = build_of(text)
    assert build is not None and build.wheel is not None and build.is_known


@pytest.mark.parametrize(
    "text",
    [
        "2.8.0.dev20250408+cu128",  # may have had another list than the release that followed
        "2.6.0a0+ecf3bae40a.nv25.01",
        "2.9.1+git8907517",
        "2.9.0+cpu",
        "2.16.0+cu126",
        "2.9.0+cu118",  # no such index
    ],
)
def test_no_other_build_is_taken_for_a_release(text: str) -> None:
    """A nightly, a vendor's build and an unknown release have no wheel in the table."""
    build = build_of(text)
    assert build is not None and build.wheel is None


def test_the_host_decides_what_pypi_serves() -> None:
    """A plain version is a CPU build on aarch64 before 2.11, and CUDA 13 from then on."""
    for text, variant in (("2.10.0", "cpu"), ("2.11.0", "cu130"), ("2.15.0", "cu132")):
        build = build_of(text, machine="aarch64")
        assert build is not None and build.variant == variant


@pytest.mark.parametrize("text", ["nightly", "", "torch 2.7"])
def test_what_is_no_version_is_no_build(text: str) -> None:
    """A text of nobody's form is not guessed at."""
    assert build_of(text) is None


def test_blanks_around_a_version_do_not_matter() -> None:
    """collect_env pads its lines."""
    build = build_of(" 2.7.0+cu126\n")
    assert build is not None and build.text == "2.7.0+cu126"
