"""Conversations as they happen: the next turn comes when the user has read and thought about the last answer."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from sim.errors import InputError
from sim.scenario.records import LogTraffic, RequestClass, Scenario, SyntheticTraffic
from sim.streams import stream
from sim.traffic.arrivals import Part, merge, minute_edges, minute_noise, poisson_times
from sim.traffic.columns import Requests
from sim.traffic.lengths import Turns, draw_lengths, simulate_turns, system_tokens, turns_mean
from sim.traffic.synthetic import Generated, hour_before, slice_rates_rps

THINK_MEDIAN_S, THINK_SIGMA = 73.7, 1.4  # log-normal(4.3, 1.4), where the traffic does not say
LEAD_QUANTILE = 0.99  # conversations that began earlier than this share of turns reaches back are left out
PILOT_CONVERSATIONS = 20_000
Floats = npt.NDArray[np.float64]


def sessions(
    scenario: Scenario,
    slice_index: int,
    seed: int,
    duration_s: float = 3600.0,
    warmup_s: float = 600.0,
    rate_scale: float = 1.0,
    classes: Sequence[int] | None = None,
    ttft_s: float = 0.5,
    tpot_s: float = 0.03,
) -> Requests:
    """Like `sim.traffic.hour`, but the turns of a conversation follow each other and carry its `session_id`.

    Conversations start as a Poisson process with minute noise; turn k + 1 comes one think time (log-normal)
    after the answer of turn k would end at `ttft_s + tpot_s x output tokens`: an approximation, because the
    true end depends on the fleet. Starts go back far enough that 99 % of all turns have their past; so the
    first second already has conversations of every age, at up to 1 % below the rate. Minute noise is that of
    starts: later turns are smoothed over think times, so minutes are calmer than in `hour`. Classes without a
    conversation are independent requests with session_id -1. A log has sessions of its own: InputError.
    """
    traffic = scenario.traffic
    if isinstance(traffic, LogTraffic):
        raise InputError(f"{scenario.path}: traffic.log: a log brings its own sessions; replay it with hour()")
    chosen = range(len(scenario.request_classes)) if classes is None else classes
    turns, answer_s = turns_mean(scenario), (ttft_s, tpot_s)
    parts, used = [], 0
    for index in chosen:
        request_class = scenario.request_classes[index]
        chats = request_class.conversation is not None
        lead_s = _lead_s(request_class, traffic, turns, answer_s) if chats else 0.0
        edges, rates = _start_profile(traffic, slice_index, seed, duration_s, warmup_s, lead_s)
        rates = rates * (request_class.share * rate_scale / (turns if chats else 1.0))
        starts = poisson_times(stream(seed, "session starts", request_class.name, slice_index), edges, rates)
        rng = stream(seed, "session turns", request_class.name, slice_index)
        if not chats:
            parts.append(Part(index, starts, *draw_lengths(request_class, turns, len(starts), rng)))
            continue
        end_s = warmup_s + duration_s
        parts.append(_chat_part(index, request_class, traffic, turns, answer_s, starts - lead_s, end_s, rng, used))
        used += len(starts)
    return merge(parts)


def _start_profile(
    traffic: Generated, slice_index: int, seed: int, duration_s: float, warmup_s: float, lead_s: float
) -> tuple[Floats, Floats]:
    """Minute edges and rates from `lead_s` before the warm-up on; up to the hour, those of the hour before."""
    edges = minute_edges(lead_s, warmup_s, duration_s)
    hourly = slice_rates_rps(traffic)
    early = edges[:-1] < lead_s + warmup_s
    rates = np.where(early, hourly[hour_before(traffic, slice_index)], hourly[slice_index])
    noise = minute_noise(stream(seed, "session minute noise", slice_index), len(rates), traffic.minute_noise_cv)
    return edges, rates * noise


def _chat_part(
    index: int,
    request_class: RequestClass,
    traffic: Generated,
    turns_mean_: float,
    answer_s: tuple[float, float],
    starts_s: Floats,
    end_s: float,
    rng: np.random.Generator,
    first_id: int,
) -> Part:
    """Turns in [0, end_s) of the conversations that start at `starts_s`, in order of arrival."""
    assert request_class.conversation is not None
    table = simulate_turns(request_class.conversation, request_class.output_tokens, turns_mean_, len(starts_s), rng)
    times = starts_s[table.conversation] + turn_offsets_s(table, traffic, answer_s, rng)
    rows = np.flatnonzero((times >= 0) & (times < end_s))
    rows = rows[np.argsort(times[rows], kind="stable")]
    return Part(
        index,
        times[rows],
        table.input_tokens[rows],
        table.output_tokens[rows],
        table.prefix_tokens[rows],
        table.conversation[rows] + first_id,
        system_tokens(request_class, len(rows)),
    )


def turn_offsets_s(table: Turns, traffic: Generated, answer_s: tuple[float, float], rng: np.random.Generator) -> Floats:
    """Seconds from the start of a conversation to each of its turns; 0 for the first."""
    median, sigma = THINK_MEDIAN_S, THINK_SIGMA
    if isinstance(traffic, SyntheticTraffic):
        median, sigma = traffic.think_time_median_s, traffic.think_time_sigma
    ttft_s, tpot_s = answer_s
    think = median * np.exp(sigma * rng.standard_normal(len(table)))
    pause = ttft_s + tpot_s * table.output_tokens + think  # from this turn to the next
    before = np.cumsum(pause) - pause
    first = np.flatnonzero(table.turn == 0)
    return np.asarray(before - before[first][table.conversation], dtype=np.float64)


def _lead_s(request_class: RequestClass, traffic: Generated, turns_mean_: float, answer_s: tuple[float, float]) -> float:
    """How far back conversations must start: the 99 % quantile of turn offsets in a fixed pilot sample."""
    assert request_class.conversation is not None
    rng = stream(0, "session lead")
    table = simulate_turns(request_class.conversation, request_class.output_tokens, turns_mean_, PILOT_CONVERSATIONS, rng)
    offsets = turn_offsets_s(table, traffic, answer_s, rng)
    return float(np.ceil(np.quantile(offsets, LEAD_QUANTILE) / 60.0) * 60.0)
