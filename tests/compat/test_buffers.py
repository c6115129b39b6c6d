"""Bytes that are read piece by piece."""

from __future__ import annotations

import pytest

from preflight.compat.buffers import PAGE, skip_zeros


@pytest.mark.parametrize("zeros", [0, 1, 7, PAGE - 1, PAGE, PAGE + 1, 3 * PAGE])
def test_the_first_byte_after_zeros_is_found(zeros: int) -> None:
    """Zeros are passed over, whatever their number."""
    data = b"\x01" + b"\0" * zeros + b"\x02\0\0"
    assert skip_zeros(data, 1, len(data), most=1 << 20) == 1 + zeros


def test_zeros_to_the_end_lead_to_the_end() -> None:
    """Padding after the last thing is nothing."""
    assert skip_zeros(b"\0" * 100, 0, 60, most=1 << 20) == 60
    assert skip_zeros(b"", 0, 0, most=0) == 0


def test_more_zeros_than_anyone_pads_are_not_read() -> None:
    """A file of zeros is given up after the bound, however large it is."""

    class Endless:
        """2**60 zeros; counts what is read of them."""

        read = 0

        def __len__(self) -> int:
            return 2**60

        def __getitem__(self, place: slice) -> bytes:
            size = place.stop - place.start
            self.read += size
            return b"\0" * size

    zeros = Endless()
    assert skip_zeros(zeros, 0, len(zeros), most=10 * PAGE) is None
    assert zeros.read <= 12 * PAGE
