"""Traffic to simulate: one hour of a scenario, or any mix of class rates for a capacity probe."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sim.requests import Requests
from sim.scenario.scenario import LogTraffic, Scenario
from sim.streams import stream
from sim.traffic.arrivals import Part, merge, minute_edges, minute_noise, poisson_times, session_count
from sim.traffic.conversations import conversation_part
from sim.traffic.lengths import draw_lengths, system_tokens, turns_mean
from sim.traffic.replay import load_replay, replay_hour, replay_stretch
from sim.traffic.synthetic import synthetic_hour, synthetic_stretch


def hour(
    scenario: Scenario,
    slice_index: int,
    seed: int,
    duration_s: float = 3600.0,
    warmup_s: float = 600.0,
    rate_scale: float = 1.0,
    classes: Sequence[int] | None = None,
) -> Requests:
    """Requests from 0 to `warmup_s + duration_s`: first a warm-up at the rate of the hour before, then the slice.

    Minute noise times Poisson for generated traffic; a log replays its own hour (see `sim.traffic.replay`).
    `rate_scale` multiplies every rate; `classes` keeps only those indices, and does not change what the
    others would get.
    """
    chosen = range(len(scenario.request_classes)) if classes is None else classes
    if isinstance(scenario.traffic, LogTraffic):
        return replay_hour(scenario, slice_index, seed, duration_s, warmup_s, rate_scale, chosen)
    return synthetic_hour(scenario, scenario.traffic, slice_index, seed, duration_s, warmup_s, rate_scale, chosen)


def slice_length_s(scenario: Scenario) -> float:
    """Seconds of a slice: an hour, or about an hour of a log."""
    return load_replay(scenario).slice_s if isinstance(scenario.traffic, LogTraffic) else 3600.0


def stretch(scenario: Scenario, slices: Sequence[int], lengths_s: Sequence[float], seed: int, warmup_s: float) -> Requests:
    """Requests of slices that follow each other, as one run from 0 to `warmup_s` + the sum of `lengths_s`: rates change at the edges.

    The warm-up is more of the first slice (of a log: what came before). Sessions go on across the edges. Traffic is not that of the
    same slices in `hour`: another draw of the same law.
    """
    if isinstance(scenario.traffic, LogTraffic):
        return replay_stretch(scenario, slices, lengths_s, seed, warmup_s)
    return synthetic_stretch(scenario, scenario.traffic, slices, lengths_s, seed, warmup_s)


def at_rates(
    scenario: Scenario,
    rates_rps: Sequence[float],
    seed: int,
    duration_s: float | None = None,
    n_requests: int | None = None,
    noise: bool = True,
) -> Requests:
    """Requests at the given rate per class, for `duration_s` seconds or for about `n_requests` (Poisson).

    Common random numbers: the same seed at other rates gives the same requests in the same order within each
    class, only closer together, under the same minute noise; so attainment hardly ever rises with the rate.
    Conversations come closer together too, while their users think as long as ever. A log gives its pairs of
    lengths, drawn with replacement, and the noise of its minutes; bursts shorter than a minute are not in a probe.
    """
    total = float(sum(rates_rps))
    if duration_s is None:
        if n_requests is None:
            raise ValueError("at_rates needs duration_s or n_requests")
        duration_s = n_requests / total if total > 0 else 0.0
    edges = minute_edges(duration_s)
    cv = _minute_noise_cv(scenario) if noise else 0.0
    factors = minute_noise(stream(seed, "probe minute noise"), len(edges) - 1, cv)
    parts: list[Part] = []
    for index, (request_class, rate) in enumerate(zip(scenario.request_classes, rates_rps, strict=True)):
        if rate <= 0:
            continue
        if request_class.conversation is not None and not isinstance(scenario.traffic, LogTraffic):
            rng = stream(seed, "probe conversations", request_class.name)
            parts.append(conversation_part(scenario, index, edges, factors * rate, rng, session_count(parts)))
            continue
        times = poisson_times(stream(seed, "probe arrivals", request_class.name), edges, factors * rate)
        lengths = stream(seed, "probe lengths", request_class.name)
        parts.append(_probe_part(scenario, index, times, lengths))
    return merge(parts)


def _minute_noise_cv(scenario: Scenario) -> float:
    if isinstance(scenario.traffic, LogTraffic):
        return load_replay(scenario).minute_noise_cv
    return scenario.traffic.minute_noise_cv


def _probe_part(scenario: Scenario, index: int, times: np.typing.NDArray[np.float64], rng: np.random.Generator) -> Part:
    """Part of class `index` at `times`: rows of its log, or draws from the class where the log has none."""
    if isinstance(scenario.traffic, LogTraffic):
        replay = load_replay(scenario)
        rows = replay.rows_of(index)
        if len(rows):
            pick = rows[(rng.random(len(times)) * len(rows)).astype(np.int64)]
            log = replay.log
            return Part(index, times, log.input_tokens[pick], log.output_tokens[pick], log.prefix_tokens[pick])
    request_class = scenario.request_classes[index]
    lengths = draw_lengths(request_class, turns_mean(scenario), len(times), rng)
    return Part(index, times, *lengths, system_tokens=system_tokens(request_class, len(times)))
