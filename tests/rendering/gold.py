"""Gold files: the reports of sample records, frozen.

``PREFLIGHT_UPDATE_GOLD=1 pytest tests/rendering`` writes them anew; read the diff afterwards.
"""

from __future__ import annotations

import os
from pathlib import Path

FOLDER = Path(__file__).with_name("gold")


def check(name: str, text: str) -> None:
    """Compare a report with its gold file, or write the file where the switch is set."""
    path = FOLDER / name
    if os.environ.get("PREFLIGHT_UPDATE_GOLD") == "1":
        path.write_text(text, encoding="utf-8")
    assert text == path.read_text(encoding="utf-8"), f"{path} differs; see gold.py"
