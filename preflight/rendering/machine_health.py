"""What the sensors and counters of the cards say at the moment of asking."""

from __future__ import annotations

from collections.abc import Sequence

from preflight.facts import Card, Number, Whole, known
from preflight.rendering.machine_parts import Entry, Table, column, listed, over, tables, warned


def health_tables(cards: Sequence[Card]) -> tuple[Table, ...]:
    """Temperatures, power, clocks and error counters, a row a card."""
    return tables(
        column("card", (card.device for card in cards)),
        column("°C", map(_heat, cards), is_number=True),
        column("memory °C", (_whole(one.temperature.memory_C) for one in cards), is_number=True),
        column("W", (_of(one.power.draw_W, one.power.limit_W) for one in cards), is_number=True),
        column("SM MHz", (_of(one.clocks.sm_MHz, one.clocks.sm_max_MHz) for one in cards)),
        column(
            "memory MHz", (_of(one.clocks.memory_MHz, one.clocks.memory_max_MHz) for one in cards)
        ),
        column("uncorr. ECC", map(_uncorrected, cards)),
        column("remapped rows", map(_rows, cards)),
        column("retired pages", map(_pages, cards)),
    )


def _whole(value: Number | Whole) -> str | None:
    number = known(value)
    return None if number is None else f"{number:.0f}"


def _of(now: Number | Whole, most: Number | Whole) -> str | None:
    """``71/700``: now and at most."""
    return over(_whole(now), _whole(most))


def _heat(card: Card) -> Entry | None:
    text, slowdown = _whole(card.temperature.card_C), known(card.temperature.slowdown_C)
    if text is None:
        return None
    return warned(text, slowdown is not None and float(text) >= slowdown)


def _uncorrected(card: Card) -> Entry | None:
    """Errors since the driver was loaded, and in the card's life where those are others."""
    if known(card.ecc.enabled) is False:
        return Entry("ECC is off", "caution")
    now, ever = known(card.ecc.uncorrected), known(card.ecc.lifetime_uncorrected)
    if now is None and ever is None:
        return None
    more = None if ever is None or ever == now else f"{ever} ever"
    return warned(listed(None if now is None else str(now), more), bool(now or ever))


def _rows(card: Card) -> Entry | None:
    """Rows replaced by spare ones: ``0``, or ``2 uncorrected, pending``."""
    rows = card.remapped
    numbers = (known(rows.corrected), known(rows.uncorrected), known(rows.banks_without_spares))
    flags = (known(rows.pending), known(rows.failed))
    if all(fact is None for fact in (*numbers, *flags)):
        return None
    text = listed(
        f"{numbers[0]} corrected" if numbers[0] else None,
        f"{numbers[1]} uncorrected" if numbers[1] else None,
        "pending" if flags[0] else None,
        "failed" if flags[1] else None,
        f"banks without spares: {numbers[2]}" if numbers[2] else None,
    )
    return Entry("0") if not text else warned(text, bool(numbers[1] or numbers[2] or any(flags)))


def _pages(card: Card) -> Entry | None:
    """Pages taken out of use, before Ampere: ``0``, or ``3 single, 1 double, pending``."""
    single, double = known(card.retired.single_bit), known(card.retired.double_bit)
    pending = known(card.retired.pending)
    if single is None and double is None and pending is None:
        return None
    text = listed(
        f"{single} single" if single else None,
        f"{double} double" if double else None,
        "pending" if pending else None,
    )
    return warned(text or "0", bool(double or pending))
