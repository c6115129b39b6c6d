from __future__ import annotations

import base64
import hashlib
import re
from html.parser import HTMLParser

import pytest

from preflight.records import decode_record, encode_record
from preflight.rendering import report_html

from . import extremes, sample
from .test_protocol import RECORDS

VOID = {"meta"}


class Page(HTMLParser):
    """Elements, text by element, and a check that every tag is closed where it was opened."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str]]] = []
        self.texts: list[tuple[str, str]] = []
        self.open: list[str] = []
        self.feed(html)
        self.close()
        assert not self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note an element, open until its end tag."""
        self.elements.append((tag, {name: value or "" for name, value in attrs}))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note an element without content."""
        self.elements.append((tag, {name: value or "" for name, value in attrs}))

    def handle_endtag(self, tag: str) -> None:
        """Close the innermost element, which must be this one."""
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        """Note text with the element that it stands in."""
        self.texts.append((self.open[-1] if self.open else "", data))

    def text(self, *, skip: tuple[str, ...] = ("script", "style")) -> str:
        """Text that a reader sees, blanks as one."""
        return " ".join("".join(t for tag, t in self.texts if tag not in skip).split())


def embedded(html: str) -> str:
    """The JSON of the record on the page."""
    match = re.search(r'<script type="application/json" id="record">(.*?)</script>', html, re.S)
    assert match is not None
    return match.group(1)


@pytest.mark.parametrize("name", sorted(RECORDS))
def test_the_page_is_well_formed_and_its_links_lead_somewhere(name: str) -> None:
    """Tags nest, ids are unique, every link and label points to an id of the page."""
    page = Page(report_html.render(RECORDS[name]()))
    ids = [attrs["id"] for _, attrs in page.elements if "id" in attrs]
    assert len(ids) == len(set(ids))
    for _, attrs in page.elements:
        if "href" in attrs:
            assert attrs["href"].startswith("#") and attrs["href"][1:] in ids
        for target in attrs.get("aria-labelledby", "").split():
            assert target in ids


@pytest.mark.parametrize("name", sorted(RECORDS))
def test_nothing_is_loaded_from_anywhere(name: str) -> None:
    """No element or style refers to a file or an address, and a policy forbids it besides."""
    html = report_html.render(RECORDS[name]())
    page = Page(html)
    for tag, attrs in page.elements:
        assert not {"src", "srcset", "action", "data", "poster", "style"} & set(attrs)
        assert not [a for a in attrs if a.startswith("on")]
        assert tag not in {"img", "link", "iframe", "object", "embed", "form", "base"}
    style = "".join(text for tag, text in page.texts if tag == "style")
    assert "@import" not in style and "url(" not in style
    assert "default-src 'none'" in next(
        attrs["content"] for _, attrs in page.elements if "http-equiv" in attrs
    )


def test_the_policy_allows_just_our_style_and_script() -> None:
    """Digests in the policy are those of the style and the script on the page."""
    html = report_html.render(sample.passing())
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', html)
    assert policy is not None
    allowed = policy.group(1).replace("&#39;", "'")
    for text in re.findall(r"(?s)<style>(.*?)</style>|<script>(.*?)</script>", html):
        digest = base64.b64encode(hashlib.sha256("".join(text).encode()).digest()).decode()
        assert f"'sha256-{digest}'" in allowed


@pytest.mark.parametrize("name", sorted(RECORDS))
def test_the_page_holds_its_record(name: str) -> None:
    """The embedded JSON decodes to the record itself, and the footer has its digest."""
    record = RECORDS[name]()
    html = report_html.render(record)
    text = embedded(html)
    assert not set("<>&\u2028\u2029") & set(text)
    again = decode_record(text.encode(), where="report.html")
    assert encode_record(again) == encode_record(record)
    assert hashlib.sha256(encode_record(record)).hexdigest() in html


def test_hostile_strings_stay_text() -> None:
    """Markup of the record adds no element; control characters and overrides are shown."""
    html = report_html.render(extremes.hostile())
    page = Page(html)
    scripts = [attrs for tag, attrs in page.elements if tag == "script"]
    assert scripts == [{"type": "application/json", "id": "record"}, {}]
    shown = html.replace(embedded(html), "")
    assert not [c for c in shown if c != "\n" and (ord(c) < 32 or 0x7F <= ord(c) < 0xA0)]
    assert "\u202e" not in shown
    assert "{{7*7}}" in page.text() and "\\x1b[31m" in page.text()


def test_long_strings_are_cut_on_the_page_and_whole_in_the_record() -> None:
    """A hundred thousand characters do not swamp the page, and it says where the rest is."""
    html = report_html.render(extremes.hostile())
    visible = html.replace(embedded(html), "")
    assert len(visible) < 250_000
    assert "earlier characters in the record" in visible


@pytest.mark.parametrize(
    ("name", "word"),
    [
        ("passing", "READY order ORD-1042"),
        ("failing", "NOT READY order ORD-1042"),
        ("rehearsal", "REHEARSED no order was named"),
        ("nothing", "NOT READY order ORD-1042"),
    ],
)
def test_the_verdict_comes_first(name: str, word: str) -> None:
    """Verdict and order stand before everything else, then what was bought and found."""
    text = Page(report_html.render(RECORDS[name]())).text(skip=("script", "style", "title"))
    assert 0 <= text.index(word) < text.index("Bought") < text.index("Found") < 700


def test_the_first_problem_is_told_with_its_action() -> None:
    """Cause, device, identity, action and evidence stand together before the path."""
    text = Page(report_html.render(sample.failing())).text()
    part = text[text.index("What to do first") : text.index("The path")]
    for words in ("kernel.first", "gpu5", "GPU-5d0c0005", "Ask the seller", "remapped rows"):
        assert words in part


def test_a_healthy_run_has_nothing_to_do_first() -> None:
    """Without a problem there is no such section."""
    assert "What to do first" not in report_html.render(sample.passing())


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("rehearsal", "REHEARSAL on the CPU"),
        ("simulated", "SIMULATED 2xB200"),
        ("simulated", "FAULTS INJECTED on purpose: slow_link@gpu1"),
    ],
)
def test_what_is_no_evidence_of_a_card_says_so(name: str, words: str) -> None:
    """A rehearsal, a simulation and an injected fault are named right below the verdict."""
    text = Page(report_html.render(RECORDS[name]())).text()
    assert words in text[: text.index("Bought")]


def test_every_cell_of_the_path_says_its_status_in_words() -> None:
    """A sign is never alone: each cell has a label with the stage, the device and the status."""
    page = Page(report_html.render(sample.failing()))
    labels = [
        attrs["aria-label"] for tag, attrs in page.elements if tag == "a" and "title" in attrs
    ]
    assert "kernel, gpu5: failed, uncorrectable ECC error" in " | ".join(labels)
    assert "forward, gpu5: skipped, blocked by kernel.first on gpu5" in labels


def test_every_chart_has_a_title_a_description_and_its_numbers() -> None:
    """A chart can be read without seeing it."""
    html = report_html.render(sample.passing())
    charts = re.findall(r'(?s)<svg class="chart".*?</svg>', html)
    assert len(charts) == 4
    assert all("<title id=" in chart and "<desc id=" in chart for chart in charts)
    assert html.count('<details class="numbers">') == 3


def test_a_value_out_of_its_limit_is_marked_in_words() -> None:
    """The table says which device broke which limit, and who set it."""
    text = Page(report_html.render(sample.failing())).text()
    assert "24.9 GB/s out of limit" in text
    assert "80% of PCIe 5 x16 (64 GB/s)" in text


def test_every_check_is_on_the_page() -> None:
    """Each check has its details, with its status for the filter."""
    record = sample.failing()
    page = Page(report_html.render(record))
    details = [attrs for tag, attrs in page.elements if attrs.get("class") == "check"]
    assert len(details) == len(record.checks)
    assert {"pass", "warn", "fail", "skip"} == {attrs["data-status"] for attrs in details}


def test_the_command_can_be_repeated() -> None:
    """The command line is quoted as a shell takes it."""
    record = sample.record((), run=sample.run(argv=("preflight", "run", "--order", "a b; c")))
    assert "preflight run --order 'a b; c'" in Page(report_html.render(record)).text()


def test_a_rack_of_64_devices_gives_a_page_of_bearable_size() -> None:
    """64 devices with 20 checks each, and a full pair matrix, stay below 6 MB."""
    html = report_html.render(extremes.rack())
    assert len(html.encode()) < 6_000_000
    assert html.count('<details class="check"') == 64 * 20 + 1
