"""The tables of this folder: each entry has a source, and a standing that agrees with it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from preflight.compat import assemblers, capabilities, rocm, toolkits, torch_builds
from preflight.compat.tables import Entry, check_standing, entries, read_table

EVERY: tuple[Entry, ...] = (
    *torch_builds.releases(),
    *(wheel for release in torch_builds.releases() for wheel in release.wheel),
    *toolkits.toolkits(),
    *toolkits.architectures(),
    *toolkits.packages(),
    *assemblers.assemblers(),
    *rocm.processors(),
    *rocm.rocm_releases(),
    *rocm.modules(),
    *capabilities.cards(),
)
TABLES = ("torch_builds", "toolkits", "triton", "rocm", "capabilities")
KNOWN_IN_THE_TRADE = "known in the trade, read in no source"


def test_the_tables_are_not_empty() -> None:
    """Fifteen releases of torch, their wheels, and the toolkits from 11.0 on are there."""
    assert len(torch_builds.releases()) == 15
    assert len(EVERY) > 150


@pytest.mark.parametrize("entry", EVERY, ids=lambda entry: type(entry).__name__)
def test_every_entry_has_a_source_and_a_standing(entry: Entry) -> None:
    """No number stands without who says it; what rests on hearsay alone is not called verified."""
    assert entry.sources and all(entry.sources)
    assert entry.standing in ("verified", "partly verified", "unverified")
    assert bool(entry.unverified) <= (entry.standing != "verified")
    if set(entry.sources) == {KNOWN_IN_THE_TRADE}:
        assert entry.standing == "unverified"


@pytest.mark.parametrize("name", TABLES)
def test_every_source_is_cited(name: str) -> None:
    """A source that no entry cites has lost its entry."""
    cited: set[str] = set()

    def collect(entry: dict[str, Any]) -> None:
        cited.update(entry["sources"])
        for value in entry.values():
            for one in value if isinstance(value, list) else ():
                if isinstance(one, dict):
                    collect(one)

    for listed in read_table(f"{name}.toml").values():
        for entry in listed:
            collect(entry)
    text = Path(torch_builds.__file__).with_name(f"{name}.toml").read_text(encoding="utf-8")
    head = text.partition("[sources]")[2].partition("\n\n")[0]
    named = {line.split(' = "', 1)[1][:-1] for line in head.strip().splitlines()}
    assert cited == named


class Row(Entry, frozen=True, kw_only=True):
    """An entry of a table made for these tests."""

    name: str


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ({"sources": ["x"], "standing": "verified"}, "name"),
        ({"name": "a", "sources": ["x"], "standing": "rumour"}, "standing"),
        ({"name": "a", "standing": "verified"}, "sources"),
        ({"name": "a", "sources": [], "standing": "verified"}, "no source"),
        ({"name": "a", "sources": ["x"], "standing": "verified", "nmae": 1}, "nmae"),
        (
            {"name": "a", "sources": ["x"], "standing": "verified", "unverified": ["name"]},
            "verified, and 'name' is not",
        ),
        (
            {"name": "a", "sources": ["x"], "standing": "unverified", "unverified": ["size"]},
            "no field 'size'",
        ),
    ],
)
def test_a_wrong_entry_is_refused_with_its_place(row: dict[str, Any], words: str) -> None:
    """A missing field, an unknown one and a contradiction each end loudly."""
    good = {"name": "b", "sources": ["x"], "standing": "verified"}
    with pytest.raises(ValueError, match=words) as caught:
        entries({"row": [good, row]}, "row", Row)
    assert "row[1]" in str(caught.value)


def test_standing_speaks_of_fields_that_exist() -> None:
    """The check on its own: an entry that is sound passes it."""
    check_standing(
        Row(name="a", sources=("x",), standing="partly verified", unverified=("name",)), "here"
    )
