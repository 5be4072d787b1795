"""Replay of a log: its own hours, its own pairs of lengths.

Slices are equal parts of the log of about an hour each (the log's span divided by its span rounded to whole
hours); all weigh the same, so that the log stands for a month of 730 h whatever its length. A log shorter
than 1.5 h is one slice.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from difflib import get_close_matches
from functools import lru_cache
from pathlib import Path

import numpy as np
import numpy.typing as npt

from sim.errors import InputError
from sim.requests import Demand, Requests
from sim.scenario.scenario import LogTraffic, Scenario
from sim.streams import stream
from sim.traffic.arrivals import Part, check_size, merge
from sim.traffic.lengths import DEFAULT_TURNS, mean_lengths
from sim.traffic.readers import ReadLog, read_log
from sim.traffic.synthetic import HOUR_S, HOURS_PER_MONTH

MINUTE_S = 60.0
JITTER_S = 30.0
DAY_S = 86_400.0
LONGEST_S = 366 * DAY_S  # an hour slice for each hour of it
FEW_MINUTES = 5  # a log with fewer whole minutes says nothing about minute noise
DEFAULT_MINUTE_NOISE_CV = 0.07
Longs = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Replay:
    """A log with a class for each request. `slice_s` is the length of a slice, `span_s` that of the log."""

    log: ReadLog
    class_id: npt.NDArray[np.int16]
    span_s: float
    slices: int
    peak_factor: float
    minute_noise_cv: float

    @property
    def slice_s(self) -> float:
        return self.span_s / self.slices

    def rows_of(self, class_index: int) -> Longs:
        """Rows of the log that belong to a class."""
        return np.flatnonzero(self.class_id == class_index)


def load_replay(scenario: Scenario) -> Replay:
    """The scenario's log with a class for each request; read once per content of the file (path, size, time of change)."""
    assert isinstance(scenario.traffic, LogTraffic)
    classes = tuple((each.name, each.share) for each in scenario.request_classes)
    path = scenario.traffic.log
    try:
        status = path.stat()
        key = (status.st_mtime_ns, status.st_size)
    except OSError:
        key = (0, 0)  # the reader says what is wrong
    return _load(path, key, scenario.seed, classes)


@lru_cache(maxsize=8)
def _load(path: Path, key: tuple[int, int], seed: int, classes: tuple[tuple[str, float], ...]) -> Replay:
    log = read_log(path)
    n = log.kept
    last = float(log.arrival_s[-1])
    if n < 2 or last <= 0:
        raise InputError(f"{path}: a replay needs two requests at different times, {n} usable rows do not give a rate")
    if last > LONGEST_S:
        raise InputError(
            f"{path}: its requests span {last / DAY_S:,.0f} days, a replay at most {LONGEST_S / DAY_S:.0f}; "
            "are its times in milliseconds or nanoseconds? write seconds, or cut the log"
        )
    span = last * n / (n - 1)  # one mean gap after the last arrival, so that n / span is the rate
    slices = max(1, round(span / HOUR_S))
    peak, noise = minute_peak_and_noise(log.arrival_s, span, slices)
    return Replay(log, assign_classes(log, seed, classes), span, slices, peak, noise)


def assign_classes(log: ReadLog, seed: int, classes: Sequence[tuple[str, float]]) -> npt.NDArray[np.int16]:
    """Class index of each request: the log's `class` where given, else that of its model where the scenario has a class for each model,
    else drawn by the scenario's shares, once per session.

    Raises InputError when the log names a class that the scenario does not have.
    """
    names = [name for name, _ in classes]
    unknown = [name for name in log.class_names if name not in names]
    if unknown:
        raise InputError(
            [
                f"{log.path}: class {name!r} is no request class of the scenario; write "
                + (get_close_matches(name, names, 1) or [" or ".join(names)])[0]
                for name in unknown
            ]
        )
    shares = np.array([share for _, share in classes])
    rng = stream(seed, "log classes")
    uniform = rng.random(log.kept)
    in_session = log.session_id >= 0
    if in_session.any():
        by_session = rng.random(int(log.session_id.max()) + 1)
        uniform[in_session] = by_session[log.session_id[in_session]]
    edges = np.cumsum(shares) / shares.sum()
    drawn = np.minimum(np.searchsorted(edges, uniform, side="right"), len(names) - 1).astype(np.int16)
    by_model = log.model_classes
    if by_model and log.model_code is not None and set(by_model) <= set(names):
        own = np.array([names.index(name) for name in by_model], dtype=np.int16)
        return np.where(log.model_code >= 0, own[log.model_code], drawn).astype(np.int16)
    if not log.class_names:
        return drawn
    index = np.array([names.index(name) for name in log.class_names], dtype=np.int16)
    return np.where(log.class_code >= 0, index[log.class_code], drawn).astype(np.int16)


def minute_peak_and_noise(arrival_s: npt.NDArray[np.float64], span_s: float, slices: int) -> tuple[float, float]:
    """Busiest minute over the mean of the busiest slice (at least 1), and the coefficient of variation of minute rates.

    The variation is what exceeds Poisson: variance of the minute counts inside a slice minus their mean, over
    mean squared.
    """
    minutes = int(span_s // MINUTE_S)
    if minutes < 1:
        return 1.0, DEFAULT_MINUTE_NOISE_CV
    counts = np.histogram(arrival_s, minutes, (0.0, minutes * MINUTE_S))[0].astype(float)
    per_slice = np.histogram(arrival_s, slices, (0.0, span_s))[0]
    busiest = per_slice.max() * MINUTE_S * slices / span_s
    peak = max(1.0, float(counts.max() / busiest))
    if minutes < FEW_MINUTES:
        return peak, DEFAULT_MINUTE_NOISE_CV
    owner = np.minimum((np.arange(minutes) + 0.5) * MINUTE_S * slices / span_s, slices - 1).astype(int)
    size = np.bincount(owner, minlength=slices)
    mean = np.bincount(owner, counts, slices) / np.maximum(size, 1)
    freedom = minutes - slices
    if freedom < 1:
        return peak, DEFAULT_MINUTE_NOISE_CV
    variance = float(((counts - mean[owner]) ** 2).sum()) / freedom
    squared = float((mean[owner] ** 2).mean())
    return peak, float(np.sqrt(max(0.0, variance - counts.mean()) / squared))


def replay_demand(scenario: Scenario) -> Demand:
    """Demand of a log: rates of each class in each of its slices times `scale`; means over the log's rows of the class."""
    assert isinstance(scenario.traffic, LogTraffic)
    replay = load_replay(scenario)
    log, classes = replay.log, len(scenario.request_classes)
    which = np.minimum(log.arrival_s / replay.slice_s, replay.slices - 1).astype(int)
    counts = np.zeros((classes, replay.slices))
    np.add.at(counts, (replay.class_id, which), 1.0)
    means = np.zeros((classes, 3))
    for index, request_class in enumerate(scenario.request_classes):
        rows = replay.rows_of(index)
        columns = (log.input_tokens, log.output_tokens, log.prefix_tokens)
        means[index] = [column[rows].mean() for column in columns] if len(rows) else mean_lengths(request_class, DEFAULT_TURNS)
    return Demand(
        slices=slice_names_of(replay),
        weight_h=np.full(replay.slices, HOURS_PER_MONTH / replay.slices),
        mean_rps=counts * (scenario.traffic.scale / replay.slice_s),
        peak_factor=replay.peak_factor,
        input_tokens=means[:, 0],
        output_tokens=means[:, 1],
        prefix_tokens=means[:, 2],
    )


def slice_names_of(replay: Replay) -> tuple[str, ...]:
    """Names of the slices: their number, and the day and time (UTC) at which they begin where the log says so.

    So "log hour 51" of a log of May 2024 is "log hour 51 (Sat 2024-05-11 03:00)".
    """
    if not replay.log.first_s:
        return tuple(f"log hour {index}" for index in range(replay.slices))
    starts = (datetime.fromtimestamp(replay.log.first_s + index * replay.slice_s, UTC) for index in range(replay.slices))
    return tuple(f"log hour {index} ({start:%a %Y-%m-%d %H:%M})" for index, start in enumerate(starts))


def replay_hour(
    scenario: Scenario,
    slice_index: int,
    seed: int,
    duration_s: float,
    warmup_s: float,
    rate_scale: float,
    classes: Sequence[int],
) -> Requests:
    """The log from `warmup_s` before slice `slice_index` on, at `rate_scale` times its rate; see `replay_at_factors`."""
    assert isinstance(scenario.traffic, LogTraffic)
    factors = np.zeros(len(scenario.request_classes))
    factors[list(classes)] = scenario.traffic.scale * rate_scale
    return replay_at_factors(scenario, slice_index, seed, duration_s, warmup_s, factors)


def replay_stretch(scenario: Scenario, slices: Sequence[int], lengths_s: Sequence[float], seed: int, warmup_s: float) -> Requests:
    """The log over slices that follow each other, the last `lengths_s[0]` seconds of the first, after `warmup_s` of what came before."""
    assert isinstance(scenario.traffic, LogTraffic)
    left_out_s = load_replay(scenario).slice_s - lengths_s[0]
    factors = np.full(len(scenario.request_classes), scenario.traffic.scale)
    return replay_at_factors(scenario, slices[0], seed, sum(lengths_s) + left_out_s, warmup_s - left_out_s, factors)


def replay_at_rates(
    scenario: Scenario, slice_index: int, rates_rps: Sequence[float], seed: int, duration_s: float, warmup_s: float
) -> Requests:
    """The log from `warmup_s` before slice `slice_index` on, each class thinned or multiplied to its mean rate there.

    A class that does not come in that slice does not come here either.
    """
    rates = replay_demand(scenario).mean_rps[:, slice_index] / scenario.traffic.scale  # type: ignore[union-attr]
    factors = np.divide(rates_rps, rates, out=np.zeros(len(rates)), where=rates > 0)
    return replay_at_factors(scenario, slice_index, seed, duration_s, warmup_s, factors)


def replay_at_factors(
    scenario: Scenario, slice_index: int, seed: int, duration_s: float, warmup_s: float, factors: npt.NDArray[np.float64]
) -> Requests:
    """The log from `warmup_s` before slice `slice_index` on; past its end the log starts again.

    `factors` [classes] on the log's rates. f <= 1: each request (each session as a whole) is kept with probability f. f > 1:
    the log itself, and further copies in which each request (session) moves by an independent uniform +-30 s,
    the last copy thinned: minutes keep their shape, bursts below a minute smooth out as they do when more
    independent users come. With f = 1 every seed gives the same hour.
    """
    replay = load_replay(scenario)
    most = float(factors.max(initial=0.0))
    length = warmup_s + duration_s
    start = slice_index * replay.slice_s - warmup_s
    check_size(replay.log.kept / replay.span_s * most * length)
    sessions = int(replay.log.session_id.max()) + 1
    taken: list[tuple[npt.NDArray[np.float64], Longs, Longs]] = []
    for copy in range(int(np.ceil(most - 1e-12))):
        margin = JITTER_S if copy else 0.0
        rows, times, lap = _window(replay, start - margin, length + 2 * margin)
        rng = stream(seed, "replay", slice_index, copy)
        who = replay.log.session_id[rows]
        move, luck = _per_session(rng, who, sessions), _per_session(rng, who, sessions)
        times = times - margin + (2 * move - 1) * margin
        keep = (times >= 0) & (times < length) & (luck < factors[replay.class_id[rows]] - copy)
        laps = int(lap.max()) + 1 if len(lap) else 1
        session = np.where(who >= 0, who + sessions * (lap + laps * copy), -1)
        taken.append((times[keep], rows[keep], session[keep]))
    if not taken:
        return merge([])
    return _requests(replay, *(np.concatenate(column) for column in zip(*taken, strict=True)))


def class_rows(scenario: Scenario, c: int) -> Requests:
    """Every row of the log that belongs to class `c`, without sessions; empty where there is none."""
    replay = load_replay(scenario)
    rows, log = replay.rows_of(c), replay.log
    return merge([Part(c, log.arrival_s[rows], log.input_tokens[rows], log.output_tokens[rows], log.prefix_tokens[rows])])


def _window(replay: Replay, start: float, length: float) -> tuple[Longs, npt.NDArray[np.float64], Longs]:
    """Rows that arrive in [start, start + length) of the log repeated for ever, their times after `start`, their lap."""
    first = int(np.floor(start / replay.span_s))
    last = int(np.floor((start + length) / replay.span_s))
    rows, times, laps = [], [], []
    for lap in range(first, last + 1):
        offset = lap * replay.span_s - start
        low, high = np.searchsorted(replay.log.arrival_s, [-offset, length - offset])
        rows.append(np.arange(low, high))
        times.append(replay.log.arrival_s[low:high] + offset)
        laps.append(np.full(high - low, lap - first))
    return np.concatenate(rows), np.concatenate(times), np.concatenate(laps)


def _per_session(rng: np.random.Generator, session_id: Longs, sessions: int) -> npt.NDArray[np.float64]:
    """A uniform draw for each row, the same for all rows of a session."""
    draws = rng.random(len(session_id))
    if sessions:
        draws = np.where(session_id >= 0, rng.random(sessions)[session_id], draws)
    return draws


def _requests(replay: Replay, times: npt.NDArray[np.float64], rows: Longs, session: Longs) -> Requests:
    order = np.argsort(times, kind="stable")
    rows = rows[order]
    log = replay.log
    one = merge([Part(0, times[order], log.input_tokens[rows], log.output_tokens[rows], log.prefix_tokens[rows], session[order])])
    return Requests(one.arrival_ps, replay.class_id[rows], one.input_tokens, one.output_tokens, one.session_id, one.prefix_tokens)
