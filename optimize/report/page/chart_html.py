"""A chart as HTML: shapes in an SVG that stretches, words outside it, so that it fits a phone, follows the page's colours and prints."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from html import escape

from optimize.report.page.scales import Scale, short_number

EDGE = 0.04  # of an axis
SIZE = 1000.0  # of the drawing, in both directions, before it is stretched
Values = Sequence[float | None]


@dataclass(frozen=True)
class Series:
    """Values over the chart's x. `style`: line, dash, dots (a line of dots), point, band (down to `low`) or bars (one per x).

    colour  a class of the page: c0 to c7, ink, good, bad;  said  the values in words, for who points at them
    """

    name: str
    values: Values
    colour: str
    style: str = "line"
    low: Values | None = None
    said: Sequence[str] = ()
    key: bool = True  # whether it stands in the legend


@dataclass(frozen=True)
class Mark:
    """A line across the chart at a value of one axis, with a word."""

    axis: str  # x or y
    value: float
    word: str
    style: str = "dash"


@dataclass(frozen=True)
class Chart:
    """A chart over `x`; `names` say each x in words. Ticks are (value, label)."""

    label: str
    x: Sequence[float]
    names: Sequence[str]
    series: Sequence[Series]
    across: Scale
    up: Scale
    x_ticks: Sequence[tuple[float, str]]
    y_ticks: Sequence[tuple[float, str]] = ()
    x_title: str = ""
    y_title: str = ""
    marks: Sequence[Mark] = field(default=())
    tall: str = ""  # an extra class that sets the height
    gap: float = 0.2  # between bars, as a share of their distance


def chart_html(chart: Chart) -> str:
    """The chart with its words; what is pointed at is told from `data-told`, read by the page's script."""
    ticks = chart.y_ticks or [(value, short_number(value)) for value in chart.up.ticks()]
    shapes = (
        "".join(_grid(chart, ticks))
        + "".join(_shape(chart, each) for each in chart.series)
        + "".join(_mark(chart, mark) for mark in chart.marks)
    )
    up = "".join(f'<span style="bottom:{_per_cent(chart.up.at(value))}">{escape(text)}</span>' for value, text in ticks)
    places = [(chart.across.at(value), text) for value, text in chart.x_ticks]
    across = "".join(f'<span{_side(place)} style="left:{_per_cent(place)}">{escape(text)}</span>' for place, text in places)
    drawing = f'<svg viewBox="0 0 {SIZE:g} {SIZE:g}" preserveAspectRatio="none" aria-hidden="true">{shapes}</svg>'
    return (
        f'<div class="xy {chart.tall}" role=img tabindex=0 aria-label="{escape(chart.label)}" data-told="{escape(_told(chart))}">'
        f"<div class=yn>{escape(chart.y_title)}</div><div class=yl>{up}</div><div class=plot>{drawing}</div>"
        f"<div class=xl>{across}</div><div class=xn>{escape(chart.x_title)}</div></div>"
    )


def legend_html(series: Iterable[Series], marks: Sequence[Mark] = ()) -> str:
    """Every colour and dash with its name."""
    kinds = {"bars": "box"}
    keys = [(each.colour, kinds.get(each.style, each.style), each.name) for each in series if each.key]
    keys += [("ink", mark.style, mark.word) for mark in marks]
    told = "".join(
        f'<span class=keyed><i class="key {colour} {kind}"></i>{escape(name)}</span>' for colour, kind, name in dict.fromkeys(keys)
    )
    return f"<div class=legend>{told}</div>" if told else ""


def titled(title: str, *charts: str, legend: str = "", words: str = "") -> str:
    """One figure: a title that is read first, the legend, the drawing, and what it says."""
    said = f"<p class=dim>{escape(words)}</p>" if words else ""
    drawn = "".join(charts) if len(charts) == 1 else f"<div class=panels>{''.join(charts)}</div>"
    return f"<figure><figcaption>{escape(title)}</figcaption>{legend}{drawn}{said}</figure>"


def _told(chart: Chart) -> str:
    """Names of x, their places, and what each series says there, as JSON."""
    places = [round(chart.across.at(x), 4) for x in chart.x]
    rows = [[each.name, each.colour, list(each.said) or [_plain(value) for value in each.values]] for each in chart.series]
    return json.dumps([list(chart.names), places, rows], ensure_ascii=False, separators=(",", ":"))


def _plain(value: float | None) -> str:
    return "" if value is None or not math.isfinite(value) else f"{value:,.4g}"


def _side(place: float) -> str:
    """Labels at the ends of an axis stand inside it."""
    return " class=left" if place < EDGE else " class=right" if place > 1 - EDGE else ""


def _per_cent(share: float) -> str:
    return f"{100 * share:.2f}%"


def _grid(chart: Chart, ticks: Sequence[tuple[float, str]]) -> Iterable[str]:
    for value, _ in ticks:
        y = SIZE * (1 - chart.up.at(value))
        yield f'<path class=grid d="M0 {y:.1f}H{SIZE:g}"/>'


def _mark(chart: Chart, mark: Mark) -> str:
    if mark.axis == "x":
        return f'<path class="ink {mark.style} stroke" d="M{SIZE * chart.across.at(mark.value):.1f} 0V{SIZE:g}"/>'
    return f'<path class="ink {mark.style} stroke" d="M0 {SIZE * (1 - chart.up.at(mark.value)):.1f}H{SIZE:g}"/>'


def _shape(chart: Chart, each: Series) -> str:
    """The path of a series; broken where it has no value."""
    if each.style == "bars":
        return f'<path class="{each.colour} fill" d="{_bars(chart, each)}"/>'
    low = each.low
    parts = []
    for run in _runs(each.values):
        top = [(chart.x[k], float(each.values[k] or 0.0)) for k in run]
        if each.style == "band":
            assert low is not None
            floor = [(chart.x[k], float(low[k] or 0.0)) for k in run]
            parts.append(_path(chart, top) + _path(chart, floor[::-1]).replace("M", "L", 1) + "Z")
        else:
            parts.append(_path(chart, top))
    look = "fill band" if each.style == "band" else f"{each.style} stroke"
    return f'<path class="{each.colour} {look}" d="{"".join(parts)}"/>' if parts else ""


def _runs(values: Values) -> Iterable[list[int]]:
    """Neighbours that all have a value."""
    run: list[int] = []
    for k, value in enumerate(values):
        if value is not None and math.isfinite(value):
            run.append(k)
        elif run:
            yield run
            run = []
    if run:
        yield run


def _path(chart: Chart, points: Sequence[tuple[float, float]]) -> str:
    places = [f"{SIZE * chart.across.at(x):.1f} {SIZE * (1 - chart.up.at(y)):.1f}" for x, y in points]
    if len(places) == 1:  # a line of no length is drawn as a round dot
        places *= 2
    return "M" + "L".join(places)


def _bars(chart: Chart, each: Series) -> str:
    """A column per x from `low` to the value."""
    half = (1 - chart.gap) / 2 / max(len(chart.x), 1)
    shapes = []
    for k, value in enumerate(each.values):
        low = 0.0 if each.low is None else float(each.low[k] or 0.0)
        if value is None or not math.isfinite(value) or value == low:
            continue
        left, right = (SIZE * (chart.across.at(chart.x[k]) + side) for side in (-half, half))
        top, bottom = (SIZE * (1 - chart.up.at(y)) for y in (value, low))
        shapes.append(f"M{left:.1f} {bottom:.1f}V{top:.1f}H{right:.1f}V{bottom:.1f}Z")
    return "".join(shapes)
