"""Conversations whose requests come at an exact rate: turns follow each other, and the minutes are as noisy as those of any other class."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from sim.exact import exp
from sim.scenario.scenario import Conversation, Scenario, SyntheticTraffic, Tokens
from sim.streams import standard_exponentials, standard_normals, stream
from sim.traffic.arrivals import Part, check_size
from sim.traffic.lengths import turn_table, turns_mean

THINK_MEDIAN_S, THINK_SIGMA = 73.7, 1.4  # log-normal(4.3, 1.4), where the traffic does not say
TTFT_S, TPOT_S = 0.5, 0.03  # nominal: when the user has the answer
LEAD_QUANTILE = 0.995
PILOT_CONVERSATIONS = 20_000
Floats = npt.NDArray[np.float64]
Int64s = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Pace:
    """How conversations go on: log-normal think time after an answer that ends `TTFT_S + TPOT_S x output tokens` after its turn."""

    think_median_s: float
    think_sigma: float


def pace(scenario: Scenario) -> Pace:
    """The pace of the scenario's users; that of the published median where the traffic does not say."""
    traffic = scenario.traffic
    if isinstance(traffic, SyntheticTraffic):
        return Pace(traffic.think_time_median_s, traffic.think_time_sigma)
    return Pace(THINK_MEDIAN_S, THINK_SIGMA)


@lru_cache(maxsize=64)
def first_rows(conversation: Conversation, output: Tokens, mean_turns: float) -> tuple[Int64s, Int64s]:
    """First row and number of turns of each conversation of the turn table."""
    first = np.flatnonzero(turn_table(conversation, output, mean_turns).turn == 0)
    return first, np.diff(np.append(first, len(turn_table(conversation, output, mean_turns))))


@dataclass(frozen=True)
class _Talks:
    """Turns of chosen conversations: `talk` numbers the conversation, `row` is that of the turn table, `offset_s` counts from the start."""

    talk: Int64s
    row: Int64s
    offset_s: Floats


def _talks(conversation: Conversation, output: Tokens, mean_turns: float, users: Pace, count: int, rng: np.random.Generator) -> _Talks:
    """`count` conversations of the turn table with think times; the first n of a larger count are those of n (common random numbers)."""
    choice, thinking = rng.spawn(2)
    first, turns = first_rows(conversation, output, mean_turns)
    table = turn_table(conversation, output, mean_turns)
    pick = (choice.random(count) * len(first)).astype(np.int64)
    length = turns[pick]
    talk = np.repeat(np.arange(count), length)
    begin = np.cumsum(length) - length
    row = np.arange(len(talk)) - begin[talk] + first[pick][talk]
    think = users.think_median_s * exp(users.think_sigma * standard_normals(thinking, len(talk)))
    pause = TTFT_S + TPOT_S * table.output_tokens[row] + think
    before = np.cumsum(pause) - pause
    return _Talks(talk, row, before - before[begin[talk]])


@lru_cache(maxsize=64)
def lead(conversation: Conversation, output: Tokens, mean_turns: float, users: Pace, window_s: float) -> tuple[float, float]:
    """How long before time 0 conversations must begin, and the share of the turns in [0, window_s) that such conversations yield.

    The lead reaches back as far as 99.5 % of turns do, in a fixed pilot sample; the rate is raised by what is missing.
    """
    pilot = _talks(conversation, output, mean_turns, users, PILOT_CONVERSATIONS, stream(0, "session lead"))
    lead_s = float(np.ceil(np.quantile(pilot.offset_s, LEAD_QUANTILE) / 60.0) * 60.0)
    seen = np.minimum(1.0, np.maximum(0.0, (lead_s + window_s - pilot.offset_s) / max(window_s, 1e-9)))
    return lead_s, float(seen.mean())


def conversation_part(
    scenario: Scenario, index: int, edges_s: Floats, rates_rps: Floats, rng: np.random.Generator, first_id: int = 0
) -> Part:
    """Requests of class `index` at `rates_rps[i]` from `edges_s[i]` (0 first) to `edges_s[i + 1]`, each a turn of a conversation.

    Conversations begin as a Poisson process in a nominal time in which the rate is constant, early enough to have turns of every
    age at 0; then nominal time is stretched so that the request rate is `rates_rps`. So minute noise and the change from hour to
    hour are exact for requests, and think times are off by that noise. Each request follows the law of `draw_lengths`; what is
    nominal is when an answer ends (`sim.fleet.clients` has users who wait for it). Conversation k before 0, or after it, is the same
    at every rate of one seed.
    """
    conversation, output = scenario.request_classes[index].conversation, scenario.request_classes[index].output_tokens
    mean_turns, users = turns_mean(scenario), pace(scenario)
    assert conversation is not None
    cumulative = np.concatenate([np.zeros(1), np.cumsum(np.diff(edges_s) * rates_rps)])
    total, window_s = float(cumulative[-1]), float(edges_s[-1])
    empty = np.empty(0, np.int32)
    check_size(total)
    if total <= 0:
        return Part(index, np.empty(0), empty, empty, empty, np.empty(0, np.int64), empty)
    lead_s, seen = lead(conversation, output, mean_turns, users, window_s)
    starts_rps = total / window_s / max(mean_turns, 1.0) / seen
    pieces, used = [], first_id
    for span_s, sign in ((lead_s, -1.0), (window_s, 1.0)):  # before 0, and after it
        times, lengths = rng.spawn(2)
        starts_s = _poisson(times, span_s, starts_rps)
        talks = _talks(conversation, output, mean_turns, users, len(starts_s), lengths)
        nominal_s = sign * starts_s[talks.talk] + talks.offset_s
        keep = (nominal_s >= 0) & (nominal_s < window_s)
        pieces.append((nominal_s[keep], talks.row[keep], talks.talk[keep] + used))
        used += len(starts_s)
    nominal, row, session = (np.concatenate(columns) for columns in zip(*pieces, strict=True))
    order = np.argsort(nominal, kind="stable")
    table = turn_table(conversation, output, mean_turns)
    row = row[order]
    return Part(
        class_id=index,
        arrival_s=np.interp(nominal[order] * (total / window_s), cumulative, edges_s),
        input_tokens=table.input_tokens[row],
        output_tokens=table.output_tokens[row],
        prefix_tokens=table.prefix_tokens[row],
        session_id=session[order],
        system_tokens=np.full(len(row), conversation.system_prompt_tokens, np.int32),
    )


def _poisson(rng: np.random.Generator, span_s: float, rate: float) -> Floats:
    """Ascending times of a Poisson process in [0, span_s); at another rate the same points, closer together."""
    expected = span_s * rate
    unit = np.cumsum(standard_exponentials(rng, int(expected + 8.0 * np.sqrt(expected) + 30.0)))
    return unit[unit < expected] / rate
