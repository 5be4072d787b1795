"""What a relay bills beyond its plain prices: long prompts, and hours of the day. Frozen records, and how a span of hours is read."""

from __future__ import annotations

import re
from dataclasses import dataclass

SPAN = re.compile(r"([01]\d|2[0-3]):([0-5]\d)-([01]\d|2[0-4]):([0-5]\d)")
TOKEN_PRICES = (  # fields of a relay, USD per million tokens
    "usd_per_mtok_input",
    "usd_per_mtok_output",
    "usd_per_mtok_cached",
    "usd_per_mtok_cache_write",
    "usd_per_mtok_batch_input",
    "usd_per_mtok_batch_output",
)


@dataclass(frozen=True)
class LongPrompt:
    """Prices of a request whose prompt is longer than `above_tokens`, USD per million tokens: all of it is billed at them.

    Without a cached price of its own, the long input price holds; without one for cache writes, likewise.
    """

    above_tokens: int  # longer prompts than this pay these prices, for all of their tokens
    usd_per_mtok_input: float
    usd_per_mtok_output: float
    usd_per_mtok_cached: float | None = None  # absent: as the long input
    usd_per_mtok_cache_write: float | None = None  # absent: as the long input


@dataclass(frozen=True)
class OffPeak:
    """In `hours_utc` ("10:00-01:00": from 10 in the morning past midnight to 1) every token costs `factor` times the row's price.

    With `weekends`, `hours_utc` are those of Monday to Friday, and Saturday and Sunday are cheap all day.

    The row itself has the dearest prices of the day.
    """

    factor: float  # on every price of tokens in these hours, 0..1
    hours_utc: tuple[str, ...]  # spans of the day in UTC, such as "16:30-00:30"; they may pass midnight
    weekends: bool = False  # all of Saturday and Sunday in UTC, too

    @property
    def words(self) -> str:
        """The hours for people."""
        return f"{', '.join(self.hours_utc)} UTC" + (" and at weekends" if self.weekends else "")


def span_h(text: str) -> tuple[float, float]:
    """(start, end) in hours of a day; an end before the start is on the next day. ValueError where the text is no span.

    >>> span_h("16:30-00:30"), span_h("04:00-06:00")
    ((16.5, 24.5), (4.0, 6.0))
    """
    found = SPAN.fullmatch(text)
    if found is None:
        raise ValueError(f'"{text}" is not a span of hours; write "16:30-00:30"')
    a, b, c, d = map(int, found.groups())
    start, end = a + b / 60, c + d / 60
    if start == end:
        raise ValueError(f'"{text}" begins where it ends; write "00:00-24:00" for the whole day, or leave it out')
    if end > 24:
        raise ValueError(f'"{text}" ends after 24:00; write "16:30-00:30"')
    return start, end if end > start else end + 24
