"""Records at the edge: hostile strings, and a rack of 64 devices."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from preflight.records import Device, Matrix, Node, Package, Record, Series

from . import sample

TAG = "</script><script>alert(1)</script><img src=https://evil.example/x onerror=alert(2)>"
ANSI = "\x1b[31mred\x1b]0;title\x07\x9b2J"
BIDI = "\u202egnp.exe\u2066"
BREAKS = "first\nsecond\r\nthird\u2028fourth\x85fifth"
MARKDOWN = "a|b `code` *bold* [x](javascript:alert(1)) <b> & | ```"
LONG = "x" * 100_000
FALLING = ((-1.0, 3.0), (2.0, -5.0))
ALL = f"{TAG} {ANSI} {BIDI} {BREAKS} {MARKDOWN} \x00 \ufffe \ud7ff {{{{7*7}}}} {{% raw %}}"


def hostile() -> Record:
    """Every free string of the record is an attempt at every format."""
    name = f"gpu0\n{TAG}"
    device = Device(
        name=name,
        node=f"node\n{ANSI}",
        kind="cuda",
        product=ALL,
        uuid=ALL,
        pci=BIDI,
        memory_GiB=float("1e300"),
        architecture=MARKDOWN,
    )
    fail = sample.check(
        f"kernel.{TAG}\n",
        device=name,
        node=device.node,
        status="fail",
        reason=ALL,
        action=f"{ALL} {LONG}",
        evidence=f"{LONG}\n{ALL}",
        measurements=(
            sample.measured(ALL, None, MARKDOWN, limit=("<=", 1e-300, ALL)),
            sample.measured("tiny", 5e-324, "GB/s", n=-1, p10=1e308),
        ),
        series=(
            Series(name=ALL, x=TAG, y=TAG, x_unit="B", y_unit=TAG, points=FALLING),
            Series(name="empty", x="", y="", x_unit="", y_unit="", points=()),
            Series(name="one", x="x", y="y", x_unit="1", y_unit="1", points=((1.0, 0.0),)),
        ),
        matrices=(
            Matrix(name=ALL, rows=(TAG, LONG), columns=(BIDI,), unit=TAG, values=((1.0,),)),
            Matrix(name="none", rows=(), columns=(), unit="", values=()),
        ),
    )
    wide = sample.check("kernel.wide", device="显卡零", status="warn", reason="显存错误" * 200)
    packages = {
        f"evil\n--index-url https://evil.example/\n{TAG}": Package(version="1.0"),
        "torch": Package(version="1.0\n--pre"),
        "numpy": Package(version="2.2.6"),
        "Foo_Bar": Package(version="1.0"),
        "foo-bar": Package(version="2.0"),
        "back\\": Package(version="1\\"),
    }
    return sample.record(
        (fail, wide, sample.check(f"{ALL}.x"), sample.check("", status="skip", blocked_by=ALL)),
        run=sample.run(
            id=ALL, tool_version=ALL, injected=(ALL,), argv=("preflight", ALL), started=ALL
        ),
        order=sample.order(reference=f"coding: utf-16 {ALL}", provider=ALL, product=ALL, link=ALL),
        host=replace(sample.HOST, name=ALL, cpu=LONG),
        nodes=(Node(name=device.node), Node(name="node-b")),
        devices=(device, replace(device, name="显卡零")),
        versions=replace(sample.VERSIONS, packages=packages, torch=ALL, python=ALL),
    )


def rack(nodes: int = 8, devices: int = 8, checks: int = 20) -> Record:
    """Many devices with many checks each, most with measurements, a few with failures."""
    found = []
    cards = []
    for n in range(nodes):
        for d in range(devices):
            cards.append(sample.card(d, node=f"node-{n}"))
            found += [_rack_check(n, d, k) for k in range(checks)]
    collective = sample.check(
        "collective.pairs", node=None, matrices=(sample.pairs(nodes * devices, slow=3),)
    )
    return sample.record(
        (*found, collective),
        nodes=tuple(Node(name=f"node-{n}", rank=n) for n in range(nodes)),
        devices=tuple(cards),
        order=sample.order(nodes * devices, nodes=nodes),
    )


def _rack_check(n: int, d: int, k: int) -> Any:
    stage = ("driver", "arch", "kernel", "forward", "backward", "compile")[k % 6]
    bad = (n, d, k) == (3, 5, 2)
    limit = (">=", 640.0, "80% of the neighbours' median")
    return sample.check(
        f"{stage}.fact_{k}",
        node=f"node-{n}",
        device=f"gpu{d}",
        status="fail" if bad else "pass",
        reason="wrong result in row 17" if bad else "",
        action="Ask for another card." if bad else "",
        measurements=(
            sample.measured("matrix product", 700.0 + d + k, "TFLOP/s", n=50, limit=limit),
            sample.measured("step", 0.006 + d / 1e4, "s", n=200, p10=0.0058, p90=0.0071),
        ),
    )
