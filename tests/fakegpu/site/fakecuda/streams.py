"""torch.cuda.Stream and Event over torch's own streams of any device."""

import contextlib

import torch

from .binding import index_of


class Stream(torch.Stream):
    """A stream of a fake device; what it is given has happened when the call returns."""

    def __new__(cls, device=None, priority=0, **numbers):
        """A stream by its numbers, or a new one."""
        if "stream_id" in numbers:
            return super().__new__(cls, **numbers)
        return super().__new__(
            cls, device=torch.device("cuda", index_of(device)), priority=priority
        )

    @property
    def cuda_stream(self):
        """Stands for the pointer."""
        return self.stream_id

    def wait_stream(self, other):
        """Wait for what ``other`` has been given."""
        self.wait_event(other.record_event())


class Event(torch.Event):
    """An event of a fake device, with the clock of the host."""

    def __new__(cls, enable_timing=False, blocking=False, interprocess=False, external=False):
        """An event; none of these needs more than the first."""
        return super().__new__(cls, device="cuda", enable_timing=enable_timing)


def _wrapped(stream):
    return Stream(
        stream_id=stream.stream_id,
        device_index=stream.device_index,
        device_type=stream.device_type,
    )


def _current(device=None):
    return _wrapped(torch.accelerator.current_stream(index_of(device)))


def _default(device=None):
    cuda = int(torch._C._autograd.DeviceType.CUDA)
    return Stream(stream_id=0, device_index=index_of(device), device_type=cuda)


@contextlib.contextmanager
def _chosen(stream):
    with contextlib.nullcontext() if stream is None else stream:
        yield


def _numbers_of_current(device):
    stream = torch.accelerator.current_stream(device)
    return stream.stream_id, stream.device_index, stream.device_type


def _set_by_numbers(stream_id, device_index, device_type):
    torch.accelerator.set_stream(
        torch.Stream(stream_id=stream_id, device_index=device_index, device_type=device_type)
    )


def install():
    """Put them into torch.cuda and below it."""
    torch.cuda.Stream, torch.cuda.Event = Stream, Event
    torch.cuda.current_stream, torch.cuda.default_stream = _current, _default
    torch.cuda.stream, torch.cuda.set_stream = _chosen, torch.accelerator.set_stream
    torch._C._cuda_getCurrentStream = _numbers_of_current
    torch._C._cuda_getCurrentRawStream = lambda index: 0
    torch._C._cuda_setStream = _set_by_numbers
