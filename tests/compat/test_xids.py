"""What error numbers in the kernel's log mean."""

from __future__ import annotations

import pytest

from preflight.compat.xids import ACTIONS, _catalogue, find_xid, read_sxid, read_xid, source

CATALOGUE = _catalogue().xid
FLOWS = {"", "IGNORE", "WORKFLOW_XID_45", "XID_154", "CHECK_UVM"}
"""Actions that ask a renter for nothing."""


def test_the_catalogue_is_whole() -> None:
    """110 numbers, each once and in order, and a source."""
    numbers = [entry.number for entry in CATALOGUE]
    assert len(numbers) == 110 and numbers == sorted(set(numbers))
    assert source().startswith("NVIDIA")


def test_every_action_has_words() -> None:
    """What the catalogue asks for is said in words that a renter knows."""
    assert {entry.asks for entry in CATALOGUE} <= set(ACTIONS) | FLOWS


@pytest.mark.parametrize("entry", CATALOGUE, ids=lambda entry: str(entry.number))
def test_the_class_follows_the_action(entry: object) -> None:
    """A reset, a restart of the machine or support make it hardware, a program's end does not."""
    asks, group, number = entry.asks, entry.group, entry.number  # type: ignore[attr-defined]
    hardware = {"RESET_GPU", "RESTART_BM", "CHECK_MECHANICALS", "CONTACT_SUPPORT"}
    hardware |= {"WORKFLOW_XID_48", "WORKFLOW_NVLINK_ERR"}
    if asks in hardware:
        assert group == "hardware"
    elif group == "hardware":
        assert number in (94, 157)
    if asks == "WORKFLOW_NVLINK5_ERR":
        assert group == "link"


def test_what_was_not_read_says_so() -> None:
    """An entry without a meaning is marked as a name only."""
    for entry in CATALOGUE:
        assert (entry.standing == "name only") == (not entry.meaning)


@pytest.mark.parametrize(
    ("number", "grade"),
    [
        *((number, "fail") for number in (46, 48, 54, 62, 64, 74, 79, 94, 95, 119, 120, 140, 143)),
        *((number, "warn") for number in (8, 13, 31, 43, 45, 63, 68, 92, 121, 154, 171)),
        *((number, "warn") for number in (1, 999)),
        *((number, "note") for number in (106, 107)),
    ],
)
def test_grades(number: int, grade: str) -> None:
    """Hardware fails, programs and unknown numbers warn, messages of tests are a note."""
    assert read_xid(number, "").grade == grade


def test_words_of_a_reading() -> None:
    """Number, meaning and what to do; without a meaning the mnemonic."""
    reading = read_xid(79, "")
    assert reading.what == "XID 79 (the card has fallen off the bus)"
    assert reading.action == "have the machine restarted"
    assert "ROBUST_CHANNEL_CE0_ERROR" in read_xid(39, "").what
    assert "does not have" in read_xid(999, "").what


@pytest.mark.parametrize(
    ("text", "grade"),
    [
        ("145, RLW_RXPIPE Nonfatal XC0 i0 Link 13 (0x0409a0c2)", "warn"),
        ("149, NETIR_LINK_EVT Fatal XC0 i0 Link 00 (0x026001c6)", "fail"),
        ("144, SAW_MVB Link 0", "fail"),
    ],
)
def test_nvlink_5_says_itself_whether_it_is_fatal(text: str, grade: str) -> None:
    """Nonfatal is a warning; without a word it is taken seriously."""
    assert read_xid(int(text[:3]), text).grade == grade


@pytest.mark.parametrize(
    ("text", "grade"),
    [
        ("GPU recovery action changed from 0x1 (GPU Reset Required) to 0x0 (None)", "note"),
        ("GPU recovery action changed from 0x0 (None) to 0x1 (GPU Reset Required)", "warn"),
    ],
)
def test_a_mended_card_is_no_alarm(text: str, grade: str) -> None:
    """XID 154 tells a change of the recovery action, to none too."""
    assert read_xid(154, text).grade == grade


def test_a_line_without_a_number_is_read_by_its_words() -> None:
    """A card that is dead at the start of its driver has fallen off the bus without an XID."""
    dead = "NVRM: The NVIDIA GPU 0000:38:00.0 has fallen off the bus and is not responding"
    assert read_xid(None, dead).grade == "fail"
    other = read_xid(None, "NVRM: GPU 0000:38:00.0: RmInitAdapter failed! (0x26:0x56:1474)")
    assert other.grade == "warn" and "RmInitAdapter" in other.what


@pytest.mark.parametrize(
    ("text", "grade"),
    [
        ("SXid (PCI:0000:c1:00.0): 20034, Fatal, Link 30 LTSSM Fault Up", "fail"),
        ("SXid (PCI:0000:c6:00.0): 19084, Non-fatal, Link 29 AN1 Heartbeat Timeout", "warn"),
        ("SXid (PCI:0000:c4:00.0): 10002, Severity 5 Engine instance 00", "warn"),
    ],
)
def test_errors_of_a_switch(text: str, grade: str) -> None:
    """Its line says fatal or non-fatal; anything else is no failure."""
    assert read_sxid(10002, text).grade == grade


def test_a_number_that_is_not_there() -> None:
    """Unused numbers have no entry."""
    assert find_xid(1) is None and find_xid(79) is not None
