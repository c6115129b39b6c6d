"""The table of messages, and how it is searched."""

from __future__ import annotations

import re
import time

import pytest

from preflight.compat.dumps.signatures import (
    MOST_HITS,
    Scanner,
    Signature,
    decode_signatures,
    find_in,
    printed,
    signatures,
)
from preflight.compat.dumps.text import LONGEST_LINE, Line
from preflight.stages import STAGE_NAMES

ENTRY = """
[sources]
a = "Somebody, something"
[[signature]]
id = "x.y"
words = ["boom"]
pattern = "boom \\\\d+"
stage = "kernel"
cause = "it went boom"
action = "do not"
source = "a"
standing = "verified"
"""


@pytest.mark.parametrize("one", signatures(), ids=lambda one: one.id)
def test_an_entry_is_whole(one: Signature) -> None:
    """Stages exist, words are in lower case, an alarm has an action, the source is named."""
    stages = [one.stage, *(also.stage for also in one.also), *one.proves]
    assert set(stages) <= set(STAGE_NAMES) and one.stage not in one.proves
    assert all(word == word.lower() and len(word) >= 2 for word in one.words)
    assert one.action or one.status == "pass"
    assert one.cause and one.source and not one.cause.endswith(".")
    assert {other.id for other in signatures()} >= set(one.cleared_by)


@pytest.mark.parametrize("one", signatures(), ids=lambda one: one.id)
def test_a_pattern_is_searched_in_linear_time(one: Signature) -> None:
    """No repetition stands in a repetition, and a long hostile line is done in a second."""
    assert not re.search(r"[*+}]\)[*+{]", one.pattern)
    pattern = re.compile(one.pattern, re.IGNORECASE)
    words = " ".join(one.words)
    for hostile in (words + " ", "a", "nan grad checkpoint ", "Connection "):
        started = time.process_time()
        pattern.search((hostile * LONGEST_LINE)[:LONGEST_LINE])
        assert time.process_time() - started < 1.0


def test_a_mistake_in_the_table_names_the_entry() -> None:
    """An unknown source, an unknown key and an id that stands twice."""
    assert decode_signatures(ENTRY)[0].source == "Somebody, something"
    for old, new in (('source = "a"', 'source = "b"'), ("cause =", "because =")):
        with pytest.raises(ValueError, match=r"signatures: x\.y"):
            decode_signatures(ENTRY.replace(old, new))
    with pytest.raises(ValueError, match="twice"):
        decode_signatures(ENTRY + ENTRY.partition("[[")[1] + ENTRY.partition("[[")[2])


def test_hits_are_bounded_and_keep_the_first_lines() -> None:
    """A message that is repeated a thousand times is kept a few times."""
    scanner = Scanner()
    lines = [Line(number, "CUDA error: out of memory") for number in range(1, 1001)]
    scanner.scan(lines[:500])
    scanner.scan(lines[500:])
    (hit,) = scanner.hits()
    assert hit.lines == tuple(range(1, MOST_HITS + 1))


def test_the_lines_of_a_hit_are_those_of_the_message() -> None:
    """Also where case folding changes the length of what stands before."""
    text = "İİİ first\nsecond\nCUDA error: no kernel image is available\n"
    assert find_in(text)[0].lines == (3,)


def test_a_long_line_is_quoted_around_the_message() -> None:
    """What matters is seen, not what happens to stand first."""
    (hit,) = find_in("x" * 3000 + " CUDA error: an illegal memory access was encountered")
    assert "illegal memory access" in hit.text and len(hit.text) < 200


def test_a_general_message_is_dropped_where_a_line_says_more() -> None:
    """``NCCL error`` beside a reason on the same line, and not elsewhere."""
    both = "NCCL error: unhandled system error; Duplicate GPU detected : rank 0 and rank 1"
    assert [hit.signature.id for hit in find_in(both)] == ["nccl.duplicate"]
    assert [hit.signature.id for hit in find_in("ncclSystemError")] == ["nccl.error"]


def test_a_warning_that_was_settled_is_dropped() -> None:
    """bitsandbytes misses a file and then says that it works."""
    text = "CUDA SETUP: WARNING! CUDA runtime files not found in any environmental path."
    assert [hit.signature.id for hit in find_in(text)] == ["bnb.no_runtime"]
    settled = find_in(f"{text}\nInstallation was successful!")
    assert [hit.signature.id for hit in settled] == ["bnb.works"]


def test_what_people_write_is_told_apart() -> None:
    """Advice on a failed probe comes from what programs print."""
    hits = find_in("all_reduce hangs forever\nCUDA error: out of memory")
    assert [hit.signature.id for hit in printed(hits)] == ["cuda.oom"]
