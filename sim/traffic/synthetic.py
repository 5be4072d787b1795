"""A synthetic week: 24 weekday hours and 24 weekend hours, or one hour that repeats for ever."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from sim.requests import Requests
from sim.scenario.scenario import ConstantTraffic, Scenario, SyntheticTraffic
from sim.streams import stream
from sim.traffic.arrivals import Part, merge, minute_edges, minute_noise, poisson_times, session_count
from sim.traffic.conversations import conversation_part
from sim.traffic.lengths import draw_lengths, system_tokens, turns_mean

HOUR_S = 3600.0
HOURS_PER_MONTH = 730.0
WEEK = (("weekday", 5 / 7), ("weekend", 2 / 7))
Generated = SyntheticTraffic | ConstantTraffic
Floats = npt.NDArray[np.float64]


def slice_names(traffic: Generated) -> tuple[str, ...]:
    """Names of the hour slices, e.g. "weekday 14"; constant traffic has the one slice "every hour", a job its hours and the others."""
    if isinstance(traffic, ConstantTraffic):
        return ("every hour",) if traffic.busy_h >= HOURS_PER_MONTH else ("hours of the job", "other hours")
    return tuple(f"{day} {hour:02d}" for day, _ in WEEK for hour in range(24))


def slice_weights_h(traffic: Generated) -> npt.NDArray[np.float64]:
    """Hours a month that each slice stands for; they sum to 730."""
    if isinstance(traffic, ConstantTraffic):
        busy_h = min(traffic.busy_h, HOURS_PER_MONTH)
        return np.array([HOURS_PER_MONTH] if busy_h == HOURS_PER_MONTH else [busy_h, HOURS_PER_MONTH - busy_h])
    return np.repeat([HOURS_PER_MONTH * share / 24 for _, share in WEEK], 24)


def slice_rates_rps(traffic: Generated) -> npt.NDArray[np.float64]:
    """Mean rate of all classes together in each slice.

    A weekday has users x conversations x turns requests, spread by `hour_weights`; a weekend day
    `weekend_factor` times that.
    """
    if isinstance(traffic, ConstantTraffic):
        return np.array([traffic.rate_rps, 0.0][: len(slice_names(traffic))])
    per_day = traffic.daily_active_users * traffic.conversations_per_user * traffic.turns_per_conversation
    weekday = per_day * np.asarray(traffic.hour_weights, float) / HOUR_S
    return np.concatenate([weekday, weekday * traffic.weekend_factor])


def class_rates_rps(traffic: Generated, shares: Sequence[float]) -> Floats:
    """[classes, slices] mean rate of each class: its share of every hour's, or of the day's where its work waits for other hours."""
    rates = slice_rates_rps(traffic)
    found = np.outer(np.asarray(shares, np.float64), rates)
    for each in traffic.moved if isinstance(traffic, SyntheticTraffic) else ():
        a_day = np.repeat([math.fsum(rates[:24].tolist()), math.fsum(rates[24:].tolist())], 24)
        found[each.class_index] = shares[each.class_index] * a_day * np.asarray(each.parts)
    return found


def hour_before(traffic: Generated, slice_index: int) -> int:
    """The slice one hour earlier in the same type of day; before hour 0 comes hour 23."""
    if isinstance(traffic, ConstantTraffic):
        return 0
    return slice_index - slice_index % 24 + (slice_index - 1) % 24


def hour_profile(
    traffic: Generated, slice_index: int, seed: int, duration_s: float, warmup_s: float
) -> tuple[Floats, npt.NDArray[np.int64], Floats]:
    """Minute edges in seconds, and of each of those minutes the slice whose rates it has and the factor of its noise.

    The noise is common to all classes: users of every class stay away, or come, in the same minute. That is
    the safe side.
    """
    edges = minute_edges(warmup_s, duration_s)
    before = edges[:-1] < warmup_s
    noise = minute_noise(stream(seed, "minute noise", slice_index), len(before), traffic.minute_noise_cv)
    return edges, np.where(before, hour_before(traffic, slice_index), slice_index), noise


def synthetic_hour(
    scenario: Scenario,
    traffic: Generated,
    slice_index: int,
    seed: int,
    duration_s: float,
    warmup_s: float,
    rate_scale: float,
    classes: Sequence[int],
) -> Requests:
    """One hour of generated traffic with its warm-up; each class has streams of its own, by its name."""
    edges, slices, noise = hour_profile(traffic, slice_index, seed, duration_s, warmup_s)
    return _requests(scenario, traffic, edges, slices, noise, seed, (slice_index,), classes, rate_scale)


def synthetic_stretch(
    scenario: Scenario, traffic: Generated, slices: Sequence[int], lengths_s: Sequence[float], seed: int, warmup_s: float
) -> Requests:
    """Slices one after the other, `lengths_s` of each, after a warm-up at the rate of the first; conversations go on across the hours."""
    edges = minute_edges(warmup_s, *lengths_s)
    begins = warmup_s + np.cumsum([0.0, *lengths_s[:-1]])
    which = np.maximum(np.searchsorted(begins, edges[:-1] + 1e-9, side="right") - 1, 0)
    noise = minute_noise(stream(seed, "minute noise of a stretch", *slices[:1]), len(which), traffic.minute_noise_cv)
    played = np.asarray(slices)[which]
    return _requests(scenario, traffic, edges, played, noise, seed, ("stretch", slices[0]), range(len(scenario.request_classes)))


def _requests(
    scenario: Scenario,
    traffic: Generated,
    edges: Floats,
    slices: npt.NDArray[np.int64],
    noise: Floats,
    seed: int,
    label: tuple[int | str, ...],
    classes: Sequence[int],
    rate_scale: float = 1.0,
) -> Requests:
    """Requests of `classes` in minutes between `edges`, each at the rates of its slice times its noise; `label` names the streams."""
    turns = turns_mean(scenario)
    parts: list[Part] = []
    everyone = slice_rates_rps(traffic)[slices] * noise
    waits = {each.class_index for each in traffic.moved} if isinstance(traffic, SyntheticTraffic) else set()
    by_class = class_rates_rps(traffic, [each.share for each in scenario.request_classes]) if waits else None
    for index in classes:
        request_class = scenario.request_classes[index]
        if by_class is not None and index in waits:
            rates = by_class[index][slices] * noise * rate_scale
        else:
            rates = everyone * (request_class.share * rate_scale)
        if request_class.conversation is not None:
            rng = stream(seed, "conversations", request_class.name, *label)
            parts.append(conversation_part(scenario, index, edges, rates, rng, session_count(parts)))
            continue
        arrivals = stream(seed, "arrivals", request_class.name, *label)
        times = poisson_times(arrivals, edges, rates)
        lengths = stream(seed, "lengths", request_class.name, *label)
        columns = draw_lengths(request_class, turns, len(times), lengths)
        parts.append(Part(index, times, *columns, system_tokens=system_tokens(request_class, len(times))))
    return merge(parts)
