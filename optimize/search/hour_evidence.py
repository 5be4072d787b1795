"""What the seeds of one simulated hour say of every promise, and when they have said enough."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import stdtrit

from optimize.records import Floats, ProgramInput, SloRow, SloVerdict
from optimize.search.fresh_seeds import block_variance, fresh_bound, windows_of
from optimize.search.simulated_hour import Hour, HourSample
from sim.latency import verdict

HALF_WIDTH = 0.01  # of the 95 % interval of a mean attainment, at most: a point
NORMAL = 1.96


@dataclass(frozen=True)
class HourEvidence:
    """All seeds of one hour: attainment [seeds, slo rows] over the class, and counts by target summed over seeds.

    `verdicts` are those of promises that are missed here on the pooled seeds, or that no hour before attained less; none where no
    request of the class came.
    """

    hour: Hour
    attainment: Floats
    met: npt.NDArray[np.int64]
    seen: npt.NDArray[np.int64]
    verdicts: tuple[SloVerdict, ...]
    requests: int
    hours_of_week: int

    name: str = ""
    events: int = 0
    by_event: int = 0  # requests that came as events of the SimPy clock

    blocks: Floats = field(default_factory=lambda: np.zeros((0, 1)))  # [seeds x BLOCKS, slo rows] attainment of the blocks of each seed
    quantiles: Floats = field(default_factory=lambda: np.full(1, 0.95))  # [slo rows]
    alone: Floats = field(default_factory=lambda: np.zeros((0, 1)))  # [seeds, slo rows] attainment of the hour by itself, if this is not it

    @property
    def bound(self) -> Floats:
        """[slo rows] attainment that a fresh window of this hour reaches: see `fresh_bound`."""
        return bound_of(self.attainment, self.blocks, self.seen, self.quantiles, self.hours_of_week, self.alone)

    def holds(self, quantiles: Floats) -> npt.NDArray[np.bool_]:
        """[slo rows] whether a fresh window would be met."""
        return np.asarray(self.bound >= quantiles)

    def shortfall(self, quantiles: Floats) -> Floats:
        """[slo rows] how far the bound for a fresh window is below the promise, in attainment; 0 where it holds."""
        return np.asarray(np.maximum(quantiles - self.bound, 0.0))


def bound_of(
    attainment: Floats,
    blocks: Floats,
    seen: npt.NDArray[np.int64],
    quantiles: Floats,
    hours_of_week: int,
    alone: Floats | None = None,
) -> Floats:
    """[slo rows] the bound of `fresh_bound` for the requests that came; `seen` [targets, slo rows] over all seeds."""
    windows = windows_of(seen.sum(axis=0) / len(attainment), quantiles) if seen.any() else 1.0
    return fresh_bound(attainment, hours_of_week, windows, blocks, alone)


def attained(samples: Sequence[HourSample]) -> Floats:
    """[seeds, slo rows] attainment over each row's class; 1 where there was no request."""
    met, seen = (np.array([getattr(s, name).sum(axis=0) for s in samples]) for name in ("met", "seen"))
    return np.where(seen == 0, 1.0, met / np.maximum(seen, 1))


def blocks_of(samples: Sequence[HourSample]) -> Floats:
    """[seeds x BLOCKS, slo rows] attainment in the blocks of each seed; a block without requests stands for none and takes the seed's."""
    if any(each.blocks_seen is None or each.blocks_met is None for each in samples):
        return np.zeros((0, samples[0].met.shape[1]))
    seen, met = (np.concatenate([getattr(each, name) for each in samples]) for name in ("blocks_seen", "blocks_met"))
    whole = np.repeat(attained(samples), len(seen) // len(samples), axis=0)
    return np.where(seen == 0, whole, met / np.maximum(seen, 1))


def decided(samples: Sequence[HourSample], quantiles: Floats, hours_of_week: int, alone: Floats | None = None) -> bool:
    """Whether the seeds so far settle an hour: every promise holds for a fresh window, or one is hopeless.

    Hopeless: missed on average over four seeds or more, or on a single seed by more than its blocks scatter; of a promise with few
    requests an hour, by more than the seeds scatter. To stop there costs nothing of the risk: the hour does not hold.
    """
    attainment, blocks, seen = attained(samples), blocks_of(samples), np.sum([s.seen for s in samples], axis=0)
    bound = bound_of(attainment, blocks, seen, quantiles, hours_of_week, alone)
    mean, few = attainment.mean(axis=0), windows_of(seen.sum(axis=0) / len(samples), quantiles) > 1
    doubt = np.where(few, NORMAL * attainment.std(axis=0, ddof=min(1, len(samples) - 1)) / math.sqrt(len(samples)), 0.0)
    hopeless = mean + doubt < quantiles if len(samples) >= 4 else 2 * mean - bound < quantiles
    return bool((bound >= quantiles).all() or hopeless.any())


def half_width(attainment: Floats, blocks: Floats | None = None) -> Floats:
    """[slo rows] half of the 95 % interval of the mean attainment, by Student's t: over the blocks of each seed, or over the seeds where
    those are not known.

    >>> half_width(np.array([[0.99], [0.97]])).round(3).tolist()
    [0.127]
    """
    seeds = len(attainment)
    if blocks is not None and len(blocks) >= 2 * seeds:
        within = block_variance(blocks, seeds) / len(blocks)
        return np.asarray(float(stdtrit(len(blocks) - seeds, 0.975)) * np.sqrt(within))
    if seeds < 2:
        return np.full(attainment.shape[1], math.inf)
    return np.asarray(float(stdtrit(seeds - 1, 0.975)) * attainment.std(axis=0, ddof=1) / math.sqrt(seeds))


def worth_more(attainment: Floats, most: int, blocks: Floats | None = None) -> bool:
    """Whether some mean attainment is not yet known to a point, and `most` seeds would come to that.

    Of a class with few requests they would not: it does not ask for seeds in vain.

    >>> worth_more(np.array([[0.99], [0.98]]), 24), worth_more(np.array([[0.99], [0.5]]), 24)
    (True, False)
    """
    now = half_width(attainment, blocks)
    then = NORMAL * attainment.std(axis=0, ddof=1) / math.sqrt(most) if len(attainment) > 1 else now / math.sqrt(most)
    return bool(((now > HALF_WIDTH) & (then <= HALF_WIDTH)).any())


def telling(problem: ProgramInput, found: HourEvidence, worst: dict[int, float]) -> list[int]:
    """The promises of which an hour has a verdict: those that do not hold in it, and those that no hour before attained less; `worst`
    learns.

    Where no request came, an hour says nothing of a promise, in either direction.
    """
    rows, holds = [], found.holds(found.quantiles)
    for i, row in enumerate(problem.slos):
        if not found.seen[..., i].any():
            continue
        margin = float(found.met[..., i].sum() / found.seen[..., i].sum()) - row.quantile
        if margin < worst.get(i, math.inf) or margin < 0 or not holds[i]:
            rows.append(i)
            worst[i] = min(margin, worst.get(i, math.inf))
    return rows


def gather(
    problem: ProgramInput, hour: Hour, samples: Sequence[HourSample], worst: dict[int, float], alone: Floats | None = None
) -> HourEvidence:
    """Evidence of one hour from its seeds; `worst` holds the least margin of each promise so far, and learns."""
    found = counts_of(problem, hour, samples)
    found = found if alone is None else replace(found, alone=alone)
    bound = found.bound
    verdicts = [
        slo_verdict(problem.slos[i], found.name, [s.latency[i] for s in samples], float(bound[i])) for i in telling(problem, found, worst)
    ]
    return replace(found, verdicts=tuple(verdicts))


def counts_of(problem: ProgramInput, hour: Hour, samples: Sequence[HourSample]) -> HourEvidence:
    """The evidence without verdicts."""
    met, seen = (np.sum([getattr(s, name) for s in samples], axis=0) for name in ("met", "seen"))
    return HourEvidence(
        hour=hour,
        attainment=attained(samples),
        met=met,
        seen=seen,
        verdicts=(),
        requests=sum(s.requests for s in samples),
        hours_of_week=len(problem.demand.slices),
        name=problem.demand.slices[hour.index],
        events=sum(s.events for s in samples),
        by_event=sum(s.by_event for s in samples),
        blocks=blocks_of(samples),
        quantiles=quantiles_of(problem),
    )


def quantiles_of(problem: ProgramInput) -> Floats:
    """[slo rows] the share of requests that each promise covers."""
    return np.array([row.quantile for row in problem.slos])


def slo_verdict(row: SloRow, hour: str, latency_s: Sequence[npt.NDArray[np.float32]], bound: float) -> SloVerdict:
    """What the seeds of one hour say of one promise: it is met where `bound`, what a fresh window attains, keeps it."""

    answer = verdict(latency_s, row.quantile, row.limit_s)
    return SloVerdict(
        row=row,
        hour=hour,
        simulated_s=answer.simulated_s,
        ci95_s=answer.ci95_s,
        attainment=answer.attainment,
        attainment_ci95=answer.attainment_ci95,
        requests=answer.requests,
        met=answer.met and bound >= row.quantile,
        bound=bound,
        unanswered=unanswered(latency_s),
        distribution=latency_ladder(latency_s, row.quantile),
    )


def unanswered(latency_s: Sequence[npt.NDArray[np.floating[Any]]]) -> float:
    """Share of the samples that are infinite: refused, failed or unfinished requests.

    >>> unanswered([np.array([1.0, np.inf]), np.array([2.0, 3.0])]), unanswered([])
    (0.25, 0.0)
    """
    total = sum(len(each) for each in latency_s)
    return sum(int(np.count_nonzero(np.isinf(each))) for each in latency_s) / total if total else 0.0


SHARES = (
    *(0.001, 0.005, 0.01, 0.02, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5),
    *(0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9, 0.925, 0.95, 0.97, 0.98, 0.99, 0.995, 0.999, 1.0),
)


def latency_ladder(latency_s: Sequence[npt.NDArray[np.floating[Any]]], promised: float) -> tuple[tuple[float, float], ...]:
    """(cumulative share, latency in s) at SHARES and at `promised`, over all samples of all seeds; infinite where requests never ended.

    A latency is the least sample that at least this share of all samples does not exceed, as in `sim.latency.quantile`: the ladder
    passes through the verdict's quantile. Empty where there is no sample.

    >>> dict(latency_ladder([np.array([4.0, 1.0]), np.array([3.0, np.inf])], 0.75))[0.75]
    4.0
    """
    samples = np.concatenate([np.asarray(each, np.float64) for each in latency_s]) if latency_s else np.empty(0)
    if not len(samples):
        return ()
    shares = sorted({*SHARES, promised})
    ranks = np.clip(np.ceil(np.array(shares) * len(samples) - 1e-9).astype(np.int64) - 1, 0, len(samples) - 1)
    ordered = np.partition(samples, ranks)
    return tuple((share, float(ordered[rank])) for share, rank in zip(shares, ranks, strict=True))
