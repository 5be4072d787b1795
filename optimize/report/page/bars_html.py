"""Horizontal bars as HTML: names above, amounts behind, a limit that stays in sight at any width."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape


@dataclass(frozen=True)
class Bar:
    """A bar from `low` to `high`, shares of the whole width; `dot` is a point on it, `note` stands behind the amount."""

    name: str
    high: float
    said: str
    colour: str = "c0"
    low: float = 0.0
    dot: float | None = None
    note: str = ""


def bars_html(label: str, bars: Sequence[Bar], limit: float | None = None, limit_word: str = "") -> str:
    """A list of bars with a limit line at a share of the width; nothing where there are none."""
    if not bars:
        return ""
    rows = "".join(_row(bar, limit) for bar in bars)
    key = f'<div class=legend><span class=keyed><i class="key ink line"></i>{escape(limit_word)}</span></div>' if limit_word else ""
    return f'{key}<ul class=bars aria-label="{escape(label)}">{rows}</ul>'


def _row(bar: Bar, limit: float | None) -> str:
    low, high = (min(1.0, max(0.0, share)) for share in sorted((bar.low, bar.high)))
    shape = f'<i class="bar {bar.colour}" style="left:{100 * low:.2f}%;width:{100 * max(high - low, 0.004):.2f}%"></i>'
    dot = f'<i class="dot {bar.colour}" style="left:{100 * min(1.0, bar.dot):.2f}%"></i>' if bar.dot is not None else ""
    line = f'<i class=limit style="left:{100 * limit:.2f}%"></i>' if limit is not None and 0 <= limit <= 1 else ""
    note = f" <span class=dim>{escape(bar.note)}</span>" if bar.note else ""
    said = f"<span class=said><b>{escape(bar.said)}</b>{note}</span>"
    return f"<li><span class=name>{escape(bar.name)}</span>{said}<span class=track>{shape}{dot}{line}</span></li>"
