"""All that is known of one node before any library of the user was touched."""

from __future__ import annotations

import msgspec

from preflight.facts.absence import NOT_ASKED, Absence, Flag, Text
from preflight.facts.card import Card
from preflight.facts.host import HostFacts


class DeviceFile(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A device node through which the driver is reached."""

    path: str
    """``/dev/nvidia0``, ``/dev/kfd``, ``/dev/dri/renderD128``."""
    is_open: bool | Absence = NOT_ASKED
    """True where this process can open it for reading and writing; else why not: EACCES is
    ``no permission``, EINVAL and the like ``failed``, a missing file ``not found``."""


class Driver(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The kernel driver and what it says of itself."""

    version: Text = NOT_ASKED
    """Of the kernel module: ``580.65.06``."""
    library: Text = NOT_ASKED
    """Of the user-space library, where it tells."""
    cuda: Text = NOT_ASKED
    """Newest CUDA that it speaks."""
    flavour: Text = NOT_ASKED
    """``open`` or ``proprietary``."""
    rocm: Text = NOT_ASKED
    """Version of an installed ROCm."""
    confidential: Text = NOT_ASKED
    """Confidential computing: ``off``, ``on``, ``development``."""
    files: tuple[DeviceFile, ...] | Absence = NOT_ASKED


class Grid(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A word for each pair of devices."""

    names: tuple[str, ...]
    """``gpu0``, and after the accelerators the RDMA devices: ``mlx5_0``."""
    rows: tuple[tuple[str, ...], ...]
    """One row a name, one word a column: ``NV18``, ``XGMI``, ``PIX``, ``SYS``, ``X`` for itself."""


class BusCard(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An accelerator on the PCI bus, whether or not a driver has taken it."""

    pci: str
    """``0000:9a:00.0``."""
    vendor: str
    """``NVIDIA`` or ``AMD``."""
    pci_id: str
    """``10de:2330``."""
    driver: Text = NOT_ASKED
    """Kernel driver that has taken it: ``nvidia``, ``amdgpu``, ``vfio-pci``."""
    numa_node: int | None = None
    is_accelerator: Flag = NOT_ASKED
    """False for a display adapter of the board that computes nothing for us."""


class Machine(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One node."""

    node: str
    driver: Driver = Driver()
    cards: tuple[Card, ...] = ()
    """One for each device of the record, in the same order."""
    topology: Grid | None = None
    """How each pair of cards is connected; None where no driver tells."""
    peers: Grid | None = None
    """Whether peer-to-peer works for each ordered pair: ``OK``, or why not."""
    bus: tuple[BusCard, ...] | Absence = NOT_ASKED
    host: HostFacts = HostFacts()
    environment: dict[str, str] = msgspec.field(default_factory=dict)
    """Variables that steer the libraries under test, by an allow-list, secrets taken out."""
