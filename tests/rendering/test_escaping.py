from __future__ import annotations

import json

import pytest

from preflight.rendering import escaping


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[31m", "\\x1b[31m"),
        ("\x9b2J", "\\x9b2J"),
        ("a\x00b", "a\\x00b"),
        ("\u202egnp.exe", "\\u202egnp.exe"),
        ("a\u2028b", "a\\u2028b"),
        ("a\r\nb", "a\nb"),
        ("50%\r100%", "50%\\r100%"),
        ("\ud800", "\\ud800"),
        ("שלום 显卡 ✓", "שלום 显卡 ✓"),
        ("\ttab\n", "\ttab\n"),
    ],
)
def test_dangerous_characters_are_shown(text: str, shown: str) -> None:
    """What moves the cursor, hides or reorders is shown as an escape; other scripts stay."""
    assert escaping.visible(text) == shown


def test_one_line_is_one_line() -> None:
    """No character that any reader takes for a line break is left."""
    text = "a\nb\rc\td\x0be\x0cf\x1cg\x85h\u2028i\u2029j"
    assert len(escaping.one_line(text).splitlines()) == 1


@pytest.mark.parametrize("width", [5, 20, 99])
def test_clipping_keeps_within_columns(width: int) -> None:
    """Wide and combining characters count as a terminal counts them."""
    for text in ("x" * 300, "显存" * 100, "é" * 200, "\x1b" * 90):
        assert escaping.columns(escaping.clip(text, width)) <= width


def test_clipping_marks_the_cut() -> None:
    """Text that fits stays whole, text that does not ends with an ellipsis."""
    assert escaping.clip("gpu0", 4) == "gpu0"
    assert escaping.clip("gpu00", 4) == "gpu…"


def test_cuts_say_how_much_is_missing() -> None:
    """Shortened text names the number of characters that stand in the record alone."""
    assert escaping.shorten("x" * 30, 10) == "x" * 10 + "… (20 more characters in the record)"
    assert escaping.last_part("x" * 20 + "end", 3).endswith("record)\nend")


def test_json_in_a_script_has_no_markup() -> None:
    """JSON stays equal while no tag, entity or separator is left in it."""
    value = {"a": "</script><!-- & \u2028 \u2029"}
    text = escaping.json_in_script(json.dumps(value, ensure_ascii=False))
    assert json.loads(text) == value
    assert not set("<>&\u2028\u2029") & set(text)
