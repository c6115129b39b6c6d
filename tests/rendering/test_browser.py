"""The HTML report in a real browser: it opens without an error, and prints."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from preflight.records import Record
from preflight.rendering.report_html import render

from . import extremes, machines, odd_machines, sample

pytestmark = pytest.mark.long

BROWSER = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("chrome")
QUIET = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
)


def _browse(page: Path, *flags: str) -> subprocess.CompletedProcess[str]:
    if BROWSER is None:
        pytest.skip("no Chromium is installed")
    profile = f"--user-data-dir={page.with_name('profile')}"
    return subprocess.run(
        [BROWSER, *QUIET, profile, "--enable-logging=stderr", *flags, page.as_uri()],
        capture_output=True,
        text=True,
        timeout=180,
    )


def _of_a_machine() -> Record:
    return machines.record_of(odd_machines.ill_b200(), odd_machines.hostile(extremes.ALL))


@pytest.mark.parametrize("make", [sample.failing, sample.passing, extremes.hostile, _of_a_machine])
def test_the_report_opens_without_an_error(tmp_path: Path, make: Callable[[], Record]) -> None:
    """Style and script pass the page's own policy, and nothing from the record runs."""
    page = tmp_path / "report.html"
    page.write_text(render(make()), encoding="utf-8")
    done = _browse(page, "--dump-dom")
    assert done.returncode == 0, done.stderr
    assert "<h1" in done.stdout
    assert [line for line in done.stderr.splitlines() if "CONSOLE" in line] == []


def test_the_report_prints(tmp_path: Path) -> None:
    """A PDF of several pages can be made of it."""
    page = tmp_path / "report.html"
    page.write_text(render(sample.failing()), encoding="utf-8")
    paper = tmp_path / "report.pdf"
    done = _browse(page, f"--print-to-pdf={paper}")
    assert done.returncode == 0, done.stderr
    assert paper.read_bytes().startswith(b"%PDF")
    assert paper.stat().st_size > 20_000
