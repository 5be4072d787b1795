"""The month that follows from a first stage: what is bought in a future, given what is held."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from optimize.finance.commitment.first_stages import offers_of
from optimize.finance.commitment.futures import FIXED_TERMS, relayless, under
from optimize.market.candidates import candidates, offer_reason
from optimize.market.pools import PoolState, pool_states, slo_rows
from optimize.market.relay_terms import relay_terms
from optimize.plan import budget_usd, costs_of
from optimize.program.solve import solve
from optimize.records import ProgramInput, ProgramSolution
from optimize.search.cache import CapacityStore
from optimize.search.loop import Market, Restriction, Settled, Tell, settle
from optimize.search.routing import with_escalations
from sim.catalog.facts import Offer
from sim.errors import InputError
from sim.exact import dot
from sim.scenario.scenario import Commitment, Future, Scenario
from sim.traffic import demand as demand_of

HELD = " (held)"
GAP = 0.005
ROUNDS = 8


@dataclass(frozen=True)
class Month:
    """A month of recourse: its program, solved. Held hosts cost nothing here."""

    problem: ProgramInput
    solution: ProgramSolution

    @property
    def usd(self) -> float:
        return self.solution.cost_usd

    @property
    def served_share(self) -> float:
        """Share of the requests of the month that are served inside their promises, as planned."""
        demand = self.problem.demand
        lost = float(dot(self.solution.unserved, demand.weight_h).sum())
        return 1.0 - lost / max(float(dot(demand.mean_rps, demand.weight_h).sum()), 1e-12)

    def used(self) -> tuple[tuple[str, float], ...]:
        """(pool or relay, share of all requests), largest first."""
        weight_h = self.problem.demand.weight_h
        total = float(dot(self.problem.demand.mean_rps, weight_h).sum())
        names = [terms.option.id for terms in self.problem.pools] + [terms.relay.id for terms in self.problem.relays]
        flows = [*self.solution.pool_flow, *self.solution.relay_flow]
        shares = [(name, float(dot(flow, weight_h).sum()) / total) for name, flow in zip(names, flows, strict=True)]
        return tuple(sorted(((name, share) for name, share in shares if share > 1e-6), key=lambda x: (-x[1], x[0])))


class Recourse:
    """Months of recourse for any first stage and future; what has been measured once is known to all."""

    def __init__(self, scenario: Scenario, store: CapacityStore, jobs: int, tell: Tell) -> None:
        self.scenario, self.tell = scenario, tell
        demand, slos = demand_of(scenario), slo_rows(scenario)
        hourly = replace(scenario, offers=tuple(offer for offer in scenario.offers if offer.term not in FIXED_TERMS))
        free, _ = candidates(hourly, demand)
        held = [option for offer in self._held_offers() for option in candidates(replace(scenario, offers=(offer,)), demand)[0]]
        options, costs = (*free, *held), costs_of(scenario, (*free, *held))
        options, relays = with_escalations(scenario, demand, slos, options, costs, relay_terms(scenario, demand, slos))
        states = pool_states(options, costs, demand, slos)
        self.free, self.held = states[: len(free)], dict[str, list[PoolState]]()
        for state in states[len(free) :]:
            self.held.setdefault(state.option.offer.id.removesuffix(HELD), []).append(state)
        self._check_use()
        self.market = Market(scenario, demand, slos, [], relays, budget_usd(scenario), store, jobs, tell)
        self._known: dict[tuple[tuple[tuple[str, int], ...], str, Future], Month] = {}

    def _held_offers(self) -> list[Offer]:
        """Offers that some stage holds, free of charge and running in every hour. Raises InputError for those that policy rules out."""
        offers, found, problems = offers_of(self.scenario), {}, []
        for commitment in self.scenario.commitments:
            for name, hosts in commitment.hold:
                reason = offer_reason(offers[name], self.scenario)
                if reason:
                    problems.append(f"{self.scenario.path}: commitments.{commitment.name}.hold.{name}: {reason}")
                stock = offers[name].stock
                if stock is not None and stock < hosts:
                    problems.append(f"{self.scenario.path}: commitments.{commitment.name}.hold.{name}: {hosts} > the {stock} in stock")
                found[name] = replace(offers[name], id=name + HELD, usd_per_hour=0.0, elastic=False)
        if problems:
            raise InputError(list(dict.fromkeys(problems)))
        return list(found.values())

    def _check_use(self) -> None:
        """Raises InputError for held offers on which nothing runs that a class accepts."""
        idle = [
            f"{self.scenario.path}: commitments.{each.name}.hold.{name}: no model that a class accepts fits on it; hold another offer"
            for each in self.scenario.commitments
            for name, _ in each.hold
            if name not in self.held
        ]
        if idle:
            raise InputError(idle)

    def states(self, hold: tuple[tuple[str, int], ...], recourse: str, allowed: set[int]) -> list[PoolState]:
        """Pools that may run: those on held hosts, as many as are held; others by the rule of recourse."""
        kept = [s for s in self.free if recourse == "any" or set(s.option.classes) <= allowed]
        for name, hosts in hold:
            for state in self.held[name]:
                offer = replace(state.option.offer, stock=hosts)
                kept.append(replace(state, option=replace(state.option, offer=offer)))  # shares what is measured with the original
        return kept

    def measure(self, commitment: Commitment) -> None:
        """Measures every pool that the stage uses as things are today, with its hosts and without them."""
        for hold in dict.fromkeys((commitment.hold, ())):
            self.settled(hold, commitment.recourse, Future("as today"))

    def settled(self, hold: tuple[tuple[str, int], ...], recourse: str, future: Future) -> Settled:
        """The month with every used pool measured roughly, at the future's prices and demand as they are today."""
        market = replace(self.market, states=self.states(hold, recourse, self.allowed(future)))
        market.relays = [terms for terms in self.market.relays if terms.relay.model not in future.retired]
        answer = settle(market, Restriction("recourse", budget_usd=math.inf, gap=GAP, rough=True), ROUNDS)
        self.market.measured = market.measured
        return answer

    def allowed(self, future: Future) -> set[int]:
        """Classes that no relay may serve in a future."""
        return relayless(under(self.market.problem(Restriction(), []), future))

    def month(self, hold: tuple[tuple[str, int], ...], recourse: str, future: Future) -> Month:
        """The cheapest month given `hold` in `future`, among pools that were measured; budgets do not bind it."""
        key = (hold, recourse, replace(future, name="", weight=1.0))
        if key not in self._known:
            month = self._solved(hold, recourse, future)
            if month.served_share < 1 - 1e-6:  # perhaps for lack of a measured pool
                self.settled(hold, recourse, future)
                month = self._solved(hold, recourse, future)
            self._known[key] = month
        return self._known[key]

    def _solved(self, hold: tuple[tuple[str, int], ...], recourse: str, future: Future) -> Month:
        states = self.states(hold, recourse, self.allowed(future))
        known = [s for s in states if s.points and np.isfinite(s.terms().levels[0].load).any()]
        problem = under(self.market.problem(Restriction("recourse", budget_usd=math.inf), known), future)
        return Month(problem, solve(problem, gap=GAP))
