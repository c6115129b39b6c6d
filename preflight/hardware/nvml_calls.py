"""Asking NVML: each call is named before it is made, and an error is an Absence, never raised."""

from __future__ import annotations

import enum
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import pynvml

from preflight.facts import Absence
from preflight.hardware.protocol import Say

T = TypeVar("T")

LACKING = "driver lacks the call"
_REASONS = {
    2: "not supported",  # INVALID_ARGUMENT: a link, sensor or field that this card does not have
    3: "not supported",
    4: "no permission",
    6: "not found",
    9: "driver not loaded",
    10: "deadline",
    12: "not found",  # the library itself
    13: LACKING,
    15: "device lost",
    17: "no permission",  # OPERATING_SYSTEM: a device cgroup has blocked the request
    18: "library and kernel module differ",
    22: "not supported",  # VGPU_ECC_NOT_SUPPORTED
    25: LACKING,  # ARGUMENT_VERSION_MISMATCH: the struct is newer than the driver
    26: "not supported",  # DEPRECATED
}
"""nvmlReturn_t of nvml.h, as numbers: nvidia-ml-py 12.535 has no names for the newer ones. What is
not here is ``failed``, with the vendor's words beside it."""


class Field(enum.IntEnum):
    """Field identifiers of nvml.h (NVML_FI_DEV_...), which never change their numbers."""

    MEMORY_TEMP = 82
    NVLINK_SPEED_MBPS_COMMON = 90
    NVLINK_LINK_COUNT = 91
    NVLINK_ERROR_DL_REPLAY = 161
    NVLINK_ERROR_DL_RECOVERY = 162
    NVLINK_ERROR_DL_CRC = 163
    NVLINK_GET_SPEED = 164
    NVLINK_COUNT_RCV_ERRORS = 208
    NVLINK_COUNT_LOCAL_LINK_INTEGRITY_ERRORS = 211
    NVLINK_COUNT_LINK_RECOVERY_EVENTS = 215
    NVLINK_COUNT_EFFECTIVE_ERRORS = 219
    GET_GPU_RECOVERY_ACTION = 230


_UNION_MEMBERS = ("dVal", "uiVal", "ulVal", "ullVal", "sllVal", "siVal", "usVal")
"""Members of nvmlValue_t by nvmlValueType_t."""


@dataclass(frozen=True)
class Asking:
    """Asks about one device, or about the system where there is no handle."""

    say: Say
    of: str = ""
    """What is asked about, as the supervisor is to name it: ``gpu3 link 4``."""
    handle: Any = None

    def about(self, of: str, handle: Any = None) -> Asking:
        """The same for another thing; without a handle this one's device stays."""
        return replace(self, of=of, handle=self.handle if handle is None else handle)

    def system(self, of: str = "") -> Asking:
        """The same for calls that take no device."""
        return replace(self, of=of, handle=None)

    def value(self, call: str, *arguments: Any, read: Callable[[Any], T]) -> T | Absence:
        """What ``read`` makes of the answer to pynvml's function ``call``.

        ``read`` may raise NVMLError for a code that pynvml did not look at, and ValueError for an
        answer that makes no sense. A call that never returns has been said.
        """
        function = getattr(pynvml, call, None)
        if function is None:
            detail = "the installed nvidia-ml-py is older than this call"
            return Absence(what=call, reason=LACKING, detail=detail)
        self.say(f"{call} {self.of}".strip())
        given = arguments if self.handle is None else (self.handle, *arguments)
        try:
            return read(_answer(function, given))
        except pynvml.NVMLError as error:
            return absence(call, error)
        except ValueError as error:
            return Absence(what=call, reason="not readable", detail=str(error))

    def first(self, calls: Sequence[str], *arguments: Any, read: Callable[[Any], T]) -> T | Absence:
        """The answer of the first of several calls of one meaning that the driver has."""
        found = self.value(calls[0], *arguments, read=read)
        for call in calls[1:]:
            if not (isinstance(found, Absence) and found.reason == LACKING):
                break
            later = self.value(call, *arguments, read=read)
            if not (isinstance(later, Absence) and later.reason == LACKING):
                found = later
        return found

    def whole(self, call: str, *arguments: Any) -> int | Absence:
        """A number without further meaning."""
        return self.value(call, *arguments, read=int)

    def flag(self, call: str, *arguments: Any) -> bool | Absence:
        """NVML's enabled or disabled."""
        return self.value(call, *arguments, read=bool)

    def word(self, call: str, *arguments: Any, words: dict[int, str]) -> str | Absence:
        """The word for a number of an enumeration."""
        return self.value(call, *arguments, read=lambda number: worded(number, words))

    def text(self, call: str, *arguments: Any) -> str | Absence:
        """A string; an empty one is ``not readable``."""
        return self.value(call, *arguments, read=_filled)

    def fields(self, *fields: Field, scope: int = 0) -> tuple[int | float | Absence, ...]:
        """Values of fields, each with an error of its own; ``scope`` is a link where one is meant.

        NVML answers the call with success although single fields have failed.
        """
        call = "nvmlDeviceGetFieldValues"
        found = self.value(call, [(int(one), scope) for one in fields], read=list)
        if isinstance(found, Absence):
            return (found,) * len(fields)
        return tuple(_field(one, answer) for one, answer in zip(fields, found, strict=True))


def absence(call: str, error: Any) -> Absence:
    """Why a call has failed, in one of our words and in the vendor's."""
    return Absence(what=call, reason=_REASONS.get(error.value, "failed"), detail=_words(error))


def as_is(answer: Any) -> Any:
    """The answer itself: a handle, or a struct to be looked into."""
    return answer


def checked(code: int) -> None:
    """Raises NVMLError for a return code that is no success; pynvml does not look at each."""
    if code:
        raise pynvml.NVMLError(code)


def words_of(code: int) -> str:
    """The vendor's own words for a return code."""
    return _words(pynvml.NVMLError(code))


def worded(number: int, words: dict[int, str]) -> str:
    """The word for a number of an enumeration; a newer number is told as such."""
    return words.get(number, f"unknown ({number})")


def member_text(structure: Any, member: str) -> str:
    """A string of a struct of pynvml, whose attributes decode strictly."""
    try:
        return decoded(getattr(structure, member))
    except UnicodeDecodeError as error:
        return decoded(error.object)


def decoded(value: str | bytes) -> str:
    """Text of what NVML has written; bytes that are no UTF-8 are replaced."""
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else value


def _answer(function: Callable[..., Any], arguments: Sequence[Any]) -> Any:
    try:
        return function(*arguments)
    except UnicodeDecodeError as error:
        return error.object  # a name that pynvml's wrapper could not decode is still a name


def _filled(value: str | bytes) -> str:
    text = decoded(value).strip()
    if not text:
        raise ValueError("the driver tells an empty string")
    return text


def _field(field: Field, answer: Any) -> int | float | Absence:
    what = f"NVML_FI_DEV_{field.name}"
    if answer.nvmlReturn:
        return absence(what, pynvml.NVMLError(answer.nvmlReturn))
    kind = answer.valueType
    if kind >= len(_UNION_MEMBERS) or not hasattr(answer.value, _UNION_MEMBERS[kind]):
        return Absence(what=what, reason="not readable", detail=f"a value of type {kind}")
    value: int | float = getattr(answer.value, _UNION_MEMBERS[kind])
    return value


def _words(error: Any) -> str:
    try:
        return str(error)
    except UnicodeDecodeError as undecodable:
        return decoded(undecodable.object)
