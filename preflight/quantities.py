"""Durations, sizes and counts of cards as people write them, and back."""

from __future__ import annotations

import math
import re

LONGEST_DURATION_S = 3660 * 86400.0
"""Ten years: longer than any rental, short enough for every clock."""

_SECONDS_PER_UNIT = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_DURATION_PART = re.compile(r"(\d+(?:\.\d+)?)\s*([a-z]*)\s*", re.ASCII)
_UNIT_SPELLINGS = {
    "s": ("s", "sec", "secs", "second", "seconds"),
    "m": ("m", "min", "mins", "minute", "minutes"),
    "h": ("h", "hour", "hours"),
    "d": ("d", "day", "days"),
}
_UNIT_OF_SPELLING = {word: unit for unit, words in _UNIT_SPELLINGS.items() for word in words}
_DURATION_FORMS = "write a duration as 30s, 5m, 2h, 1.5h, 1h30m or 7d"

_BYTES_PER_UNIT = {
    "b": 1,
    "kb": 10**3,
    "mb": 10**6,
    "gb": 10**9,
    "tb": 10**12,
    "pb": 10**15,
    "kib": 2**10,
    "mib": 2**20,
    "gib": 2**30,
    "tib": 2**40,
    "pib": 2**50,
}
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([A-Za-z]*)", re.ASCII)
_SIZE_FORMS = "write a size as 80GB (10^9 bytes), 1GiB (2^30 bytes), 512MiB or 1.5TB"

MOST_GPUS = 100_000
"""More cards than one order has ever had; a larger count is a slip of the finger."""

_COUNT_FIRST = re.compile(r"(\d+)\s*[xX×]\s*(\S.*)", re.ASCII)
# "x" after t or g belongs to the name: RTX 4090, GTX 1080, DGX 100.
_COUNT_LAST = re.compile(r"(\S.*?)(?:\s+[xX×]|×|(?<![tTgG])[xX])\s*(\d+)", re.ASCII)
_AMBIGUOUS_INSTINCT = re.compile(r"(.*\bMI\d+)[xX]\d+", re.ASCII | re.IGNORECASE)
_PRODUCT = re.compile(r"[A-Za-z0-9][A-Za-z0-9 ._+()/-]{0,79}", re.ASCII)
_GPU_FORMS = "write it as 2xB200, B200x2, 2 x B200, 8×H100, or B200 alone"


def parse_duration(text: str) -> float:
    """Seconds in ``30s``, ``5m``, ``2h``, ``1.5h``, ``1h30m`` or ``7d``; more than 0 s.

    Raises ValueError, saying what is accepted.
    """
    rest = text.strip().lower()
    if re.fullmatch(r"\d+(\.\d+)?", rest, re.ASCII):
        raise ValueError(f"{_shown(text)} has no unit: write {rest}s, {rest}m or {rest}h")
    total_s, position, last_unit_s = 0.0, 0, math.inf
    while position < len(rest):
        part = _DURATION_PART.match(rest, position)
        unit = _UNIT_OF_SPELLING.get(part[2]) if part else None
        if part is None or unit is None or _SECONDS_PER_UNIT[unit] >= last_unit_s:
            raise ValueError(f"{_shown(text)} is not a duration: {_DURATION_FORMS}")
        last_unit_s = _SECONDS_PER_UNIT[unit]
        total_s += float(part[1]) * last_unit_s
        position = part.end()
    if not rest:
        raise ValueError(f"the duration is empty: {_DURATION_FORMS}")
    if total_s <= 0:
        raise ValueError(f"{_shown(text)} is no time at all: {_DURATION_FORMS}")
    if total_s > LONGEST_DURATION_S:
        raise ValueError(f"{_shown(text)} is longer than ten years: {_DURATION_FORMS}")
    return total_s


def format_duration(duration_s: float) -> str:
    """``0.35 s``, ``4.2 s``, ``2 min 41 s``, ``1 h 5 min`` or ``2 d 3 h``; two units at most."""
    if not math.isfinite(duration_s):
        raise ValueError(f"a duration is a finite number of seconds, not {duration_s}")
    if duration_s < 0:
        return f"-{format_duration(-duration_s)}"
    if round(duration_s, 1) < 10:
        return f"{duration_s:.2f} s" if round(duration_s, 2) < 1 else f"{duration_s:.1f} s"
    seconds = round(duration_s)
    if seconds < 60:
        return f"{seconds} s"
    if seconds < 3600:
        return f"{seconds // 60} min {seconds % 60} s"
    minutes = round(duration_s / 60)
    if minutes < 24 * 60:
        return f"{minutes // 60} h {minutes % 60} min"
    hours = round(duration_s / 3600)
    return f"{hours // 24} d {hours % 24} h"


def parse_size(text: str) -> int:
    """Bytes in ``80GB`` (decimal), ``1GiB`` (binary) or ``512MiB``; fractions are rounded.

    Raises ValueError, saying what is accepted.
    """
    found = _SIZE.fullmatch(text.strip())
    if found is None:
        raise ValueError(f"{_shown(text)} is not a size: {_SIZE_FORMS}")
    number, unit = found[1], found[2]
    if not unit:
        raise ValueError(f"{_shown(text)} has no unit: {_SIZE_FORMS}")
    factor = _BYTES_PER_UNIT.get(unit.lower())
    # "Gb" is gigabits to the people of networks, so a lower-case b after a capital is not guessed.
    if factor is None or (len(unit) > 1 and unit[0].isupper() and unit.endswith("b")):
        raise ValueError(f"{_shown(text)} has the unknown unit {_shown(unit)}: {_SIZE_FORMS}")
    if len(number) > 15:
        raise ValueError(f"{_shown(text)} has more digits than a size needs: {_SIZE_FORMS}")
    return round(float(number) * factor) if "." in number else int(number) * factor


def format_size(num_bytes: int) -> str:
    """``512 B``, ``1.5 GiB``: binary units, one decimal at most."""
    value, unit = float(num_bytes), "B"
    for larger in ("KiB", "MiB", "GiB", "TiB", "PiB"):
        if abs(value) < 1024:
            break
        value, unit = value / 1024, larger
    return f"{value:.1f}".removesuffix(".0") + f" {unit}"


def parse_gpus(text: str) -> tuple[int | None, str]:
    """Count and product in ``2xB200``, ``B200x2``, ``2 x B200`` or ``8×H100``.

    The count is None where only a product stands (``B200``). The product keeps its spelling, and
    an ``X`` that ends a name stays in it (``8xMI300X``).

    Raises ValueError, saying what is accepted.
    """
    stripped = " ".join(text.split())
    if first := _COUNT_FIRST.fullmatch(stripped):
        digits, product = first[1], first[2]
        if _COUNT_LAST.fullmatch(product) and not _AMBIGUOUS_INSTINCT.fullmatch(product):
            raise ValueError(f"{_shown(text)} has two counts: {_GPU_FORMS}")
    elif instinct := _AMBIGUOUS_INSTINCT.fullmatch(stripped):
        raise ValueError(
            f"{_shown(text)} may mean {instinct[1]} or {instinct[1]}X: "
            f"write the count first, such as 8x{instinct[1]}X"
        )
    elif last := _COUNT_LAST.fullmatch(stripped):
        product, digits = last[1], last[2]
    else:
        return None, _product(stripped, text)
    # Seven digits are compared as a number; more are too many however they are read.
    count = int(digits) if len(digits) <= 7 else MOST_GPUS + 1
    if not 1 <= count <= MOST_GPUS:
        raise ValueError(f"{_shown(text)}: the count must be from 1 to {MOST_GPUS}")
    return count, _product(product, text)


def _product(name: str, text: str) -> str:
    """The name of a product, or ValueError where it cannot be one."""
    if not name:
        raise ValueError(f"no product is named: {_GPU_FORMS}")
    if not _PRODUCT.fullmatch(name) or re.fullmatch(r"[\d ]*[xX]?", name):
        raise ValueError(f"{_shown(text)} does not name a product: {_GPU_FORMS}")
    return name.strip()


def _shown(text: str) -> str:
    """Quoted for a message: control characters escaped, long text cut."""
    return repr(text if len(text) <= 60 else f"{text[:57]}...")
