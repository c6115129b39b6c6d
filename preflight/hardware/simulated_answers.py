"""What the functions of a simulated NVML answer of one card, as tables by function."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from preflight.hardware.nvml_calls import Field
from preflight.hardware.simulated_cards import SimulatedCard, SimulatedLink

SUCCESS, INVALID_ARGUMENT, NOT_SUPPORTED = 0, 2, 3
"""nvmlReturn_t of nvml.h."""
Answer = Callable[..., tuple[int | None, ...]]
"""Takes the card and what selects, and gives a number for each place to fill; None where the card
does not support it."""


class RefusedError(Exception):
    """A function that returns an error code."""

    def __init__(self, code: int) -> None:
        super().__init__(code)
        self.code = code


def link_of(card: SimulatedCard, index: int) -> SimulatedLink:
    """A link by its number; refuses one that the card has not."""
    if not card.links:
        raise RefusedError(NOT_SUPPORTED)
    if index >= len(card.links):
        raise RefusedError(INVALID_ARGUMENT)
    return card.links[index]


def _far_end(card: SimulatedCard, index: int) -> tuple[int | None, ...]:
    link = link_of(card, index)
    return (link.remote if link.active else None,)


def _old_counter(card: SimulatedCard, index: int, counter: int) -> tuple[int | None, ...]:
    link = link_of(card, index)
    return ((link.replays, link.recoveries, link.crc_errors, 0)[counter],)


def _ecc_total(card: SimulatedCard, kind: int, since: int) -> tuple[int | None, ...]:
    totals = (
        (card.corrected, card.lifetime_corrected),
        (card.uncorrected, card.lifetime_uncorrected),
    )
    return (totals[kind][since] if card.ecc else None,)


def _ecc_mode(card: SimulatedCard) -> tuple[int | None, ...]:
    return (card.ecc, None if card.ecc is None else card.ecc_pending)


def _remapped(card: SimulatedCard) -> tuple[int | None, ...]:
    if card.banks is None:
        return (None,) * 4
    rows = (card.remapped_corrected, card.remapped_uncorrected)
    return (*rows, card.remap_pending, card.remap_failed)


def _milliwatts(watts: float) -> int:
    return round(watts * 1000)


ANSWERS: dict[str, Answer] = {
    "nvmlDeviceGetMinorNumber": lambda card: (card.minor,),
    "nvmlDeviceGetCudaComputeCapability": lambda card: card.capability,
    "nvmlDeviceGetPersistenceMode": lambda card: (card.persistence,),
    "nvmlDeviceGetComputeMode": lambda card: (card.compute_mode,),
    "nvmlDeviceGetMigMode": lambda card: (card.mig, card.mig),
    "nvmlDeviceGetMaxMigDeviceCount": lambda card: (card.mig_places,),
    "nvmlDeviceGetCurrPcieLinkGeneration": lambda card: (card.generation,),
    "nvmlDeviceGetCurrPcieLinkWidth": lambda card: (card.width,),
    "nvmlDeviceGetMaxPcieLinkGeneration": lambda card: (card.max_generation,),
    "nvmlDeviceGetMaxPcieLinkWidth": lambda card: (card.max_width,),
    "nvmlDeviceGetGpuMaxPcieLinkGeneration": lambda card: (card.card_max_generation,),
    "nvmlDeviceGetPcieReplayCounter": lambda card: (card.replays,),
    "nvmlDeviceGetEccMode": _ecc_mode,
    "nvmlDeviceGetTotalEccErrors": _ecc_total,
    "nvmlDeviceGetRemappedRows": _remapped,
    "nvmlDeviceGetRetiredPagesPendingStatus": lambda card: (
        None if card.retired is None else card.retirement_pending,
    ),
    "nvmlDeviceGetNvLinkState": lambda card, link: (link_of(card, link).active,),
    "nvmlDeviceGetNvLinkVersion": lambda card, link: (link_of(card, link).version,),
    "nvmlDeviceGetNvLinkRemoteDeviceType": _far_end,
    "nvmlDeviceGetNvLinkErrorCounter": _old_counter,
    "nvmlDeviceGetClockInfo": lambda card, kind: ((None, card.sm_MHz, card.memory_MHz)[kind],),
    "nvmlDeviceGetMaxClockInfo": lambda card, kind: (
        (None, card.sm_max_MHz, card.memory_max_MHz)[kind],
    ),
    "nvmlDeviceGetCurrentClocksEventReasons": lambda card: (card.slowed_by,),
    "nvmlDeviceGetCurrentClocksThrottleReasons": lambda card: (card.slowed_by,),
    "nvmlDeviceGetTemperature": lambda card, sensor: (card.card_C,),
    "nvmlDeviceGetTemperatureThreshold": lambda card, which: (
        (card.shutdown_C, card.slowdown_C)[which],
    ),
    "nvmlDeviceGetPowerUsage": lambda card: (_milliwatts(card.draw_W),),
    "nvmlDeviceGetEnforcedPowerLimit": lambda card: (_milliwatts(card.limit_W),),
    "nvmlDeviceGetPowerManagementDefaultLimit": lambda card: (_milliwatts(card.default_limit_W),),
    "nvmlDeviceGetPowerManagementLimitConstraints": lambda card: (
        0,
        _milliwatts(card.max_limit_W),
    ),
}
TEXTS = {
    "nvmlDeviceGetName": "name",
    "nvmlDeviceGetUUID": "uuid",
    "nvmlDeviceGetSerial": "serial",
    "nvmlDeviceGetBoardPartNumber": "board",
    "nvmlDeviceGetVbiosVersion": "vbios",
}
"""Function to the attribute that holds its answer."""


def field_value(card: SimulatedCard, field: int, scope: int) -> int | None:
    """Value of a field of nvmlDeviceGetFieldValues; None where the card does not support it."""
    if field in _OF_CARD:
        return _OF_CARD[field](card)
    if field in _OF_LINK:
        return _OF_LINK[field](link_of(card, scope))
    return None


_OF_CARD: dict[int, Callable[[SimulatedCard], int | None]] = {
    Field.MEMORY_TEMP: lambda card: card.memory_C,
    Field.NVLINK_SPEED_MBPS_COMMON: lambda card: card.links[0].rate_MBps if card.links else None,
    Field.NVLINK_LINK_COUNT: lambda card: len(card.links),
    Field.GET_GPU_RECOVERY_ACTION: lambda card: card.recovery_action,
}


def _zero_where_counted(link: SimulatedLink) -> int | None:
    return None if link.packet_errors is None else 0


_OF_LINK: dict[int, Callable[[SimulatedLink], int | None]] = {
    Field.NVLINK_ERROR_DL_REPLAY: lambda link: link.replays,
    Field.NVLINK_ERROR_DL_RECOVERY: lambda link: link.recoveries,
    Field.NVLINK_ERROR_DL_CRC: lambda link: link.crc_errors,
    Field.NVLINK_GET_SPEED: lambda link: link.rate_MBps if link.active else 0,
    Field.NVLINK_COUNT_RCV_ERRORS: lambda link: link.packet_errors,
    Field.NVLINK_COUNT_LOCAL_LINK_INTEGRITY_ERRORS: _zero_where_counted,
    Field.NVLINK_COUNT_LINK_RECOVERY_EVENTS: _zero_where_counted,
    Field.NVLINK_COUNT_EFFECTIVE_ERRORS: _zero_where_counted,
}


def far_bus(card: SimulatedCard, index: int) -> Any:
    """Address at the other end of a link, as NVML writes it; refuses where the link is down."""
    link = link_of(card, index)
    if not link.active:
        raise RefusedError(NOT_SUPPORTED)
    return link.remote_bus


def numbers(answer: Answer) -> Callable[..., int]:
    """A function that fills numbers: what is not a place to fill selects among them."""

    def function(handle: Any, *arguments: Any) -> int:
        places = [one._obj for one in arguments if hasattr(one, "_obj")]
        selects = [getattr(one, "value", one) for one in arguments if not hasattr(one, "_obj")]
        numbers = answer(handle.card, *selects)
        if None in numbers:
            return NOT_SUPPORTED
        for place, number in zip(places, numbers, strict=True):
            place.value = number
        return SUCCESS

    return function


def text_of(attribute: str) -> Callable[..., int]:
    """A function that writes one attribute of a card or a slice into a buffer."""

    def function(handle: Any, text: Any, length: Any) -> int:
        value = getattr(handle.card, attribute)
        return NOT_SUPPORTED if value is None else write(text, value)

    return function


def error_of(function: str, arguments: tuple[Any, ...]) -> int:
    """The error that the card or slice behind the first argument returns; 0 where it is sound."""
    card = getattr(arguments[0], "card", None) if arguments else None
    return 0 if card is None else card.broken.get(function, 0)


def write(text: Any, value: str | bytes) -> int:
    """Fill a buffer of characters."""
    text.value = as_bytes(value)
    return SUCCESS


def as_bytes(value: str | bytes) -> bytes:
    """As C has it; bytes may be no UTF-8."""
    return value.encode() if isinstance(value, str) else value
