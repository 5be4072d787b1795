"""A plan with its proof and what surrounds it: what every report reads. Money in USD a month; shares are 0..1."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from optimize.records import (
    Alternative,
    CostLine,
    Dropped,
    Flip,
    GapParts,
    ProgramInput,
    ProgramSolution,
    Verification,
)
from sim.requests import Demand
from sim.scenario.scenario import Scenario

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Shadow:
    """What a little more of one scarce thing is worth, by the linear relaxation; `sentence` says it for people.

    name          what there is more of;  amount, unit  how much more
    saves_usd     a month, at most: the relaxation gains no less than the program does from one unit
    serves_share  further share of all requests that is served, where some are not: then nothing is saved
    """

    name: str
    amount: float
    unit: str
    saves_usd: float
    sentence: str
    serves_share: float = 0.0


@dataclass(frozen=True)
class Attribution:
    """The bill by class and hour, exactly: `usd` [classes, slices] sums to the total.

    rule            the rule in one sentence
    marginal_usd    [classes, slices] what one request more would cost, by the duals of demand; NaN without demand
    """

    rule: str
    usd: Floats
    marginal_usd: Floats


@dataclass(frozen=True)
class Bottleneck:
    """What limits a pool in its fullest hour, from a short simulation of that hour and the parts of a step at the point found there.

    parts        name -> share of a step's time (they sum to 1)
    busy, kv_mean, kv_peak   shares: time with a step running, blocks in use
    load_share   load over measured capacity;  hit_share  prompt tokens found in the prefix cache
    """

    pool: str
    hour: str
    parts: dict[str, float]
    busy_share: float
    kv_mean_share: float
    kv_peak_share: float
    sequences: float
    sequences_limit: int
    load_share: float
    hit_share: float
    limit: str
    sentence: str


@dataclass(frozen=True)
class Left:
    """A class of which not everything is served: share of its requests of a month, and the hours in which it misses."""

    name: str
    share: float
    hours: tuple[str, ...]


@dataclass(frozen=True)
class Give:
    """A promise that would have to give: `needed_s` is the limit at which there is a plan, None if no limit examined helps alone;
    `then_usd` is what that plan costs a month."""

    class_name: str
    metric: str
    quantile: float
    limit_s: float
    needed_s: float | None
    then_usd: float | None
    sentence: str


@dataclass(frozen=True)
class TooLong:
    """A class whose requests fit the context of no candidate. Tokens as the candidate with the largest context counts them.

    prompt_tokens   at `quantile`, that of the class's strictest promise;  longest_tokens  prompt and answer of the longest request
    context_tokens  the largest context, that of `candidate` (a relay or a model for own hosts)
    """

    class_name: str
    quantile: float
    prompt_tokens: int
    longest_prompt_tokens: int
    longest_tokens: int
    context_tokens: int
    candidate: str

    @property
    def sentence(self) -> str:
        """For people."""
        tail = f"p{100 * self.quantile:g} {self.prompt_tokens:,}; with the answer up to {self.longest_tokens:,}"
        return (
            f"{self.class_name}: prompts of up to {self.longest_prompt_tokens:,} tokens ({tail}) do not fit the context of any candidate; "
            f"the largest is {self.context_tokens:,} ({self.candidate}). Shorter prompts (request_classes.{self.class_name}.context) "
            "or a model with a longer context would make a plan, a relaxed promise would not"
        )


@dataclass(frozen=True)
class NoPlan:
    """Why there is no plan, and what would make one.

    smallest_budget_usd  the least budget that serves everything, None where no budget does;  served_share  inside the budget
    never         classes of which no budget serves everything;  nobody  those of them that no candidate may serve at all
    """

    smallest_budget_usd: float | None
    served_share: float
    left: tuple[Left, ...]
    never: tuple[str, ...]
    nobody: tuple[str, ...]
    gives: tuple[Give, ...]
    examined: bool  # whether promises were relaxed one by one
    too_long: tuple[TooLong, ...] = ()  # of the classes that no budget serves
    binding: tuple[str, ...] = ()  # which policy, stock or limit leaves requests unserved, in words
    late: tuple[str, ...] = ()  # which promise each candidate breaks alone, in words


@dataclass(frozen=True)
class FrontierPoint:
    """A plan inside `budget_usd` a month serves `served_share` of all requests inside their promises; it is not simulated."""

    budget_usd: float
    served_share: float


@dataclass(frozen=True)
class Why:
    """The explanation of one plan."""

    shadows: tuple[Shadow, ...] = ()
    attribution: Attribution | None = None
    bottlenecks: tuple[Bottleneck, ...] = ()
    no_plan: NoPlan | None = None
    frontier: tuple[FrontierPoint, ...] = ()
    notes: tuple[str, ...] = field(default=())


@dataclass(frozen=True)
class PoolError:
    """One pool of the plan and the error of its step cost on measurements that the fit has not seen.

    load        "low" or "loaded": where the pool works in its busiest hour
    share       of all requests of a month that it serves
    errors      metric -> (median, p90) of |simulated / measured - 1| at that load
    """

    pool: str
    deployment: str
    calibrated: bool
    load: str
    share: float
    errors: dict[str, tuple[float, float]]

    @property
    def step(self) -> tuple[float, float]:
        """Median and p90 error of a step's time: the larger of throughput and TPOT."""
        known = [self.errors[metric] for metric in ("throughput", "tpot") if metric in self.errors]
        return (max((m for m, _ in known), default=0.0), max((p for _, p in known), default=0.0))


@dataclass(frozen=True)
class Band:
    """The binding hours simulated again with each pool's step cost raised by its error. `missed` names promises that then fail."""

    name: str  # "median" or "p90"
    raised: tuple[float, float]  # least and largest error among the pools
    hours: tuple[str, ...]
    missed: tuple[str, ...]

    @property
    def met(self) -> bool:
        """Whether every promise survives."""
        return not self.missed


@dataclass(frozen=True)
class Pilot:
    """The cheapest measurement that would replace the weakest step cost of the plan by the user's own."""

    deployment: str
    offer: str
    hours: float
    usd: float
    commands: tuple[str, ...]


@dataclass(frozen=True)
class Blame:
    """A promise that breaks in one hour, in `share` of all drawn worlds."""

    promise: str
    hour: str
    share: float


@dataclass(frozen=True)
class Chance:
    """The chance that every promise holds in every hour, over the law of what is not known.

    target, share   asked for, and found;  half_width  of its 95 % interval, by the number of draws
    planned_at      the probability below which each error by itself was planned for
    steps           deployment -> how many times as long as simulated its steps are at that probability
    """

    target: float
    share: float
    half_width: float
    draws: int
    hours: tuple[str, ...]
    planned_at: float
    blame: tuple[Blame, ...]
    steps: Mapping[str, float]


@dataclass(frozen=True)
class Rung:
    """What the month costs at another chance; None where nothing serves everything. Only the plan's own rung is `proved`."""

    chance: float
    usd: float | None
    fleet: str
    proved: bool


@dataclass(frozen=True)
class PilotWorth:
    """What a pilot saves a month in expectation at the same chance; `left` of the deviation of the doubt remains after it."""

    pilot: Pilot
    saves_usd: float
    left: float


@dataclass(frozen=True)
class Confidence:
    """How sure a plan is, what other chances cost, and what would make it surer."""

    chance: Chance
    ladder: tuple[Rung, ...] = ()
    pilots: tuple[PilotWorth, ...] = ()
    own_wins: float | None = None  # share of drawn worlds in which own GPUs cost less than relays; None where one of them is no plan


@dataclass(frozen=True)
class Uncertainty:
    """Everything that is said about how far the plan can be trusted. Shares are of all requests of a month.

    safety_usd   what planning at (1 - safety) of measured capacity costs a month, as in `GapParts`; None where that was not computed
    """

    pools: tuple[PoolError, ...]
    uncalibrated_share: float
    relayed_share: float
    bands: tuple[Band, ...]
    pilot: Pilot | None
    safety: float
    safety_usd: float | None
    confidence: Confidence | None = None  # None where no chance was asked for


@dataclass(frozen=True)
class ModelQuality:
    """`share` of a class's answers come from `model`. `accepted` of `n` were accepted, surely `least`; None where not evaluated."""

    model: str
    share: float
    accepted: float | None = None
    least: float | None = None
    n: int = 0


@dataclass(frozen=True)
class ClassQuality:
    """`accepted` is the mean over the answers of all models, None unless each was evaluated; `usd_per_accepted` likewise."""

    name: str
    models: tuple[ModelQuality, ...]
    accepted: float | None
    usd_per_accepted: float | None


@dataclass(frozen=True)
class Quality:
    """`verdict` continues the verdict in words, empty where there is nothing to add; `routing` says what routing saves."""

    classes: tuple[ClassQuality, ...]
    verdict: str
    routing: str


@dataclass(frozen=True)
class Plan:
    """A plan with its proof: what every report is made of. Money in USD; `usd_per_unit` converts into the scenario's currency."""

    scenario: Scenario
    demand: Demand
    program: ProgramInput
    solution: ProgramSolution
    status: str  # met, unverified, over_budget, infeasible, missed
    lines: tuple[CostLine, ...]
    verification: Verification | None
    fluid_bound_usd: float
    alternatives: tuple[Alternative, ...]
    flips: tuple[Flip, ...]
    dropped: tuple[Dropped, ...]
    binding: tuple[str, ...]  # what binds, in words
    demand_band: tuple[tuple[float, float], ...]  # (requests per user-day, USD a month)
    rounds: int
    assumptions: tuple[str, ...]
    warnings: tuple[str, ...]
    usd_per_unit: float = 1.0
    extra: dict[str, str] = field(default_factory=dict)
    gap_parts: GapParts | None = None  # why it costs more than divisible hosts without reserve and margin would
    uncertainty: Uncertainty | None = None  # None where nothing was simulated
    why: Why | None = None  # None where nothing was explained
    chance: Chance | None = None  # that every promise holds; None where none was asked for, or there is no plan
    quality: Quality | None = None  # None where no class lets more than one model answer, and nothing is routed
