"""Compute capability by name, for cards outside the catalogue: data of ``capabilities.toml``."""

from __future__ import annotations

import re
from functools import cache

from preflight.compat.tables import Entry, entries, read_table

_MAKER = re.compile(r"^(nvidia|geforce|tesla|quadro|\s)+")


class CardNames(Entry, frozen=True, kw_only=True):
    """Cards of one architecture."""

    architecture: str
    names: tuple[str, ...]
    """As drivers report them (``Tesla V100-SXM2-32GB``) and as orders call them (``V100``)."""
    data_center: bool = False
    """Whether forward compatibility packages work on them."""


@cache
def cards() -> tuple[CardNames, ...]:
    """Every entry of the table."""
    return entries(read_table("capabilities.toml"), "card", CardNames)


def card_named(text: str) -> CardNames | None:
    """The entry that has a name, without regard to case and NVIDIA's own words; None of none.

    The name must fit as a whole: ``A10`` is no ``A100``, ``RTX 3080`` no ``RTX 3080 Ti``.
    """
    wanted = _plain(text)
    return next((one for one in cards() if wanted in map(_plain, one.names)), None)


def _plain(name: str) -> str:
    return _MAKER.sub("", " ".join(name.lower().split()))
