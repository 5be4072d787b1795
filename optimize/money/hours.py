"""Prices by the hour of the day: what a slice of the demand pays where tokens are cheaper off peak."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from optimize.records import Floats
from sim.catalog.price_terms import OffPeak, span_h
from sim.scenario.records import ConstantTraffic, LogTraffic, SyntheticTraffic

MINUTES = 1440
Traffic = SyntheticTraffic | ConstantTraffic | LogTraffic


def off_peak_share(off_peak: OffPeak, start_h: float) -> float:
    """The part of the hour from `start_h` (UTC, any day) that is off peak, by whole minutes.

    >>> night = OffPeak(0.5, ("16:30-00:30",))
    >>> [off_peak_share(night, hour) for hour in (0, 1, 16, 23, -1)]
    [0.5, 0.0, 0.5, 1.0, 1.0]
    """
    cheap = _cheap_minutes(off_peak)
    first = round(start_h * 60)
    return float(np.mean([cheap[(first + minute) % MINUTES] for minute in range(60)]))


def _cheap_minutes(off_peak: OffPeak) -> npt.NDArray[np.bool_]:
    cheap = np.zeros(MINUTES, dtype=bool)
    for text in off_peak.hours_utc:
        start, end = span_h(text)
        cheap[np.arange(round(start * 60), round(end * 60)) % MINUTES] = True
    return cheap


def slice_factors(off_peak: OffPeak | None, traffic: Traffic, slices: tuple[str, ...]) -> Floats | None:
    """[slices] factor on token prices; None where it is 1 all day, or where nobody knows which hours of UTC the slices are.

    "weekday 14" is the hour from 14 on a clock that is `traffic.utc_offset_h` ahead of UTC. Requests of an hour spread evenly over its
    minutes. Traffic at one rate pays the mean of the day. A log's hours have no place in the day: they pay the dearest price.

    >>> from sim.scenario.records import ConstantTraffic
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
    starts = [int(name.rsplit(" ", 1)[-1]) - traffic.utc_offset_h for name in slices]
    return np.array([1 - (1 - off_peak.factor) * off_peak_share(off_peak, start) for start in starts])
