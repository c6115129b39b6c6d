"""The data of the catalogue of accelerators, and what is refused of them."""

from __future__ import annotations

import re
from collections import Counter

import pytest

from preflight.hardware.catalog import (
    DATA,
    Product,
    decode_catalog,
    identify,
    products,
)

BY_NAME = {product.name: product for product in products()}
EVERY = pytest.mark.parametrize("product", products(), ids=list(BY_NAME))

DTYPES = {
    "fp32", "fp32_matrix", "tf32", "bf16", "fp16", "fp8", "fp6", "fp4", "int8",
    "fp16_fp16acc", "fp8_fp16acc",
}  # fmt: skip


# --- the data


@EVERY
def test_an_entry_is_well_formed(product: Product) -> None:
    """Identifiers have the form in which drivers and sysfs give them, and numbers are positive."""
    architecture = r"sm_\d{2,3}" if product.vendor == "NVIDIA" else r"gfx[0-9a-f]{3,4}"
    assert re.fullmatch(architecture, product.architecture)
    prefix = {"NVIDIA": "10de", "AMD": "1002"}[product.vendor]
    assert all(re.fullmatch(f"{prefix}:[0-9a-f]{{4}}", one) for one in product.pci_ids)
    assert product.driver_names
    assert all(name.startswith(product.vendor) for name in product.driver_names)
    assert set(product.peaks_TFLOPs) <= DTYPES
    numbers = (
        product.memory_GB, product.memory_GiB, product.memory_bandwidth_GBps, product.power_W,
        product.pcie_generation, product.pcie_width, *product.peaks_TFLOPs.values(),
    )  # fmt: skip
    assert all(number > 0 for number in numbers if number is not None)


@EVERY
def test_an_entry_says_where_it_comes_from(product: Product) -> None:
    """Sources are sentences, and whatever is not read in one is owned to."""
    assert product.sources
    assert all(" " in source for source in product.sources)
    only_known = "known in the trade, read in no source" in product.sources
    assert only_known <= bool(product.unverified)
    assert (product.standing == "verified") == (not product.unverified)


@EVERY
def test_reported_memory_is_near_the_advertised(product: Product) -> None:
    """A driver's GiB lie between the advertised number read as decimal and read as binary."""
    if product.memory_GiB is not None:
        size = product.device_memory_GB
        # The sixteenth that ECC takes of GDDR, and B200, which is advertised by two sizes.
        assert 0.93 * size <= product.memory_GiB <= size


def test_no_two_products_share_name_and_memory() -> None:
    """What a driver tells of a device is enough to know it by."""
    seen = Counter(
        (name.lower(), product.memory_GB) for product in products() for name in product.driver_names
    )
    assert [key for key, count in seen.items() if count > 1] == []


@pytest.mark.parametrize(
    ("name", "per_direction_GBps"),
    [
        ("A100 SXM 80GB", 300),
        ("A100 PCIe 80GB", 300),
        ("A30", 100),
        ("H100 SXM 80GB", 450),
        ("H100 PCIe 80GB", 300),
        ("H100 NVL 94GB", 300),
        ("H200 SXM 141GB", 450),
        ("GH200 96GB", 450),
        ("B200", 900),
        ("GB300", 900),
        ("MI250X", 400),
        ("MI300X", 448),
        ("MI325X", 448),
        ("MI355X", 535.5),
    ],
)
def test_links_add_up_to_what_is_advertised(name: str, per_direction_GBps: float) -> None:
    """Number of links times the rate of one is half of the advertised total of both directions."""
    link = BY_NAME[name].link
    assert link is not None
    assert link.links is not None
    assert link.rate_GBps is not None
    assert link.links * link.rate_GBps == pytest.approx(per_direction_GBps)


@EVERY
def test_a_bridge_is_optional(product: Product) -> None:
    """No card that needs a bridge for its links is blamed for not having one."""
    link = product.link
    if link is not None:
        assert link.optional == (link.shape == "bridge" or product.family == "GH200")
        assert (link.version is None) == (link.kind == "xgmi")


@pytest.mark.parametrize(
    ("name", "module"),
    [
        ("A100 SXM 80GB", "either"),
        ("L40S", "either"),
        ("H100 SXM 80GB", "either"),
        ("GH200 96GB", "open"),
        ("B200", "open"),
        ("RTX 5090", "open"),
        ("GB10", "open"),
        ("MI300X", None),
    ],
)
def test_grace_hopper_and_blackwell_need_the_open_module(name: str, module: str | None) -> None:
    """The architecture decides which kernel module drives a card, Grace Hopper on its own."""
    assert BY_NAME[name].kernel_module == module


def test_a_product_overrides_its_architecture() -> None:
    """B200 has a driver floor of its own, above that of its architecture."""
    assert BY_NAME["GB200"].first_driver == "570.26"
    assert BY_NAME["B200"].first_driver == "570.133.20"
    assert BY_NAME["B200"].first_cuda == "12.8"


def test_a_package_of_two_devices() -> None:
    """An MI250X is one card of 128 GB, of which the driver shows two halves."""
    card = BY_NAME["MI250X"]
    assert (card.memory_GB, card.devices_per_card, card.device_memory_GB) == (128, 2, 64)
    assert identify("AMD Instinct MI250X", memory_GiB=63.98) is card
    assert identify("AMD Instinct MI250X", memory_GiB=127.97) is None


# --- a catalogue that is broken

ENTRY = """
[sources]
sheet = "a data sheet"
[architecture.sm_90]
first_cuda = "11.8"
sources = ["sheet"]
[[product]]
name = "X1"
vendor = "NVIDIA"
family = "X1"
form = "PCIe"
architecture = "sm_90"
memory_GB = 80
sources = ["sheet"]
standing = "verified"
"""


def test_a_whole_catalogue() -> None:
    """An entry takes over what holds for its architecture, and names each source once."""
    (product,) = decode_catalog(ENTRY)
    assert (product.name, product.first_cuda) == ("X1", "11.8")
    assert product.sources == ("a data sheet",)


def test_doubts_about_an_architecture_are_inherited_with_the_value() -> None:
    """A doubtful floor is doubtful in each product that takes it over, and in no other."""
    doubtful = ENTRY.replace(
        'first_cuda = "11.8"', 'first_cuda = "11.8"\nunverified = ["first_cuda"]'
    )
    inheriting = doubtful.replace('"verified"', '"partly verified"')
    (product,) = decode_catalog(inheriting)
    assert product.unverified == ("first_cuda",)
    (product,) = decode_catalog(doubtful + 'first_cuda = "12.0"\n')
    assert product.unverified == ()


@pytest.mark.parametrize(
    ("right", "wrong", "key"),
    [
        ("memory_GB = 80", 'memory_GB = "80"', "memory_GB"),
        ("memory_GB = 80", "", "memory_GB"),
        ("memory_GB = 80", "memory_GB = 80\nmemroy_GiB = 80", "memroy_GiB"),
        ('vendor = "NVIDIA"', 'vendor = "ATI"', "vendor"),
        ('sources = ["sheet"]\nstanding', 'sources = ["shet"]\nstanding', "sources: 'shet'"),
        ('standing = "verified"', 'standing = "sure"', "standing"),
        ('standing = "verified"', 'standing = "unverified"', "standing"),
        (
            'standing = "verified"',
            'standing = "unverified"\nunverified = ["memory"]',
            "unverified: there is no field 'memory'",
        ),
        ('standing = "verified"', 'standing = "verified"\nunverified = ["form"]', "standing"),
        ('first_cuda = "11.8"', "first_cuda = 11.8", "first_cuda"),
    ],
)
def test_a_broken_entry_is_named(right: str, wrong: str, key: str) -> None:
    """Whoever breaks an entry reads which one and at which key."""
    assert right in ENTRY
    with pytest.raises(ValueError, match=f"X1: .*{re.escape(key)}"):
        decode_catalog(ENTRY.replace(right, wrong))


def test_a_name_or_pci_id_stands_once() -> None:
    """Two entries of one name, or with one PCI id, are refused."""
    entry = ENTRY[ENTRY.index("[[product]]") :]
    with pytest.raises(ValueError, match="X1: name: 'X1' stands twice"):
        decode_catalog(ENTRY + entry)
    with_id = 'pci_ids = ["10de:0001"]\n'
    with pytest.raises(ValueError, match="X2: pci_ids: '10de:0001' stands twice"):
        decode_catalog(ENTRY + with_id + entry.replace('"X1"', '"X2"') + with_id)


def test_every_source_is_cited() -> None:
    """No source stands in the file that no entry uses."""
    cited = {source for product in products() for source in product.sources}
    listed = re.findall(r'^\w+ = "(.*)"$', DATA.read_text("utf-8").split("\n\n")[1], re.M)
    assert listed
    assert cited == set(listed)
