from __future__ import annotations

import pytest

from preflight.records import Matrix, Record, Series
from preflight.rendering import axes, report_html
from preflight.rendering.compilation import compilation
from preflight.rendering.curves import line_charts
from preflight.rendering.heatmaps import heat_maps

from . import extremes, sample


def test_series_of_one_check_share_a_chart() -> None:
    """Bus and algorithm bandwidth stand in one chart with a logarithmic axis of sizes."""
    (chart,) = line_charts(sample.passing())
    assert [curve.label for curve in chart.curves] == [
        "all-reduce bus bandwidth",
        "all-reduce algorithm bandwidth",
    ]
    assert [tick.label.replace("\u00a0", " ") for tick in chart.x_ticks][:2] == ["8 KiB", "64 KiB"]
    assert len(chart.rows) == 18 and len(chart.head) == 3


def test_a_chart_of_several_series_is_named_by_what_they_share() -> None:
    """Bus and algorithm bandwidth by message size are bandwidth by message size."""
    (chart,) = line_charts(sample.passing())
    assert chart.title == "bandwidth by message size"


def test_what_is_counted_has_no_ticks_between() -> None:
    """There is no step 1.5."""
    axis = axes.Axis(low=0.0, high=2.0, start=0.0, end=100.0)
    assert [tick.label for tick in axes.ticks_linear(axis, "1", whole=True)] == ["0", "1", "2"]


def test_the_limit_of_a_series_is_drawn() -> None:
    """A measurement of the series' name brings its limit into the chart, inside the axes."""
    (chart,) = line_charts(sample.passing())
    (floor,) = chart.floors
    assert chart.top <= floor.y <= chart.bottom
    assert floor.label.replace("\u00a0", " ") == "≥ 360 GB/s"


def test_points_lie_inside_the_axes() -> None:
    """Every finite series, whatever its values, is drawn within its frame."""
    series = (
        ((0.0, 0.0),),
        ((1.0, -5.0), (2.0, -1.0)),
        ((1e-300, 1e300), (1.0, 5e-324)),
        ((-3.0, 2.0), (float("inf"), 1.0), (4.0, float("nan"))),
        tuple((float(i), 7.0) for i in range(5000)),
    )
    for points in series:
        one = Series(name="s", x="x", y="y", x_unit="1", y_unit="GB/s", points=points)
        (chart,) = line_charts(sample.record((sample.check("kernel.x", series=(one,)),)))
        for dot in chart.curves[0].dots:
            assert chart.left <= dot.x <= chart.right
            assert chart.top <= dot.y <= chart.bottom
        assert len(chart.curves[0].dots) <= 500


def test_many_devices_share_charts_of_eight_lines() -> None:
    """A series of every device is split over charts, and every line names its device."""
    one = sample.bandwidth(50.0, 1e6, "host to device")
    checks = tuple(
        sample.check("kernel.host_link", device=f"gpu{i}", series=(one,)) for i in range(12)
    )
    charts = line_charts(sample.record(checks))
    assert [len(chart.curves) for chart in charts] == [8, 4]
    assert charts[1].curves[-1].label == "host to device, gpu11"


def test_a_slow_device_stands_out_of_the_map() -> None:
    """Cells more than a tenth off the median are marked; missing values are blank."""
    matrix = sample.pairs(8, slow=3)
    record = sample.record((sample.check("collective.pairs", matrices=(matrix,)),))
    (heat,) = heat_maps(record)
    assert sum(cell.apart for cell in heat.cells) == 14
    assert sum(cell.empty for cell in heat.cells) == 8
    assert "lowest 212" in heat.description.replace("\u00a0", " ")


def test_a_map_survives_short_rows_and_skips_empty_ones() -> None:
    """A matrix whose values are fewer than its names is drawn with blanks, an empty one not."""
    short = Matrix(name="m", rows=("a", "b"), columns=("c",), unit="1", values=((1.0,),))
    empty = Matrix(name="e", rows=(), columns=(), unit="1", values=())
    check = sample.check("collective.pairs", matrices=(short, empty))
    (heat,) = heat_maps(sample.record((check,)))
    assert [cell.empty for cell in heat.cells] == [False, True]


def test_first_calls_and_steps_have_scales_of_their_own() -> None:
    """Seconds and milliseconds are never drawn on one scale."""
    section = compilation(sample.passing())
    assert section is not None
    texts = [[bar.text.replace("\u00a0", " ") for bar in chart.bars] for chart in section.charts]
    assert texts == [["18.4 s", "3.13 s"], ["9.00 ms", "6.20 ms"]]
    assert section.charts[0].bars[0].length == 310.0
    whiskers = section.charts[1].bars
    assert all(bar.low is not None and bar.high is not None for bar in whiskers)
    assert max(bar.high or 0.0 for bar in whiskers) == 310.0


def test_what_never_pays_says_so() -> None:
    """Steps to pay back without a value read as never, in the sentence and in the table."""
    section = compilation(sample.rehearsal())
    assert section is not None
    assert "never paid back" in section.gain
    assert section.rows[0][-1] == "never"


def noisy(**spread: float | None) -> Record:
    """A record whose eager step has another spread."""
    check = sample.compile_check("gpu0")
    steps = tuple(
        sample.replace(m, **spread) if m.name == "eager step" else m for m in check.measurements
    )
    return sample.record((sample.replace(check, measurements=steps),))


@pytest.mark.parametrize("spread", [{"p10": 0.004, "p90": 0.0081}, {"p10": 0.0, "p90": 0.01}])
def test_noise_is_told_in_place_of_a_gain(spread: dict[str, float]) -> None:
    """Where a step's times span more than a factor of 2, no gain and no payback is claimed."""
    section = compilation(noisy(**spread))
    assert section is not None
    assert section.gain == ""
    assert section.doubt.startswith("What compiling gains is too noisy to tell: the eager step's")
    assert section.rows[0][-2:] == ("too noisy to tell", "too noisy to tell")
    html = report_html.render(noisy(**spread))
    assert "too noisy to tell: the eager step" in html
    assert "times as fast" not in html and "paid back after" not in html


def test_a_factor_of_two_is_no_noise() -> None:
    """Up to a factor of 2, and where no spread was told, the gain stands in bold."""
    for spread in ({"p10": 0.0045, "p90": 0.009}, {"p10": None, "p90": None}):
        section = compilation(noisy(**spread))
        assert section is not None and section.doubt == ""
        assert "times as fast" in section.gain


def test_a_record_without_compilation_has_no_section() -> None:
    """Where nothing was compiled nothing is drawn."""
    assert compilation(sample.nothing_found()) is None
    assert compilation(extremes.hostile()) is None


@pytest.mark.parametrize(("span", "step"), [(507.0, 100.0), (1.0, 0.2), (0.0, 1.0), (13.0, 2.5)])
def test_steps_of_an_axis_are_round(span: float, step: float) -> None:
    """Ticks stand at multiples of 1, 2, 2.5 or 5."""
    assert axes.nice_step(span, 6) == pytest.approx(step)
