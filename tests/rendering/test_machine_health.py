from __future__ import annotations

import pytest

from preflight.facts import (
    Absence,
    Card,
    Clocks,
    Ecc,
    Power,
    RemappedRows,
    RetiredPages,
    Temperature,
)
from preflight.rendering.machine_health import health_tables
from preflight.rendering.machine_parts import NOTHING, Entry

GONE = Absence(what="nvmlDeviceGetFieldValues", reason="not supported")


def cell(title: str, card: Card) -> Entry:
    """The entry of a card in a column; a dash where there is none."""
    titles = {one.title: one for table in health_tables((card,)) for one in table.columns}
    return titles[title].entries[0] if title in titles else NOTHING


@pytest.mark.parametrize(
    ("ecc", "entry"),
    [
        (Ecc(enabled=True, uncorrected=0, lifetime_uncorrected=0), Entry("0")),
        (Ecc(uncorrected=0), Entry("0")),
        (Ecc(uncorrected=2, lifetime_uncorrected=14), Entry("2, 14 ever", "caution")),
        (Ecc(uncorrected=GONE, lifetime_uncorrected=3), Entry("3 ever", "caution")),
        (Ecc(enabled=False, uncorrected=0), Entry("ECC is off", "caution")),
        (Ecc(uncorrected=GONE), NOTHING),
    ],
)
def test_uncorrected_errors_now_and_ever(ecc: Ecc, entry: Entry) -> None:
    """Any error stands out; what is not known is never 0."""
    assert cell("uncorr. ECC", Card(device="gpu0", ecc=ecc)) == entry


@pytest.mark.parametrize(
    ("rows", "entry"),
    [
        (RemappedRows(corrected=0, uncorrected=0, pending=False, failed=False), Entry("0")),
        (RemappedRows(corrected=3, uncorrected=0), Entry("3 corrected")),
        (RemappedRows(uncorrected=2, pending=True), Entry("2 uncorrected, pending", "caution")),
        (RemappedRows(uncorrected=0, failed=True), Entry("failed", "caution")),
        (RemappedRows(banks_without_spares=1), Entry("banks without spares: 1", "caution")),
        (RemappedRows(corrected=GONE, uncorrected=GONE), NOTHING),
    ],
)
def test_remapped_rows(rows: RemappedRows, entry: Entry) -> None:
    """Rows for corrected errors are ordinary wear, the others stand out."""
    assert cell("remapped rows", Card(device="gpu0", remapped=rows)) == entry


@pytest.mark.parametrize(
    ("pages", "entry"),
    [
        (RetiredPages(single_bit=0, double_bit=0, pending=False), Entry("0")),
        (RetiredPages(single_bit=3, double_bit=0), Entry("3 single")),
        (RetiredPages(double_bit=1, pending=True), Entry("1 double, pending", "caution")),
        (RetiredPages(), NOTHING),
    ],
)
def test_retired_pages(pages: RetiredPages, entry: Entry) -> None:
    """The same for cards before Ampere."""
    assert cell("retired pages", Card(device="gpu0", retired=pages)) == entry


@pytest.mark.parametrize(("card_C", "tone"), [(86.0, ""), (87.0, "caution"), (91.0, "caution")])
def test_a_card_that_slows_itself_down_stands_out(card_C: float, tone: str) -> None:
    """Its temperature is where it begins to do so, by its own limit."""
    heat = Temperature(card_C=card_C, slowdown_C=87.0)
    assert cell("°C", Card(device="gpu0", temperature=heat)).tone == tone


def test_without_a_limit_no_temperature_stands_out() -> None:
    """A limit that is not known is none that was broken."""
    heat = Temperature(card_C=120.0, slowdown_C=GONE)
    assert cell("°C", Card(device="gpu0", temperature=heat)) == Entry("120")


def test_power_and_clocks_stand_before_their_most() -> None:
    """Watts and megahertz, now and at most."""
    card = Card(
        device="gpu0",
        power=Power(draw_W=69.6, limit_W=700.0),
        clocks=Clocks(sm_MHz=345, sm_max_MHz=1980, memory_MHz=GONE, memory_max_MHz=2619),
    )
    assert cell("W", card) == Entry("70/700")
    assert cell("SM MHz", card) == Entry("345/1980")
    assert cell("memory MHz", card) == Entry("–/2619")


def test_a_card_that_tells_nothing_has_no_table() -> None:
    """No column, no table."""
    assert health_tables((Card(device="gpu0"),)) == ()
