"""Asking NVML: named before it is asked, and never an exception."""

from __future__ import annotations

from typing import Any

import pynvml
import pytest

from preflight.facts import ABSENCE_REASONS, Absence
from preflight.hardware.nvml_calls import Asking, Field, absence, checked, words_of
from preflight.hardware.protocol import silent
from preflight.hardware.simulated_nvml import SimulatedNvml


def asking(library: SimulatedNvml, say: Any = silent) -> Asking:
    """An Asking about the first card of an initialized library."""
    pynvml.nvmlInit()
    return Asking(say, "gpu0", pynvml.nvmlDeviceGetHandleByIndex(0))


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        (pynvml.NVML_ERROR_UNINITIALIZED, "failed"),
        (pynvml.NVML_ERROR_INVALID_ARGUMENT, "not supported"),
        (pynvml.NVML_ERROR_NOT_SUPPORTED, "not supported"),
        (pynvml.NVML_ERROR_NO_PERMISSION, "no permission"),
        (pynvml.NVML_ERROR_NOT_FOUND, "not found"),
        (pynvml.NVML_ERROR_DRIVER_NOT_LOADED, "driver not loaded"),
        (pynvml.NVML_ERROR_TIMEOUT, "deadline"),
        (pynvml.NVML_ERROR_LIBRARY_NOT_FOUND, "not found"),
        (pynvml.NVML_ERROR_FUNCTION_NOT_FOUND, "driver lacks the call"),
        (pynvml.NVML_ERROR_GPU_IS_LOST, "device lost"),
        (pynvml.NVML_ERROR_RESET_REQUIRED, "failed"),
        (pynvml.NVML_ERROR_OPERATING_SYSTEM, "no permission"),
        (pynvml.NVML_ERROR_LIB_RM_VERSION_MISMATCH, "library and kernel module differ"),
        (pynvml.NVML_ERROR_ARGUMENT_VERSION_MISMATCH, "driver lacks the call"),
        (28, "failed"),
        (pynvml.NVML_ERROR_UNKNOWN, "failed"),
        (31337, "failed"),
    ],
)
def test_every_error_has_one_of_our_reasons(code: int, reason: str) -> None:
    """An error of NVML becomes one of ABSENCE_REASONS, with the name of the call beside it.

    28 is GPU_NOT_FOUND, which nvidia-ml-py 12.535 has no name for.
    """
    library = SimulatedNvml()
    library.broken["nvmlDeviceGetSerial"] = code
    with library.put_in_place():
        found = asking(library).text("nvmlDeviceGetSerial")
    assert isinstance(found, Absence)
    assert (found.what, found.reason) == ("nvmlDeviceGetSerial", reason)
    assert reason in ABSENCE_REASONS
    assert found.detail


def test_the_vendors_own_words_stand_beside_the_reason() -> None:
    """A known code keeps the words of nvidia-ml-py, a newer one those of the library."""
    with SimulatedNvml().put_in_place():
        assert words_of(pynvml.NVML_ERROR_GPU_IS_LOST) == "GPU is lost"
        assert words_of(31337) == "error 31337 in the driver's own words"


def test_words_that_are_no_text_do_not_stop_us() -> None:
    """An error text that is no UTF-8 is told with replacement characters."""

    class Garbled(SimulatedNvml):
        def nvmlErrorString(self, code: int) -> bytes:
            return b"k\xffputt"

    with Garbled().put_in_place():
        assert words_of(31337) == "k\ufffdputt"


def test_without_a_library_an_unknown_code_has_words_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where nobody can be asked for the text, the number is told."""
    monkeypatch.setattr(pynvml, "nvmlLib", None)
    monkeypatch.setattr(pynvml, "_nvmlGetFunctionPointer_cache", {})
    assert "31337" in absence("nvmlInit", pynvml.NVMLError(31337)).detail


def test_a_name_that_is_no_text_is_still_a_name() -> None:
    """pynvml decodes strictly; bytes that are no UTF-8 are replaced, not raised."""
    library = SimulatedNvml()
    library.cards[0].name = b"NVIDIA H100 \xae"
    with library.put_in_place():
        assert asking(library).text("nvmlDeviceGetName") == "NVIDIA H100 \ufffd"


def test_an_empty_string_is_no_fact() -> None:
    """A serial number of no characters is absent."""
    library = SimulatedNvml()
    library.cards[0].serial = ""
    with library.put_in_place():
        found = asking(library).text("nvmlDeviceGetSerial")
    assert isinstance(found, Absence)
    assert found.reason == "not readable"


def test_a_call_is_said_before_it_is_made() -> None:
    """The name of the call and of the device is said while the call has not begun."""
    events: list[str] = []

    class Listening(SimulatedNvml):
        def called(self, function: str) -> None:
            events.append(f"called {function}")

    library = Listening()
    with library.put_in_place():
        one = asking(library, lambda call: events.append(f"said {call}"))
        events.clear()
        one.about("gpu0 link 3").whole("nvmlDeviceGetNvLinkState", 3)
        one.system("pid 7").text("nvmlSystemGetProcessName", 7)
    assert events == [
        "said nvmlDeviceGetNvLinkState gpu0 link 3",
        "called nvmlDeviceGetNvLinkState",
        "said nvmlSystemGetProcessName pid 7",
        "called nvmlSystemGetProcessName",
    ]


def test_a_call_that_nvidia_ml_py_does_not_know(monkeypatch: pytest.MonkeyPatch) -> None:
    """An older nvidia-ml-py costs the fact, and is not said to have been asked."""
    monkeypatch.delattr(pynvml, "nvmlDeviceGetSerial")
    said: list[str] = []
    library = SimulatedNvml()
    with library.put_in_place():
        found = asking(library, said.append).text("nvmlDeviceGetSerial")
    assert isinstance(found, Absence)
    assert found.reason == "driver lacks the call"
    assert "nvidia-ml-py is older" in found.detail
    assert said == []


def test_of_calls_with_one_meaning_the_first_that_exists_is_told() -> None:
    """A renamed call falls back to its old name, but not over an error of another kind."""
    calls = ("nvmlDeviceGetCurrentClocksEventReasons", "nvmlDeviceGetCurrentClocksThrottleReasons")

    def answer(library: SimulatedNvml) -> Any:
        with library.put_in_place():
            return asking(library).first(calls, read=int)

    renamed, older, denied = SimulatedNvml(), SimulatedNvml(), SimulatedNvml()
    renamed.lacking.add(calls[0])
    older.lacking |= set(calls)
    denied.broken[calls[0]] = pynvml.NVML_ERROR_NO_PERMISSION
    assert answer(renamed) == 1
    assert (answer(older).what, answer(older).reason) == (calls[0], "driver lacks the call")
    assert answer(denied).reason == "no permission"


def test_each_field_has_an_error_of_its_own() -> None:
    """One field that fails leaves the others of the same call."""
    library = SimulatedNvml()
    library.cards[0].broken_fields[Field.MEMORY_TEMP] = pynvml.NVML_ERROR_NO_PERMISSION
    with library.put_in_place():
        hot, action = asking(library).fields(Field.MEMORY_TEMP, Field.GET_GPU_RECOVERY_ACTION)
    assert isinstance(hot, Absence)
    assert (hot.what, hot.reason) == ("NVML_FI_DEV_MEMORY_TEMP", "no permission")
    assert action == 0


@pytest.mark.parametrize(
    ("kind", "member", "value"),
    [
        (pynvml.NVML_VALUE_TYPE_DOUBLE, "dVal", 2.5),
        (pynvml.NVML_VALUE_TYPE_UNSIGNED_INT, "uiVal", 4294967295),
        (pynvml.NVML_VALUE_TYPE_UNSIGNED_LONG, "ulVal", 2**63),
        (pynvml.NVML_VALUE_TYPE_UNSIGNED_LONG_LONG, "ullVal", 2**64 - 1),
        (pynvml.NVML_VALUE_TYPE_SIGNED_LONG_LONG, "sllVal", -5),
        (pynvml.NVML_VALUE_TYPE_SIGNED_INT, "siVal", -7),
    ],
)
def test_a_field_is_read_by_its_type(kind: int, member: str, value: float) -> None:
    """The member of the union that the driver names is the one that is read."""

    class Typed(SimulatedNvml):
        def nvmlDeviceGetFieldValues(self, handle: Any, count: Any, values: Any) -> int:
            values._obj[0].valueType = kind
            setattr(values._obj[0].value, member, value)
            return 0

    library = Typed()
    with library.put_in_place():
        assert asking(library).fields(Field.MEMORY_TEMP) == (value,)


def test_a_field_of_a_newer_type_is_not_guessed() -> None:
    """A type that the union does not hold makes the fact absent."""

    class Newer(SimulatedNvml):
        def nvmlDeviceGetFieldValues(self, handle: Any, count: Any, values: Any) -> int:
            values._obj[0].valueType = 99
            return 0

    library = Newer()
    with library.put_in_place():
        (found,) = asking(library).fields(Field.MEMORY_TEMP)
    assert isinstance(found, Absence)
    assert found.reason == "not readable"


def test_a_code_that_nvidia_ml_py_passed_on_is_looked_at() -> None:
    """Success is None, anything else an error."""
    assert checked(0) is None
    with pytest.raises(pynvml.NVMLError):
        checked(pynvml.NVML_ERROR_UNKNOWN)


@pytest.mark.parametrize("field", list(Field))
def test_a_number_of_a_field_is_that_of_nvidia_ml_py(field: Field) -> None:
    """Our numbers are those of the installed nvidia-ml-py, where it has the field at all."""
    assert getattr(pynvml, f"NVML_FI_DEV_{field.name}", int(field)) == field
