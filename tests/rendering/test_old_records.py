from __future__ import annotations

from pathlib import Path

import pytest

from preflight.records import decode_record
from preflight.rendering import protocol

FOLDER = Path(__file__).parents[1] / "data" / "records"
FILES = sorted(FOLDER.glob("*.json"))


def test_there_are_old_records() -> None:
    """The folder of records that were written once is not empty."""
    assert len(FILES) >= 3


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_an_old_record_still_loads_and_renders(path: Path) -> None:
    """What an earlier version wrote is read for ever, in every format."""
    record = decode_record(path.read_bytes(), where=str(path))
    for name in protocol.FORMATS:
        assert protocol.renderer(name)(record)
