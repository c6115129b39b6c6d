"""How drivers and orders are read with the catalogue of accelerators."""

from __future__ import annotations

import pytest

from preflight.hardware.catalog import Product, identify, in_words, meant_by, products

BY_NAME = {product.name: product for product in products()}
EVERY = pytest.mark.parametrize("product", products(), ids=list(BY_NAME))


# --- which product a driver describes

SEEN = [  # names and sizes as drivers gave them in public reports and listings
    ("NVIDIA A100-SXM4-40GB", 39.59, "A100 SXM 40GB"),
    ("NVIDIA A100-SXM4-80GB", 80.0, "A100 SXM 80GB"),
    ("A100-SXM4-40GB", None, "A100 SXM 40GB"),  # drivers before R470 leave the vendor out
    ("NVIDIA A100-PCIE-40GB", 40.0, "A100 PCIe 40GB"),
    ("NVIDIA A100 80GB PCIe", 80.0, "A100 PCIe 80GB"),
    ("NVIDIA H100 80GB HBM3", 79.65, "H100 SXM 80GB"),
    ("NVIDIA H100 PCIe", 79.65, "H100 PCIe 80GB"),
    ("NVIDIA H100 NVL", 93.58, "H100 NVL 94GB"),
    ("NVIDIA H200", 140.4, "H200 SXM 141GB"),
    ("NVIDIA H200 NVL", 140.4, "H200 NVL 141GB"),
    ("NVIDIA GH200 480GB", 95.58, "GH200 96GB"),
    ("NVIDIA GH200 144G HBM3e", 143.39, "GH200 144GB"),
    ("NVIDIA B200", 179.06, "B200"),
    ("NVIDIA GB200", 185.03, "GB200"),
    ("NVIDIA B300 SXM6 AC", 268.59, "B300"),
    ("NVIDIA GB300", 277.55, "GB300"),
    ("NVIDIA GB10", None, "GB10"),
    ("NVIDIA GB10", 119.7, "GB10"),
    ("AMD Radeon 8060S Graphics", 31.0, "Ryzen AI Max"),  # the firmware's share of it
    ("NVIDIA L4", 22.49, "L4"),
    ("NVIDIA L4", 23.99, "L4"),  # without ECC
    ("NVIDIA L40S", 44.99, "L40S"),
    ("NVIDIA GeForce RTX 4090", 23.99, "RTX 4090"),
    ("NVIDIA GeForce RTX 5090", 31.84, "RTX 5090"),
    (
        "NVIDIA RTX PRO 6000 Blackwell Server Edition",
        95.59,
        "RTX PRO 6000 Blackwell Server Edition",
    ),
    ("AMD Instinct MI210", 63.98, "MI210"),
    ("AMD Instinct MI300X", 191.98, "MI300X"),
    ("AMD Instinct MI300X OAM", 191.98, "MI300X"),
    ("AMD Instinct MI350X", None, "MI350X"),
    # Cut-down and export variants are themselves.
    ("NVIDIA GeForce RTX 5090 D", 31.84, "RTX 5090 D"),
    ("NVIDIA GeForce RTX 4090 D", 23.99, "RTX 4090 D"),
    ("NVIDIA H20", 95.58, "H20 96GB"),
    ("NVIDIA H800", 79.65, "H800 SXM 80GB"),
    ("NVIDIA A800-SXM4-80GB", 80.0, "A800 SXM 80GB"),
    ("NVIDIA A100-SXM-64GB", None, "A100 SXM 64GB"),
]


@pytest.mark.parametrize(("name", "memory_GiB", "product"), SEEN)
def test_a_known_device(name: str, memory_GiB: float | None, product: str) -> None:
    """What a driver reports of a whole card of the catalogue names that card."""
    assert identify(name, memory_GiB=memory_GiB) is BY_NAME[product]


@EVERY
def test_every_driver_name_identifies_its_product(product: Product) -> None:
    """No entry is out of reach, with its own memory, architecture and PCI id."""
    for name in product.driver_names:
        assert identify(name) is product
        for pci_id in product.pci_ids or (None,):
            found = identify(
                name,
                memory_GiB=product.memory_GiB or product.device_memory_GB,
                architecture=product.architecture,
                pci_id=pci_id,
            )
            assert found is product


UNKNOWN = [
    "Tesla V100-PCIE-16GB",
    "Tesla V100-PCIE-32GB",
    "Tesla V100-SXM2-32GB",
    "Tesla T4",
    "Quadro RTX 6000",
    "TITAN RTX",
    "TITAN Xp",
    "NVIDIA A10",
    "NVIDIA GeForce ...",  # cut by nvidia-smi
    "NVIDIA GeForce RTX 3060",
    "NVIDIA RTX 5880 Ada Generation",
    "NVIDIA RTX A5000",
    "NVIDIA L40",
    "NVIDIA H100",  # other memories than 80 and 94 GB go by this name
    "NVIDIA A100-PG509-200",
    "NVIDIA GeForce RTX 4090 Laptop GPU",
    "NVIDIA A100-SXM4-80GB MIG 3g.40gb",
    "NVIDIA H100 80GB HBM3 MIG 1g.10gb",
    "GRID A100-40C",
    "NVIDIA H100-80C",
    "NVIDIA",
    "AMD Instinct MI300X VF",
    "AMD Instinct MI300X HF",
    "GPU-INSTINCT-MI300X",
    "AMD Instinct MI250X / MI250",  # one or the other
    "AMD Radeon RX 7600 XT",
    "gfx942",
    "unknown NVIDIA device",
    "AMD device 0x74a1",  # without its PCI id
    "",
]


@pytest.mark.parametrize("name", UNKNOWN)
def test_an_unknown_device(name: str) -> None:
    """Neither other products nor parts of one are taken for a product of the catalogue."""
    assert identify(name) is None


@pytest.mark.parametrize(
    ("name", "memory_GiB"),
    [
        ("NVIDIA GeForce RTX 4090", 47.99),  # rebuilt with twice the memory
        ("NVIDIA GB300", 250.69),  # a workstation's
        ("NVIDIA A100-SXM4-40GB", 80.0),
        ("NVIDIA A100-SXM4-80GB", 39.5),
        ("NVIDIA H100 NVL", 79.65),
        ("AMD Instinct MI300X", 24.0),  # one of eight partitions
        ("AMD Radeon RX 9060 XT", 7.98),
    ],
)
def test_memory_that_does_not_fit(name: str, memory_GiB: float) -> None:
    """A device with another memory than the product's is another product."""
    assert identify(name) is not None
    assert identify(name, memory_GiB=memory_GiB) is None


def test_an_architecture_that_does_not_fit() -> None:
    """A name on another architecture is a lie of somebody; features of a target do not count."""
    assert identify("NVIDIA B200", architecture="sm_90") is None
    found = identify("AMD Instinct MI300X", architecture="gfx942:sramecc+:xnack-")
    assert found is BY_NAME["MI300X"]


def test_a_pci_id_of_another_product() -> None:
    """A name that contradicts the PCI id names nothing; an id that nobody has tells nothing."""
    assert identify("NVIDIA H100 80GB HBM3", pci_id="10de:2324") is None  # H800's
    assert identify("NVIDIA H100 80GB HBM3", pci_id="10de:2330") is BY_NAME["H100 SXM 80GB"]
    assert identify("NVIDIA H100 80GB HBM3", pci_id="10de:ffff") is BY_NAME["H100 SXM 80GB"]


@pytest.mark.parametrize(
    ("name", "pci_id", "product"),
    [
        ("AMD device 0x74a1", "1002:74a1", "MI300X"),
        ("AMD Radeon Graphics", "1002:74A1", "MI300X"),
        ("", "10de:2330", "H100 SXM 80GB"),  # a card on the bus that no driver has taken
    ],
)
def test_a_device_without_a_name(name: str, pci_id: str, product: str) -> None:
    """Where the driver has no name, the PCI id tells the product, in either case of its digits."""
    assert identify(name, pci_id=pci_id) is BY_NAME[product]
    assert identify(name, pci_id=pci_id, memory_GiB=24.0) is None
    assert identify(name, pci_id=f"{pci_id[:5]}fffe") is None


def test_a_name_of_its_own_beats_the_pci_id() -> None:
    """A device that calls itself something else is not what its PCI id would make it."""
    assert identify("NVIDIA PG509-210", pci_id="10de:20b2") is None
    assert identify("AMD Instinct MI300X VF", pci_id="1002:74a1") is None


# --- what an order means

H100 = ("H100 SXM 80GB", "H100 PCIe 80GB", "H100 NVL 94GB")
A100_80 = ("A100 SXM 80GB", "A100 PCIe 80GB")
PRO_6000 = tuple(f"RTX PRO 6000 Blackwell {edition}" for edition in (
    "Server Edition", "Workstation Edition", "Max-Q Workstation Edition",
))  # fmt: skip

ORDERS: list[tuple[str, tuple[str, ...]]] = [
    ("H100", H100),
    ("nvidia h100 tensor core gpu", H100),
    ("H100 NVLink", H100),
    ("H100 80GB", ("H100 SXM 80GB", "H100 PCIe 80GB")),
    ("H100 HBM3", ("H100 SXM 80GB", "H100 NVL 94GB")),
    ("H100 SXM", ("H100 SXM 80GB",)),
    ("H100-SXM", ("H100 SXM 80GB",)),
    ("H100 SXM5 80GB", ("H100 SXM 80GB",)),
    ("h100sxm", ("H100 SXM 80GB",)),
    ("HGX H100", ("H100 SXM 80GB",)),
    ("NVIDIA H100 80GB HBM3", ("H100 SXM 80GB",)),
    ("NVIDIA-H100-80GB-HBM3", ("H100 SXM 80GB",)),
    ("H100 PCIe", ("H100 PCIe 80GB",)),
    ("H100 NVL", ("H100 NVL 94GB",)),
    ("H100 94GB", ("H100 NVL 94GB",)),
    ("H200", ("H200 SXM 141GB", "H200 NVL 141GB")),
    ("H200 SXM", ("H200 SXM 141GB",)),
    ("GH200", ("GH200 96GB", "GH200 144GB")),
    ("NVIDIA GH200 480GB", ("GH200 96GB",)),
    ("A100", ("A100 SXM 40GB", "A100 SXM 80GB", "A100 PCIe 40GB", "A100 PCIe 80GB")),
    ("A100 80GB", A100_80),
    ("A100-80", A100_80),
    ("80 GB A100", A100_80),
    ("nvidia-tesla-a100 80 GiB", A100_80),
    ("A100-SXM4-80GB", ("A100 SXM 80GB",)),
    ("A100 64GB", ("A100 SXM 64GB",)),
    ("B200", ("B200",)),
    ("HGX B200 192GB", ("B200",)),
    ("GB200", ("GB200",)),
    ("GB200 NVL72", ("GB200",)),
    ("B300", ("B300",)),
    ("GB300", ("GB300",)),
    ("GB10", ("GB10",)),
    ("DGX Spark", ("GB10",)),
    ("L4", ("L4",)),
    ("L40S", ("L40S",)),
    ("RTX 5090", ("RTX 5090",)),
    ("5090", ("RTX 5090",)),
    ("GeForce RTX 5090 32GB", ("RTX 5090",)),
    ("RTX 5090 D", ("RTX 5090 D",)),
    ("RTX 4090", ("RTX 4090",)),
    ("4090D", ("RTX 4090 D",)),
    ("RTX PRO 6000", PRO_6000),
    ("RTX PRO 6000 Blackwell Server Edition", PRO_6000[:1]),
    ("RTX PRO 6000 Max-Q", PRO_6000[2:]),
    ("MI300X", ("MI300X",)),
    ("Instinct MI300X", ("MI300X",)),
    ("AMD Instinct™ MI300X OAM", ("MI300X",)),
    ("MI300X 192GB", ("MI300X",)),
    ("MI300", ("MI300A", "MI300X")),
    ("MI250", ("MI250",)),
    ("MI250X", ("MI250X",)),
    ("MI250X 64GB", ("MI250X",)),  # one of its two devices
    ("AMD Instinct MI250X / MI250", ("MI250", "MI250X")),
    ("7900 XTX", ("Radeon RX 7900 XTX",)),
    ("W7900", ("Radeon PRO W7900",)),
    ("H20", ("H20 96GB",)),
    ("H800", ("H800 SXM 80GB", "H800 PCIe 80GB", "H800 NVL 94GB")),
]


@pytest.mark.parametrize(("text", "names"), ORDERS)
def test_an_order_means(text: str, names: tuple[str, ...]) -> None:
    """An order means every product that goes by its words, and no other."""
    assert tuple(product.name for product in meant_by(text)) == names


@pytest.mark.parametrize(
    "text",
    [
        "",
        " / ",
        "GPU",
        "NVIDIA",
        "SXM 80GB",
        "GH100",
        "H100 141GB",
        "AMD H100",
        "NVIDIA MI300X",
        "A100 PCIe 64GB",
        "A1000",
        "A10",
        "L40",
        "L",
        "RTX 6000",
        "RTX 6000 Ada",
        "RTX 4090 Laptop GPU",
        "RTX 5090 Ti",
        "MI300X VF",
        "B2000",
        "V100",
        "H100 MIG 1g.10gb",
        "whatever is cheap",
    ],
)
def test_an_order_of_something_else(text: str) -> None:
    """A word that a product does not go by makes the text mean another one, or none."""
    assert meant_by(text) == ()


@EVERY
def test_a_product_is_meant_by_each_of_its_names(product: Product) -> None:
    """Family, aliases and the driver's names lead to the product, and its own name to it alone."""
    for text in (product.family, *product.aliases, *product.driver_names, in_words(product)):
        assert product in meant_by(text)
        assert product in meant_by(text.upper().replace(" ", "-"))
    assert meant_by(product.name) == (product,)


def test_a_product_in_words() -> None:
    """A sentence names vendor and product."""
    assert in_words(BY_NAME["MI300X"]) == "AMD MI300X"
