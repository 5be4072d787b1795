"""Prices by the hour of the day: what a slice of the demand pays where tokens are cheaper off peak."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from optimize.records import Floats, RelayTerms
from sim.catalog.price_terms import OffPeak, span_h
from sim.exact import dot
from sim.scenario.scenario import ConstantTraffic, LogTraffic, SyntheticTraffic

MINUTES, DAYS = 1440, 7
WEEKDAYS, WEEKEND = range(5), range(5, 7)  # Monday is 0
ROUNDING, LEAST_SHARE = 1e-9, 1e-9
Traffic = SyntheticTraffic | ConstantTraffic | LogTraffic


def off_peak_share(off_peak: OffPeak, start_h: float, days: Sequence[int] = range(7)) -> float:
    """The part of the hour from `start_h` (UTC, may be on the day before or after) of `days` that is off peak, by whole minutes.

    >>> night = OffPeak(0.5, ("16:30-00:30",))
    >>> [off_peak_share(night, hour) for hour in (0, 1, 16, 23, -1)]
    [0.5, 0.0, 0.5, 1.0, 1.0]
    >>> [off_peak_share(OffPeak(0.5, ("16:30-00:30",), weekends=True), hour, WEEKEND) for hour in (1, -2)]
    [1.0, 1.0]
    """
    cheap = _cheap_minutes(off_peak)
    starts = [day * MINUTES + round(start_h * 60) for day in days]
    return float(np.mean([cheap[(first + minute) % len(cheap)] for first in starts for minute in range(60)]))


def _cheap_minutes(off_peak: OffPeak) -> npt.NDArray[np.bool_]:
    """[minutes of a week from Monday 00:00 UTC] whether tokens are cheap."""
    cheap = np.zeros(MINUTES, dtype=bool)
    for text in off_peak.hours_utc:
        start, end = span_h(text)
        cheap[np.arange(round(start * 60), round(end * 60)) % MINUTES] = True
    week = np.tile(cheap, DAYS)
    if off_peak.weekends:
        week[WEEKEND.start * MINUTES :] = True
    return week


def off_peak_shares(terms: RelayTerms) -> Floats | None:
    """[classes, slices] part of the requests that pays the off-peak price of the relay; None where its row has none."""
    off_peak, factors = terms.relay.off_peak, terms.hour_factors
    if off_peak is None or factors is None or off_peak.factor == 1.0:
        return None
    share = (1 - factors) / (1 - off_peak.factor)
    return np.asarray(np.clip(share, 0.0, 1.0)) if (np.abs(share - 0.5) <= 0.5 + ROUNDING).all() else None


def off_peak_part(terms: RelayTerms, flow: Floats, weight_h: Floats) -> float:
    """Share of the requests of a month, `flow` [classes, slices], that pays the off-peak price."""
    share, total = off_peak_shares(terms), float(dot(flow, weight_h).sum())
    return 0.0 if share is None or total <= 0 else float(dot(flow * share, weight_h).sum()) / total


def off_peak_note(terms: RelayTerms, flow: Floats, weight_h: Floats, traffic: Traffic) -> str:
    """What the off-peak price of a relay does to a plan that buys there, and what it takes for granted; empty where it does nothing."""
    off_peak, part = terms.relay.off_peak, off_peak_part(terms, flow, weight_h)
    if off_peak is None or part <= LEAST_SHARE:
        return ""
    spread = "traffic at one rate counts as spread evenly over the week" if isinstance(traffic, ConstantTraffic) else ""
    clock = spread or f"the clock of the traffic is UTC{getattr(traffic, 'utc_offset_h', None) or 0:+g} h (traffic.utc_offset_h)"
    return (
        f"{terms.relay.id}: {part:.0%} of its requests pay the off-peak price, {off_peak.factor:g} of the list price in "
        f"{off_peak.words}; {clock}."
    )


def slice_factors(off_peak: OffPeak | None, traffic: Traffic, slices: tuple[str, ...]) -> Floats | None:
    """[slices] factor on token prices; None where it is 1 all day, or where the UTC hours of the slices are not known.

    "weekday 14" is the hour from 14 on a clock that is `traffic.utc_offset_h` ahead of UTC. Requests of an hour spread evenly over its
    minutes. Traffic at one rate pays the mean of the week. A log's hours have no place in the day: they pay the dearest price.

    >>> from sim.scenario.scenario import ConstantTraffic
    >>> slice_factors(OffPeak(0.5, ("12:00-24:00",)), ConstantTraffic(1.0), ("every hour",))
    array([0.75])
    """
    if off_peak is None or isinstance(traffic, LogTraffic):
        return None
    if isinstance(traffic, ConstantTraffic):
        share = float(_cheap_minutes(off_peak).mean())
        return np.full(len(slices), 1 - (1 - off_peak.factor) * share)
    if traffic.utc_offset_h is None:
        return None
    offset, shares = traffic.utc_offset_h, []
    for day, hour in (name.rsplit(" ", 1) for name in slices):
        shares.append(off_peak_share(off_peak, int(hour) - offset, WEEKEND if day == "weekend" else WEEKDAYS))
    return np.array([1 - (1 - off_peak.factor) * share for share in shares])
