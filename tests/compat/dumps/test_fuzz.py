"""Whatever is pasted, the answer is well formed: texts made up, and real ones that were damaged."""

from __future__ import annotations

import io
import json
import random

import pytest

from preflight.explanation import Explanation, explain_stream
from preflight.stages import STAGE_NAMES

from .cases import cases

hypothesis = pytest.importorskip("hypothesis", reason="needs the extra [test]")
from hypothesis import strategies as st  # noqa: E402

TEXTS = [case.text for case in cases()]
LINES = sorted({line for text in TEXTS for line in text.splitlines()})
WORDS = sorted({word for line in LINES for word in line.split()})
STATUSES = {"pass", "warn", "fail", "unknown"}

noise = st.binary(max_size=2000)
lines = st.lists(st.sampled_from(LINES), max_size=60).map(lambda found: "\n".join(found).encode())
words = st.lists(st.sampled_from(WORDS), max_size=80).map(lambda found: " ".join(found).encode())
mixed = st.lists(
    st.one_of(st.sampled_from(LINES), st.sampled_from(WORDS), st.text(max_size=20)), max_size=60
).map(lambda found: " ".join(found).replace(" GPU", "\nGPU").encode())


@st.composite
def damaged(draw: st.DrawFn) -> bytes:
    """A real paste with pieces cut, doubled, swapped and overwritten."""
    data = bytearray(draw(st.sampled_from(TEXTS)).encode())
    source = random.Random(draw(st.integers(0, 2**32)))
    for _ in range(draw(st.integers(1, 12))):
        start = source.randrange(len(data) + 1)
        end = min(len(data), start + source.randrange(1, 200))
        piece = bytes(data[start:end])
        at = source.randrange(len(data) + 1)
        choice = source.randrange(4)
        if choice == 0:
            del data[start:end]
        elif choice == 1:
            data[at:at] = piece
        elif choice == 2:
            data[at : at + len(piece)] = piece
        else:
            data[at:at] = source.randbytes(source.randrange(1, 40))
    return bytes(data)


def check(answer: Explanation) -> None:
    """What holds of every answer."""
    assert tuple(answer.stages) == STAGE_NAMES
    assert answer.exit_code in (0, 1, 3)
    for name, one in answer.stages.items():
        assert one.status in STATUSES and one.reason
        assert one.action or one.status == "pass", name
        assert all(0 < line <= answer.pasted.num_lines + 1 for line in one.lines)
        assert one.lines or one.status == "unknown", (name, one)
    if answer.cause is not None:
        assert answer.stages[answer.cause.stage].status == "fail" and answer.cause.action
    tree = json.loads(answer.json)
    assert set(tree) == {"schema", "stages", "cause", "facts", "quotes", "input"}


@hypothesis.settings(deadline=None, max_examples=150)
@hypothesis.given(st.one_of(noise, lines, words, mixed, damaged()))
def test_any_paste_has_a_well_formed_answer(data: bytes) -> None:
    """No exception; every status but unknown stands on lines, every alarm has an action."""
    check(explain_stream(io.BytesIO(data)))
