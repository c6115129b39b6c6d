"""Which card a KFD node is: its address, product, number, size and architecture."""

from __future__ import annotations

from dataclasses import dataclass

from preflight.facts import Absence, Number, Text, Whole, known
from preflight.hardware.amd_pcie import ADDRESS
from preflight.hardware.amd_products import product_name
from preflight.hardware.attributes import unreadable, whole, word
from preflight.hardware.files import Files
from preflight.hardware.kfd import KfdNode
from preflight.records import Device

GIB = 1024**3
PCI_DEVICES = "/sys/bus/pci/devices"
RENDER_CLASS = "/sys/class/drm/renderD"
UNIQUE_ID = "[0-9a-fA-F]{1,16}"


@dataclass(frozen=True)
class Identity:
    """A device of the record, and where the facts of its card lie."""

    device: Device
    kfd: KfdNode
    folder: str
    """In sysfs, ``/sys/bus/pci/devices/0000:05:00.0``."""
    absences: tuple[Absence, ...]
    """What of ``device`` could not be read."""

    @property
    def render_minor(self) -> int | None:
        """128 of ``/dev/dri/renderD128``; None where the kernel does not tell it."""
        return known(self.kfd.properties.positive("drm_render_minor"))


def identify(files: Files, kfd: KfdNode, index: int, node: str, driver: str | None) -> Identity:
    """The device ``gpu<index>`` of the host ``node``."""
    name = f"gpu{index}"
    pci = _address(files, kfd)
    folder = _folder(kfd, pci)
    memory_GiB, architecture = _memory_GiB(kfd), _architecture(kfd)
    uuid = _uuid(files, folder, kfd)
    facts = {
        "PCI address": pci,
        "UUID": uuid,
        "memory": memory_GiB,
        "architecture": architecture,
    }
    device = Device(
        name=name,
        node=node,
        kind="hip",
        product=_product(files, folder, kfd),
        uuid=known(uuid),
        pci=known(pci),
        memory_GiB=known(memory_GiB),
        architecture=known(architecture),
        driver=driver,
    )
    absences = tuple(
        Absence(what=f"{what} of {name}", reason=fact.reason, detail=f"{fact.what} {fact.detail}")
        for what, fact in facts.items()
        if isinstance(fact, Absence)
    )
    return Identity(device=device, kfd=kfd, folder=folder, absences=absences)


def gfx_name(version: int) -> str:
    """``gfx942`` from 90402: major, two digits of minor, two of stepping, the last two in hex."""
    return f"gfx{version // 10000}{version // 100 % 100:x}{version % 100:x}"


def _address(files: Files, kfd: KfdNode) -> Text:
    """Of the PCI function that is the card; the parts of a divided card have the same.

    ``location_id`` holds bus, device and function, but the driver of an MI300 adds to it the
    number of the part, so that the function may be one that does not exist.
    """
    location = kfd.properties.whole("location_id")
    domain = kfd.properties.whole("domain")
    if isinstance(domain, Absence) and domain.reason == "not found":
        domain = 0  # an older kernel, which has no such line
    if isinstance(location, Absence) or isinstance(domain, Absence):
        return _address_of_render_node(files, kfd)
    slot = f"{domain:04x}:{location >> 8 & 0xFF:02x}:{location >> 3 & 0x1F:02x}"
    exact, first = f"{slot}.{location & 7}", f"{slot}.0"
    if not files.exists(f"{PCI_DEVICES}/{exact}") and files.exists(f"{PCI_DEVICES}/{first}"):
        return first
    return exact


def _address_of_render_node(files: Files, kfd: KfdNode) -> Text:
    minor = kfd.properties.positive("drm_render_minor")
    if isinstance(minor, Absence):
        return minor
    path = f"{RENDER_CLASS}{minor}/device"
    target = files.target(path)
    if isinstance(target, Absence) or ADDRESS.fullmatch(target):
        return target
    return unreadable(path, target)


def _folder(kfd: KfdNode, pci: Text) -> str:
    """Where nothing tells the card one that does not exist, so that each fact is ``not found``."""
    if isinstance(pci, str):
        return f"{PCI_DEVICES}/{pci}"
    minor = known(kfd.properties.positive("drm_render_minor"))
    return f"{RENDER_CLASS}{minor}/device" if minor else f"{PCI_DEVICES}/unknown"


def _product(files: Files, folder: str, kfd: KfdNode) -> str:
    """As the board tells it, else as libdrm calls the PCI device; virtual cards tell nothing."""
    written = word(files, f"{folder}/product_name")
    if isinstance(written, str):
        return written
    device_id = known(kfd.properties.positive("device_id"))
    if device_id is None:
        device_id = known(whole(files, f"{folder}/device", least=1))
    if device_id is None:
        return "unknown AMD device"
    revision = known(whole(files, f"{folder}/revision", least=0))
    return product_name(files, device_id, revision) or f"AMD device {device_id:#06x}"


def _uuid(files: Files, folder: str, kfd: KfdNode) -> Text:
    """``GPU-`` and sixteen digits, as ROCR_VISIBLE_DEVICES takes it."""
    unique = kfd.properties.positive("unique_id")
    if isinstance(unique, int):
        return f"GPU-{unique:016x}"
    written = word(files, f"{folder}/unique_id", UNIQUE_ID)
    if isinstance(written, Absence) or not int(written, 16):
        return unique
    return f"GPU-{int(written, 16):016x}"


def _memory_GiB(kfd: KfdNode) -> Number:
    size: Whole = kfd.memory_bytes
    return size if isinstance(size, Absence) else round(size / GIB, 2)


def _architecture(kfd: KfdNode) -> Text:
    """Older kernels do not tell it."""
    version = kfd.properties.positive("gfx_target_version")
    return version if isinstance(version, Absence) else gfx_name(version)
