"""The walk over what could not be read."""

from __future__ import annotations

from preflight.facts import (
    Absence,
    Card,
    DeviceFile,
    Driver,
    Ecc,
    Link,
    Machine,
    absences_in,
)


def found(record: Card | Machine) -> list[tuple[str, str]]:
    """What is missing and why."""
    return [(one.what, one.reason) for one in absences_in(record)]


def test_nothing_is_missing_in_a_fresh_record() -> None:
    """What nobody asked is no gap."""
    assert absences_in(Machine(node="a", cards=(Card(device="gpu0"),))) == ()


def test_the_call_keeps_its_name() -> None:
    """An absence that says what was asked comes as it is, the vendor's words included."""
    lost = Absence(what="nvmlDeviceGetSerial", reason="device lost", detail="GPU is lost")
    assert absences_in(Card(device="gpu3", serial=lost)) == (lost,)


def test_the_place_stands_for_a_call_without_name() -> None:
    """Nested structs and tuples are walked, and the place says which value it is."""
    card = Card(
        device="gpu0",
        ecc=Ecc(enabled=Absence(reason="failed")),
        links=(Link(index=0), Link(index=1, errors=Absence(reason="no permission"))),
    )
    assert found(card) == [("ecc.enabled", "failed"), ("links[1].errors", "no permission")]


def test_the_order_is_that_of_the_fields() -> None:
    """Driver before cards, as in the record, wherever the gap lies."""
    machine = Machine(
        node="a",
        cards=(Card(device="gpu0", vbios=Absence(reason="deadline")),),
        driver=Driver(files=(DeviceFile(path="/dev/kfd", is_open=Absence(reason="failed")),)),
    )
    assert found(machine) == [
        ("driver.files[0].is_open", "failed"),
        ("cards[0].vbios", "deadline"),
    ]
