"""The folder of an order."""

from __future__ import annotations

import hashlib
import random
import re
from pathlib import Path

import pytest

from preflight.errors import UsageError
from preflight.order_folder import check_reference, order_folder_name, reference_fault

HOSTILE = [
    "ORD-1042/../a <b>",
    "..",
    ".",
    "/etc/passwd",
    "../../../x",
    "CON",
    "nul.txt",
    "-rf",
    "--out=/",
    "a\\..\\b",
    "~root",
    "$(id)",
    "`id`",
    "%2e%2e%2f",
    "\u202egnp.exe",
    "注文 一〇四二",
    "🚀🚀",
    "a" * 200,
    "ﬁ Ⅷ ½",
    "no-order",
    "<script>alert(1)</script>",
    "'; DROP TABLE orders; --",
    "I\u0307",
]


def _digest(reference: str) -> str:
    return hashlib.sha256(reference.encode()).hexdigest()[:8]


@pytest.mark.parametrize(
    ("reference", "slug"),
    [
        ("ORD-1042", "ord-1042"),
        ("ORD-1042/../a <b>", "ord-1042-a-b"),
        ("Bestellung Nr. 7 (Köln)", "bestellung-nr-7-koln"),
        ("-rf", "rf"),
        ("CON", "con"),
        ("x" * 39 + " yz", "x" * 39),
        ("x" * 100, "x" * 40),
    ],
)
def test_the_folder_is_a_slug_and_eight_digits_of_the_digest(reference: str, slug: str) -> None:
    """The slug is for people, the digits tell references of one slug apart."""
    assert order_folder_name(reference) == f"{slug}-{_digest(reference)}"


def test_no_reference_gives_the_folder_of_no_order() -> None:
    """Runs without an order lie together."""
    assert order_folder_name(None) == "no-order"
    assert order_folder_name("no-order") != "no-order"


def test_a_reference_without_a_latin_letter_gives_the_digits_alone() -> None:
    """No folder begins with a dash, which programs would take for an option."""
    assert order_folder_name("注文") == _digest("注文")


@pytest.mark.parametrize("reference", HOSTILE)
def test_no_reference_leaves_the_output_folder(reference: str, tmp_path: Path) -> None:
    """The name is one folder below the output folder, on every system."""
    name = order_folder_name(check_reference(reference))
    assert re.fullmatch(r"([a-z0-9]+-)*[0-9a-f]{8}", name)
    (tmp_path / name).mkdir()
    assert [entry.name for entry in tmp_path.iterdir()] == [name]


def test_random_references_give_safe_and_distinct_folders() -> None:
    """Whatever printable text a seller takes, the name is safe, short and its own."""
    generator = random.Random(1042)
    names: dict[str, str] = {}
    while len(names) < 2000:
        length = generator.randint(1, 200)
        top = generator.choice([0x7F, 0x3000, 0x110000])
        text = "".join(chr(generator.randrange(0x20, top)) for _ in range(length))
        if reference_fault(text):
            continue
        name = order_folder_name(check_reference(text))
        assert re.fullmatch(r"([a-z0-9]+-)*[0-9a-f]{8}", name)
        assert len(name) <= 49
        names[text] = name
    assert len(set(names.values())) == len(names)


@pytest.mark.parametrize(
    ("reference", "says"),
    [
        ("", "empty"),
        ("   ", "empty"),
        ("\u3000", "empty"),
        ("\u200b\u200b", "empty"),
        ("a\nb", "control character or line break (U+000A at character 2)"),
        ("\ta", "U+0009"),
        ("a\x00b", "U+0000"),
        ("a\x1b[31mb", "U+001B"),
        ("a\x85b", "U+0085"),
        ("a\u2028b", "U+2028"),
        ("a\x7f", "U+007F"),
        ("a\udc80", "lone surrogate (U+DC80"),
        ("a\uffff", "no character (U+FFFF"),
        ("x" * 201, "201 characters, more than 200"),
    ],
)
def test_what_cannot_be_printed_on_one_line_is_refused(reference: str, says: str) -> None:
    """The message names the flag, the character, and what is accepted."""
    with pytest.raises(UsageError) as caught:
        check_reference(reference)
    assert says in caught.value.what
    assert caught.value.where == "--order"
    assert "ORD-1042" in caught.value.mend
    assert caught.value.exit_code == 2


def test_blanks_around_a_reference_do_not_make_another_order() -> None:
    """A reference pasted with a blank files under the same order."""
    assert check_reference(" ORD-1042 ") == "ORD-1042"
