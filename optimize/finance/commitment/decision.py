"""What a decision under commitment consists of. Money in USD."""

from __future__ import annotations

import math
from dataclasses import dataclass

from optimize.money.commitment_cost import Held, Timing
from sim.scenario.scenario import Commitment, Future, Scenario


@dataclass(frozen=True)
class Stage:
    """A first stage with its money. `open`: parts of the cost of owning that have no citable figure; they are missing, not zero."""

    commitment: Commitment
    held: tuple[Held, ...]
    timing: Timing
    once_usd: float
    open: tuple[str, ...]
    notes: tuple[str, ...]

    @property
    def name(self) -> str:
        return self.commitment.name

    @property
    def committed_usd(self) -> float:
        """Money that is paid whatever comes."""
        return self.once_usd + math.fsum(each.committed_usd() for each in self.held)

    @property
    def holds(self) -> bool:
        """Whether it holds anything."""
        return bool(self.held)


@dataclass(frozen=True)
class Outcome:
    """A first stage in one future.

    with_usd, without_usd   a month of recourse in addition to the held hosts, and without them
    cost_usd                over the horizon;  served_share  of the requests, the worse of both months
    once_usd                paid at the start: the stage's own, and the move off relays that no longer serve
    used                    (pool or relay, share of requests) that serve with and on the held hosts, largest first
    """

    stage: str
    future: str
    with_usd: float
    without_usd: float
    cost_usd: float
    served_share: float
    used: tuple[tuple[str, float], ...] = ()
    once_usd: float = 0.0


@dataclass(frozen=True)
class Ranked:
    """A first stage over all futures, USD over the horizon. `regret` by future; inf where it leaves requests that another serves."""

    stage: Stage
    outcomes: tuple[Outcome, ...]
    regret: tuple[float, ...]
    expected_usd: float
    expected_regret_usd: float

    @property
    def worst_regret_usd(self) -> float:
        return max(self.regret)


@dataclass(frozen=True)
class Decision:
    """All first stages in all futures. `stops`: when the recommended stage stops being right, and what leaving costs, in words."""

    scenario: Scenario
    futures: tuple[Future, ...]
    ranked: tuple[Ranked, ...]
    least_regret: str
    least_expected: str
    stops: tuple[str, ...]
    assumptions: tuple[str, ...]
    warnings: tuple[str, ...]
    measured: int
    usd_per_unit: float
