"""From measured seconds to a law: the family that fits best, or the quantiles themselves where none does."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from sim.catalog.relay_records import Law, LoadPoint, RelayLatency
from sim.probe.attempts import Attempt
from sim.relay.law import law_quantiles

Floats = npt.NDArray[np.float64]
FEWEST = 20
LILLIEFORS = 0.886  # 5 % point of KS x sqrt(n) for a log-normal with fitted parameters (Lilliefors 1967); strict for the others
TAIL = 0.10  # log-distance at p95 (and p99 of 200 values and more) up to which a family counts as fitting
TAIL_FROM = 0.9
GRID = (*np.linspace(0.0, 0.98, 50).round(3).tolist(), 0.985, 0.99, 0.995, 0.999, 1.0)
STEEPEST_WIDTH = 1.5  # longest over shortest prompt from which a slope by prompt length is fitted


def fit_law(values: Sequence[float] | Floats) -> Law:
    """The family with the smallest Kolmogorov-Smirnov distance among those that fit, with that distance; else empirical quantiles.

    Fits: distance below the 5 % point for fitted parameters, and p95 (p99) within 10 %. With fewer than 20 values a log-normal
    whose `samples` tells how little it rests on.
    """
    seconds = np.sort(np.maximum(np.asarray(values, float), 1e-6))
    size = len(seconds)
    laws = [Law(f, p, (), ks_distance(Law(f, p), seconds), size) for f, p in _families(seconds)]
    if size < FEWEST:
        return laws[0]
    fitting = [law for law in laws if law.ks <= LILLIEFORS / np.sqrt(size) and _tail_error(law, seconds) <= TAIL]
    if fitting:
        return min(fitting, key=lambda law: law.ks)
    points = np.quantile(seconds, GRID)
    return Law("empirical", (), tuple((float(q), float(x)) for q, x in zip(GRID, points, strict=True)), 0.0, size)


def ks_distance(law: Law, seconds: Floats) -> float:
    """Largest distance between the CDF of `law` and that of the sorted sample: both sides of each step, through the inverse CDF."""
    probability = np.linspace(1e-4, 1 - 1e-4, 4001)
    model = np.interp(seconds, law_quantiles(law, probability), probability)
    steps = np.arange(len(seconds) + 1) / len(seconds)
    return float(max(np.max(steps[1:] - model), np.max(model - steps[:-1])))


def _tail_error(law: Law, seconds: Floats) -> float:
    at = np.array([0.95, 0.99] if len(seconds) >= 200 else [0.95])
    return float(np.max(np.abs(np.log(law_quantiles(law, at) / np.quantile(seconds, at)))))


def _families(seconds: Floats) -> list[tuple[str, tuple[float, ...]]]:
    """Parameters of each family; the log-normal first."""
    logs = np.log(seconds)
    centre, sigma = float(np.mean(logs)), max(float(np.std(logs)), 1e-6)
    found: list[tuple[str, tuple[float, ...]]] = [("lognormal", (float(np.exp(centre)), sigma))]
    shifted = [_shifted(seconds, share) for share in (0.3, 0.5, 0.7, 0.8, 0.9, 0.95)]
    found.append(("shifted_lognormal", min(shifted, key=lambda p: ks_distance(Law("shifted_lognormal", p), seconds))))
    found.append(("loglogistic", (float(np.median(seconds)), float(sigma * np.sqrt(3) / np.pi))))
    middle = np.quantile(logs, [0.16, 0.5, 0.84])
    top = logs[int(np.ceil(TAIL_FROM * len(logs))) :]
    start = float(np.quantile(logs, TAIL_FROM))
    if len(top) >= 5 and float(np.mean(top) - start) > 1e-6:
        body_sigma = max(float(middle[2] - middle[0]) / 2, 1e-6)
        body = (float(np.exp(middle[1])), body_sigma, TAIL_FROM, 1.0 / float(np.mean(top) - start))  # Hill 1975
        found.append(("lognormal_pareto", body))
    return found


def _shifted(seconds: Floats, share: float) -> tuple[float, float, float]:
    shift = share * float(seconds[0])
    logs = np.log(seconds - shift)
    return shift, float(np.exp(np.mean(logs))), max(float(np.std(logs)), 1e-6)


def fit_latency(attempts: Sequence[Attempt]) -> RelayLatency | None:
    """Latency of the answered attempts on the levels of a plan; None when too few were answered to say anything.

    The part of TTFT that grows with the prompt (Theil-Sen slope) is taken out first, then the part that grows with load (ratio of
    medians to the lowest level, monotone), and the rest is one law.
    """
    good = [a for a in attempts if a.ok and a.reply.first_s is not None and not a.level.startswith("limit of")]
    if len(good) < 3:
        return None
    tokens = np.array([a.input_tokens for a in good], float)
    ttft = np.array([a.reply.first_s for a in good], float)
    slope = _slope(tokens, ttft)
    rest = np.maximum(ttft - slope * tokens, 1e-4)
    levels = [a.level for a in good]
    load = _load(good, levels, rest)
    factors = {name: point for name, point in load.items()}
    ttft_law = fit_law(rest / np.array([factors[name].ttft for name in levels]))
    timed = [(a.tpot_s / factors[a.level].tpot) for a in good if a.tpot_s is not None]
    tpot_law = fit_law(timed) if len(timed) >= 3 else Law("lognormal", (1e-6, 1e-6))
    points = tuple(sorted(load.values(), key=lambda point: point.in_flight))
    return RelayLatency(ttft_law, tpot_law, slope, points if len(points) > 1 else ())


def _slope(tokens: Floats, ttft: Floats) -> float:
    """Seconds per prompt token, 0 or more; 0 where prompts are too alike to say. At most what the quickest answers allow."""
    if len(tokens) < FEWEST or tokens.max() < STEEPEST_WIDTH * tokens.min():
        return 0.0
    from scipy.stats import theilslopes

    chosen = slice(None) if len(tokens) <= 1000 else slice(None, None, len(tokens) // 1000 + 1)
    steepest = 0.9 * float(np.min(ttft / tokens))
    slope = theilslopes(ttft[chosen], tokens[chosen])
    return min(float(slope[0]), steepest) if slope[2] > 0 else 0.0  # 95 % sure that it is above 0


def _load(good: Sequence[Attempt], levels: list[str], rest: Floats) -> dict[str, LoadPoint]:
    """Level -> load point; in flight: the median number of calls that were open when one was sent (a closed loop fills up first)."""
    from scipy.optimize import isotonic_regression

    names = list(dict.fromkeys(levels))
    mask = {name: np.array([level == name for level in levels]) for name in names}
    in_flight = {name: float(np.median([a.in_flight for a in good if a.level == name])) for name in names}
    names.sort(key=lambda name: in_flight[name])
    tpot = np.array([np.nan if a.tpot_s is None else a.tpot_s for a in good])
    medians = np.array([[np.median(rest[mask[name]]), _median(tpot[mask[name]])] for name in names])
    sizes = [int(mask[name].sum()) for name in names]
    rising = [isotonic_regression(column, weights=sizes).x for column in medians.T]
    ratio = [column / column[0] if column[0] > 0 else np.ones_like(column) for column in rising]
    return {name: LoadPoint(in_flight[name], float(ratio[0][k]), float(ratio[1][k])) for k, name in enumerate(names)}


def _median(values: Floats) -> float:
    known = values[~np.isnan(values)]
    return float(np.median(known)) if len(known) else 1.0
