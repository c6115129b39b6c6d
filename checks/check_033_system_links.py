"""Stage system: NVLink and XGMI between the cards."""

from __future__ import annotations

import statistics

import pytest

from preflight.compat.meshes import is_active, is_unread, missing_in_mesh
from preflight.facts import Card, Link, known
from preflight.harness import Result, Situation, Survey, at_least

Links = dict[str, tuple[Link, ...]]

SHARE_OF_RATE = 0.9
"""A link that trained at a lower generation, or with half its lanes, has half the rate (NVLink 4
and 5: 25 and 50 GB/s); drivers tell a raw rate a few percent above the nominal one."""
RATE_SOURCE = "90% of the catalogue's rate of a link in one direction"
NO_BRIDGE = "no bridge joins the cards"
MEND = (
    "show the seller this report: the node needs a reset of its fabric, a check of bridges and "
    "trays, or another card"
)
ERROR_ACTION = (
    "watch system.xid for XID 74 and 144 to 150; if it grows, show the seller this report"
)
ERROR_SOURCE = "DCGM, dcgm_gpu_hardware_limits.h: one NVLink error is one too many"


@pytest.mark.check(id="system.links", stage="system", deadline="10s")
def check_links(situation: Situation, result: Result) -> None:
    """Every NVLink or XGMI link of every card is up, at its rate and without errors."""
    survey = Survey.of_cards(situation, result)
    links = survey.ask("NVLink and XGMI", lambda card: card.links)
    _admit_unread(survey, links)
    if links and not any(links.values()) and not any(_is_linked(survey, name) for name in links):
        result.skip("no card has NVLink or XGMI")
    words = _judge_mesh(survey, links)
    for name, found in links.items():
        words.append(_judge_count(survey, name, links))
        _judge_rates(survey, name, found)
    if NO_BRIDGE in words and situation.order.link == "nvlink":
        action = "show the seller this report: NVLink was bought, the cards talk over PCIe"
        survey.warn("", NO_BRIDGE, action)
    elif set(words) == {NO_BRIDGE}:
        result.skip(f"{NO_BRIDGE}: they talk over PCIe")
    _judge_errors(survey, links)
    survey.settle("; ".join(dict.fromkeys(filter(None, words))))


def _admit_unread(survey: Survey, links: Links) -> None:
    """A link whose state nobody could read is no active link, and no inactive one either."""
    for name, found in links.items():
        for link in found:
            survey.read(f"state of link {link.index} of {name}", link.state)
            survey.read(f"errors of link {link.index} of {name}", link.errors)


def _is_linked(survey: Survey, name: str) -> bool:
    """Whether the catalogue is sure that the product is never without links."""
    product = survey.product(name)
    spec = product.link if product and "link" not in product.unverified else None
    return spec is not None and not spec.optional


def _judge_mesh(survey: Survey, links: Links) -> list[str]:
    """Fail cards without a link to one of the others, where each card has one to each."""
    meshed = [
        card
        for card in survey.cards
        if _is_meshed(survey, card) and not any(map(is_unread, links.get(card.device, ())))
    ]
    meshed = [card for card in meshed if card.device in links]
    addresses = {
        name: {name, survey.device(name).pci or ""} for name in (card.device for card in meshed)
    }
    for hive in {known(card.hive) for card in meshed}:
        names = [card.device for card in meshed if known(card.hive) == hive]
        for name, other in missing_in_mesh({n: links[n] for n in names}, addresses):
            survey.fail(name, f"no XGMI link to {other}", MEND)
    return [f"a mesh of {len(meshed)} cards"] if len(meshed) > 1 else []


def _is_meshed(survey: Survey, card: Card) -> bool:
    """Whether the card is whole (SPX), and of a product that links each to each."""
    product = survey.product(card.device)
    shape = product.link.shape if product and product.link else None
    parts = product.devices_per_card if product else 1
    return shape == "mesh" and parts == 1 and known(card.partition) in (None, "SPX")


def _judge_count(survey: Survey, name: str, links: Links) -> str:
    """Judge the number of active NVLinks; what is worth showing beside a pass."""
    if any(map(is_unread, links[name])):
        return ""
    active = sum(map(is_active, links[name]))
    product = survey.product(name)
    spec = product.link if product else None
    if spec is not None and spec.kind == "xgmi":
        survey.measure(f"{name} active links", active, "1")
        return ""
    if not active and len(survey.cards) == 1:
        return "its links are inactive, which a card alone does not need"
    sure = spec is not None and spec.links is not None and _is_linked(survey, name)
    alike = next(group for group in survey.alike(links) if name in group)
    most = max(sum(map(is_active, found)) for found in alike.values())
    wanted = spec.links if sure and spec and spec.links else most
    if not wanted:
        return NO_BRIDGE
    limit = at_least(
        wanted, f"the catalogue's {product.name}" if sure and product else "neighbours"
    )
    if active < wanted and not active and not sure:
        survey.warn(name, f"no link is active, its neighbours have {wanted}", MEND)
    elif active < wanted:
        survey.fail(name, f"{_which(links[name])}: {active} of {wanted} are active", MEND)
    survey.measure(f"{name} active links", active, "1", limit if active or sure else None)
    unknown = "" if product else f" ({survey.device(name).product} is not in the catalogue)"
    return f"{active} links a card{unknown}"


def _which(links: tuple[Link, ...]) -> str:
    inactive = [str(link.index) for link in links if not is_active(link)]
    if len(inactive) == 1:
        return f"link {inactive[0]} is inactive"
    return f"links {', '.join(inactive)} are inactive" if inactive else "links are missing"


def _judge_rates(survey: Survey, name: str, links: tuple[Link, ...]) -> None:
    """Compare rate and version of the active links with the catalogue."""
    product = survey.product(name)
    spec = product.link if product else None
    if spec is None:
        return
    active = [link for link in links if is_active(link)]
    rates = {link.index: rate for link in active if (rate := known(link.rate_GBps)) is not None}
    slowest = min(rates, key=lambda index: rates[index], default=0)
    if spec.kind == "xgmi" and rates:  # KFD derives its figure, some kernels from an old generation
        survey.measure(f"{name} slowest link, as KFD has it", rates[slowest], "GB/s")
    elif spec.rate_GBps and rates:
        limit = at_least(SHARE_OF_RATE * spec.rate_GBps, RATE_SOURCE)
        if rates[slowest] < limit.value:
            what = f"link {slowest} runs at {rates[slowest]:.3g} of {spec.rate_GBps:g} GB/s"
            survey.fail(name, what, MEND)
        survey.measure(f"{name} slowest link", rates[slowest], "GB/s", limit)
    versions = {version for link in active if (version := known(link.version)) is not None}
    if spec.version and versions - {spec.version}:
        what = f"NVLink {', '.join(sorted(versions))}, and {spec.version} is usual"
        survey.warn(name, what, MEND)


def _judge_errors(survey: Survey, links: Links) -> None:
    """Warn of links with errors, beside the count of the neighbours."""
    counts = {
        name: {link.index: n for link in found if (n := known(link.errors)) is not None}
        for name, found in links.items()
    }
    totals = {name: sum(by_link.values()) for name, by_link in counts.items() if by_link}
    for name, total in totals.items():
        survey.measure(f"{name} link errors", total, "1")
        if total:
            where = ", ".join(f"{n} on link {index}" for index, n in counts[name].items() if n)
            others = [n for key, n in totals.items() if key != name]
            beside = f"; the others' median is {statistics.median(others):g}" if others else ""
            survey.warn(name, f"link errors: {where}{beside} ({ERROR_SOURCE})", ERROR_ACTION)
