"""Drawing without a screen: a theme, axes in the house style, and a figure as SVG that follows its page or as PNG for a deck."""

from __future__ import annotations

import io
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

COLOURS = ("#4c8dd6", "#e08a3c", "#3da37a", "#c65d9e", "#a8912f", "#7c6fd0", "#5aa9b8", "#c9574f")
GOOD, BAD = COLOURS[2], COLOURS[7]
WIDTH_IN = 9.2
PNG_DPI = 200  # 1,840 pixels across: sharp on a slide
LONGEST = 54  # characters of a name next to a bar


@dataclass(frozen=True)
class Theme:
    """Colours of text, of the grid, and of what it is drawn on."""

    ink: str
    faint: str
    page: str


PAGE = Theme("#010203", "#040506", "#070809")  # placeholders: the page puts its own colours in their place
PAPER = Theme("#1d2430", "#d9dee6", "#ffffff")


def figure(theme: Theme, height_in: float, along: str = "x") -> tuple[Any, Any]:
    """A figure with one pair of axes."""
    from matplotlib.figure import Figure

    drawn = Figure(figsize=(WIDTH_IN, height_in), layout="constrained")
    axes: Any = drawn.subplots()
    style(axes, along, theme)
    return drawn, axes


def style(axes: Any, along: str, theme: Theme) -> None:
    """Grid along one axis, no box, text in the theme's ink."""
    axes.grid(axis=along, color=theme.faint, linewidth=0.6)
    axes.set_axisbelow(True)
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
    axes.spines["bottom"].set_color(theme.faint)
    axes.tick_params(colors=theme.ink, which="both", length=0, labelsize=9)
    for label in (axes.xaxis.label, axes.yaxis.label, axes.title):
        label.set_color(theme.ink)
        label.set_fontsize(9)


def bars(
    theme: Theme,
    names: Sequence[str],
    amounts: Sequence[float],
    colours: Sequence[str],
    label: str,
    line: float | None,
    notes: Sequence[str] = (),
) -> Any:
    """Horizontal bars with their amounts, and `notes` behind these; `line` is drawn dashed where it is near."""
    drawn, axes = figure(theme, 0.7 + 0.32 * len(names))
    axes.barh(range(len(names)), amounts, color=colours, height=0.62)
    behind = {"facecolor": theme.page, "edgecolor": "none", "pad": 1.0}  # no line runs through an amount
    for k, amount in enumerate(amounts):
        text = f"{amount:,.0f}" + (f"  {notes[k]}" if notes else "")
        axes.annotate(text, (max(amount, 0), k), (4, 0), textcoords="offset points", va="center", color=theme.ink, bbox=behind)
    if line is not None and math.isfinite(line) and 0 < line < 3 * max(amounts, default=0.0):
        axes.axvline(line, color=theme.ink, linewidth=1.2, linestyle="--")
    axes.set_yticks(range(len(names)), [shorter(name) for name in names])
    axes.invert_yaxis()
    axes.margins(x=0.25 if notes else 0.12)
    axes.set_xlim(left=min(0.0, *amounts) if amounts else 0.0)
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    axes.set_xlabel(label)
    return drawn


def shorter(name: str) -> str:
    """A name that fits next to a bar."""
    return name if len(name) <= LONGEST else name[: LONGEST - 1] + "…"


def round_values(low: float, high: float, most: int = 5) -> list[float]:
    """Round numbers between two ends of a logarithmic axis, at most `most` where decades allow it.

    >>> round_values(0.04, 0.9), round_values(3.0, 4e6)
    ([0.05, 0.1, 0.2, 0.5], [10.0, 100.0, 1000.0, 10000.0, 100000.0, 1000000.0])
    """
    decades = range(math.floor(math.log10(low)) - 1, math.ceil(math.log10(high)) + 1)
    values: list[float] = []
    for digits in ((1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8), (1, 1.5, 2, 3, 5, 7), (1, 2, 5), (1, 3), (1,)):
        values = [float(f"{digit}e{power}") for power in decades for digit in digits]
        values = [value for value in values if low <= value <= high]
        if len(values) <= most:
            break
    return values


def no_minor_ticks(*axes: Any) -> None:
    """Nothing between the labelled ticks of these axes."""
    from matplotlib.ticker import NullLocator

    for axis in axes:
        axis.set_minor_locator(NullLocator())


def legend(axes: Any, theme: Theme, columns: int = 4) -> None:
    """A legend above the axes, where something has a label."""
    if not axes.get_legend_handles_labels()[1]:
        return
    axes.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=columns, frameon=False, fontsize=9, labelcolor=theme.ink)


def svg(drawn: Any, label: str) -> str:
    """The figure as an <svg> element with a text equivalent: no date, no random ids, text as text, colours that follow the page."""
    from html import escape

    text = _saved(drawn, "svg").decode()
    text = text[text.index("<svg") :]
    start, end = text.index("<metadata"), text.index("</metadata>") + len("</metadata>")
    text = text[:start] + text[end:]
    for attribute in (' xmlns:xlink="http://www.w3.org/1999/xlink"', ' xmlns="http://www.w3.org/2000/svg"'):
        text = text.replace(attribute, "")
    text = text.replace("<svg ", f'<svg role="img" aria-label="{escape(label)}" ', 1)
    return (
        text.replace("xlink:href", "href")
        .replace(PAGE.ink, "var(--ink)")
        .replace(PAGE.faint, "var(--faint)")
        .replace(PAGE.page, "var(--page)")
    )


def png(drawn: Any) -> bytes:
    """The figure as PNG on white with a margin, without a date."""
    drawn.get_layout_engine().set(w_pad=0.14, h_pad=0.12)
    return _saved(drawn, "png")


def _saved(drawn: Any, kind: str) -> bytes:
    import matplotlib

    buffer = io.BytesIO()
    more: dict[str, Any] = {"transparent": True, "metadata": {"Date": None, "Creator": None}}
    if kind == "png":
        more = {"dpi": PNG_DPI, "facecolor": "white", "metadata": {"Software": None}}
    with matplotlib.rc_context({"svg.fonttype": "none", "svg.hashsalt": "servemix", "font.size": 9}):
        drawn.savefig(buffer, format=kind, **more)
    return buffer.getvalue()
