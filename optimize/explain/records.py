"""What an explanation consists of. Money in USD a month; shares are 0..1."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Shadow:
    """What a little more of one scarce thing is worth, by the linear relaxation; `sentence` says it for people.

    name          what there is more of;  amount, unit  how much more
    saves_usd     a month, at most: the relaxation gains no less than the program does from one unit
    serves_share  further share of all requests that is served (budgets only)
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
