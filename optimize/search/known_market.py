"""What a search knows: the market that grows wiser, a restriction of it, and a solution in which every used pool was measured."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from optimize.market.cascades import classifier_prices
from optimize.market.contract_terms import boot_terms, spot_terms
from optimize.market.pools import PoolState
from optimize.money import classifier_usd
from optimize.program.solve import NODE_LIMIT
from optimize.records import Floats, ProgramInput, ProgramSolution, RelayTerms, SloRow
from optimize.search.cache import CapacityStore
from sim.requests import Demand
from sim.scenario.scenario import Scenario

Tell = Callable[[str], None]


@dataclass(frozen=True)
class Restriction:
    """A narrower market: which pools stay, which relay may serve which class, and whether limits and budget hold."""

    name: str = "plan"
    keep_pool: Callable[[PoolState], bool] = lambda _: True
    keep_relay: Callable[[RelayTerms], RelayTerms | None] = lambda terms: terms
    budget_usd: float | None = None
    demand: Demand | None = None
    gap: float = 0.005
    rough: bool = False  # pools not measured yet are measured to about 2 % on one seed
    nodes: int = NODE_LIMIT  # of one hour's program at most; the gap may then stay wider than `gap`
    choose_limits: bool = False  # of a rough question: other engine limits are tried as well, as they are for the plan


@dataclass
class Market:
    """All that is known while searching. `states` and `relays` grow wiser; nothing else changes."""

    scenario: Scenario
    demand: Demand
    slos: tuple[SloRow, ...]
    states: list[PoolState]
    relays: list[RelayTerms]
    budget_usd: float
    store: CapacityStore
    jobs: int
    tell: Tell
    measured: int = 0
    requests_simulated: int = 0
    half_width: float = 0.0  # of attainment, the widest of the close measurements
    interrupted: bool = False
    rounds: int = field(default=0)
    at_first: dict[str, Floats] = field(default_factory=dict)  # relay -> [slo rows] its miss shares before any proof

    def __post_init__(self) -> None:
        self.at_first = self.at_first or {terms.relay.id: terms.miss for terms in self.relays}

    solver: str = "highs"
    stated: Scenario | None = None  # what the user wrote, where `scenario` is what is believed of it; None: the same

    def pools(self, restriction: Restriction) -> list[PoolState]:
        """Pools that the restriction keeps and that can serve something."""
        return [s for s in self.states if restriction.keep_pool(s) and np.isfinite(s.terms().levels[0].load).any()]

    def problem(self, restriction: Restriction, pools: Sequence[PoolState]) -> ProgramInput:
        """The program for what is known now."""
        policy = self.scenario.policy
        kept = [terms for terms in map(restriction.keep_relay, self.relays) if terms is not None]
        demand, prices = restriction.demand or self.demand, classifier_prices(self.scenario)
        return ProgramInput(
            demand=demand,
            slos=self.slos,
            pools=tuple(state.terms() for state in pools),
            relays=tuple(kept),
            budget_usd=self.budget_usd if restriction.budget_usd is None else restriction.budget_usd,
            max_relay_share=policy.max_relay_share,
            n_plus_one=policy.n_plus_one,
            class_names=tuple(c.name for c in self.scenario.request_classes),
            spot=spot_terms(policy),
            vendor_shares=policy.vendor_shares,
            relay_outage_reserve=policy.relay_outage_reserve,
            boot=boot_terms(policy, demand, held=any(state.lead_s or state.linger_s for state in pools)),
            fixed_usd=classifier_usd(demand, prices),
            classifier_usd=prices,
            solver=self.solver,
        )


@dataclass(frozen=True)
class Settled:
    """A solution in which every used pool was measured (unless `rounds` ran out), with the problem it solves."""

    problem: ProgramInput
    solution: ProgramSolution
    pools: tuple[PoolState, ...]

    @property
    def unserved(self) -> bool:
        """Whether any demand is left unserved beyond rounding."""
        return bool((self.solution.unserved > 1e-6 * np.maximum(self.problem.demand.mean_rps, 1e-12)).any())
