"""Scenario -> plan: the steps of the search in order, and what is said about them."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from optimize.explain.alternatives import unserved_note
from optimize.explain.answer_quality import quality_of
from optimize.explain.binding import binding
from optimize.explain.cost_gap import fluid_bound
from optimize.explain.explanation import surroundings
from optimize.explain.late import late_relays
from optimize.explain.notes import (
    ASSUMPTIONS,
    arrival_assumption,
    calibration_warnings,
    confidence_notes,
    effort,
    engine_notes,
    error_notes,
    hours_left_out,
    in_currency,
    latency_warnings,
    licence_warnings,
    log_notes,
    relay_warnings,
    unanswered_warnings,
    unused_confidence,
)
from optimize.explain.own_capacity import with_own_measured
from optimize.explain.why import why_given
from optimize.market.believed import believed
from optimize.market.candidates import candidates, no_own_hosts, offer_drops
from optimize.market.context_fit import fitting
from optimize.market.drawn_scores import joint_probability
from optimize.market.pools import pool_states, slo_rows
from optimize.market.relay_bills import price_notes
from optimize.market.relay_terms import relay_drops, relay_terms
from optimize.money import cost_lines
from optimize.money.amounts import scaled_usd, share_of
from optimize.money.owned_price import owned_notes, with_owned_prices
from optimize.money.token_budget import with_token_budget
from optimize.money.units import to_usd
from optimize.program.solve import solve
from optimize.records import Dropped, PoolOption
from optimize.result import Chance, Plan
from optimize.search.batch_hours import batch_hours, batch_note
from optimize.search.cache import CapacityStore, default_folder
from optimize.search.chance import chance_of, stated, worlds
from optimize.search.demand_rounds import ROUNDS, demand_notes, job_of, next_demand, settled_loop
from optimize.search.fresh_seeds import HOLD_OUT_SEEDS, seeds_of
from optimize.search.hour_evidence import HourEvidence
from optimize.search.log_hours import fit_hours, refit
from optimize.search.loop import Market, Restriction, Settled, Tell, prove, settle, slim_down
from optimize.search.overflow_choice import metered
from optimize.search.played_hours import Played, with_played
from optimize.search.routing import routing_notes, saves, settle_routed, with_escalations
from optimize.search.simple_fleets import EFFORT, LIGHT, WORTH, Proof, adopted, simplest
from optimize.search.simulated_hour import check_playable
from optimize.search.timetable_proof import prove_timetable
from optimize.search.user_capacity import measured_alternatives, measured_terms
from optimize.search.verify import untested, verification
from sim.engine.deployment import StepCost
from sim.engine.step_cost import step_cost
from sim.engine.warm import warm_up
from sim.plural import counted
from sim.progress import Stage
from sim.scenario.scenario import Scenario
from sim.traffic import demand as demand_of

Finder = Callable[[Scenario, "float | None"], "Found"]
PASSES, SHORT, MOST_PROBABILITY = 3, 0.01, 0.99  # of the search for a chance, until it is that close below what was asked for
LARGE_GAP = 0.03  # between cost and bound, above which simple fleets are tried at length
SEARCHED, PROVED, SETTLED = 0.35, 0.5, 0.6  # parts of the time of a whole run that lie before its stages; rough, for "about 2 min left"


def optimize(
    scenario: Scenario,
    jobs: int = 2,
    tell: Tell = lambda _: None,
    cache: Path | None = None,
    only_plan: bool = False,
    full: bool = False,
    solver: str = "highs",
    proof: str = "changes",
) -> Plan:
    """The cheapest plan found for `scenario`, with its proof; `status` says how far it holds.

    `only_plan` leaves out what surrounds it: alternatives, flips, the demand band, the explanation and the uncertainty (a point of a
    grid). `full` explains at length: alternatives are simulated, and every promise of a large scenario without a plan is relaxed.
    `solver` is highs or cbc; `proof` says what is played of the timetable (see `played_hours.PROOFS`).
    """
    if scenario.measured_capacity is not None:
        return unverified_plan(scenario, jobs, tell, solver)

    def planned(asked: Scenario) -> tuple[Market, Settled]:
        return settle_routed(market_for(asked, jobs, tell, cache, solver)[0])

    scenario = batch_hours(settled_loop(scenario, tell, planned), tell, planned)

    def finder(each: Scenario, probability: float | None) -> Found:
        return find(each, jobs, tell, cache, solver, proof, probability)

    if scenario.policy.confidence is None or scenario.catalog.error_law is None:
        found, chance = found_for(scenario, finder, None), None
    else:
        target = scenario.policy.confidence
        begin = first_probability(market_for(scenario, jobs, tell, cache, solver, target)[0], target)
        found, chance = found_with_chance(scenario, finder, target, begin)
    return assemble(found.market, found.answer, found.dropped, only_plan, full, chance)


def first_probability(market: Market, target: float) -> float:
    """The probability to plan for first: that at which the engines of a rough plan hold together with the chance `target`."""
    warm_up(market.tell)
    settled = settle(market, Restriction("engines", rough=True))
    return min(max(target, joint_probability(worlds(market, settled), target)), MOST_PROBABILITY)


def found_with_chance(scenario: Scenario, finder: Finder, target: float, begin: float) -> tuple[Found, Chance | None]:
    """The plan for errors as large as the probability `begin` asks, and its chance; planned again for more while that is below `target`.

    No chance is told of what is no plan.
    """
    probability = begin
    for k in range(PASSES):
        found = found_for(scenario, finder, probability)
        settled = found.answer.settled
        if found.answer.status not in ("met", "over_budget") or not found.answer.evidence:
            return found, None
        chance, _ = chance_of(found.market, settled, probability, target)
        needed = max(joint_probability(worlds(found.market, settled), target), probability + target - chance.share)
        if chance.share >= target - SHORT or needed <= probability or k == PASSES - 1:
            break
        probability = min(round(needed, 3), MOST_PROBABILITY)
        found.market.tell(Stage(f"every promise holds with {chance.share:.0%}: planning again, each error by itself at {probability:.1%}"))
    return found, chance


def found_for(scenario: Scenario, finder: Finder, probability: float | None) -> Found:
    """The plan with its proof; where the demand depends on it, for what it serves."""
    found = finder(scenario, probability)
    for _ in range(ROUNDS):
        wanted = None if found.answer.status != "met" and job_of(scenario) is not None else next_demand(found.market, found.answer.settled)
        if wanted is None:
            break
        found.market.tell(Stage("the demand depends on the plan: planning again for what this one serves"))
        again = finder(replace(scenario, traffic=wanted), probability)
        if job_of(scenario) is not None and not (again.answer.status == "met" and again.cost_usd < found.cost_usd):
            break
        found = again
    return found


@dataclass(frozen=True)
class Found:
    """A plan with its proof, before anything that surrounds it, and what was left out."""

    market: Market
    answer: Answer
    dropped: tuple[Dropped, ...]

    @property
    def cost_usd(self) -> float:
        """A month's cost."""
        return self.answer.settled.solution.cost_usd


def find(scenario: Scenario, jobs: int, tell: Tell, cache: Path | None, solver: str, proof: str, probability: float | None = None) -> Found:
    """The cheapest plan for the demand that `scenario` states, with its proof; for engines and relays as slow as they are below with
    `probability`, else as simulated."""
    market, dropped = market_for(scenario, jobs, tell, cache, solver, probability)
    check_playable(market.demand, needed=lambda: fluid_bound(market) <= market.budget_usd)  # else no plan comes to its proof
    warm_up(tell)
    tell(Stage(f"{counted(len(market.states), 'pool')} and {counted(len(market.relays), 'relay')} are candidates"))
    market, settled = settle_routed(market)
    if settled.unserved:
        answer = without_plan(market, settled, proof)
    else:
        tell(Stage("the plan of the measured program is found; now its proof", SEARCHED))
        settled, evidence = prove(market, fit_hours(market, settled))
        tell(Stage("the proof is done; now whether fewer hosts do", PROVED))
        settled, evidence = refit(market, *slim_down(market, settled, evidence))
        answer = timed(market, *no_dearer_than_simple(market, settled, evidence), proof)
        if answer.status == "missed":
            answer = beyond_budget(market, answer, proof)
    return Found(market, answer, dropped)


@dataclass(frozen=True)
class Answer:
    """A plan, what was seen of its hours by themselves and after the hour before, what it may call itself, and what is to be said of it."""

    settled: Settled
    evidence: list[HourEvidence]
    status: str
    notes: tuple[str, ...] = ()
    played: tuple[Played, ...] = ()


def timed(market: Market, settled: Settled, evidence: list[HourEvidence], proof: str) -> Answer:
    """The plan once its timetable was played: `over_budget` where it holds and costs more than the scenario's budget."""
    settled, evidence, played = prove_timetable(market, settled, evidence, proof)
    settled = metered(settled, evidence)
    status, budget = proven_status(settled, [*evidence, *(each.hour for each in played)]), budget_usd(market.scenario)
    if status == "met" and settled.solution.cost_usd > budget * (1 + 1e-9):
        return Answer(settled, evidence, "over_budget", (over_words(market.scenario, settled.solution.cost_usd),), tuple(played))
    return Answer(settled, evidence, status, (), tuple(played))


def market_for(
    scenario: Scenario,
    jobs: int = 2,
    tell: Tell = lambda _: None,
    cache: Path | None = None,
    solver: str = "highs",
    probability: float | None = None,
) -> tuple[Market, tuple[Dropped, ...]]:
    """What may be bought, nothing measured yet, and what was left out and why; `probability` as in `find`."""
    stated = with_token_budget(with_owned_prices(scenario))
    scenario = stated if probability is None else believed(stated, probability)
    demand, slos = demand_of(scenario), slo_rows(scenario)
    options, dropped = candidates(scenario, demand)
    costs = costs_of(scenario, options)
    options, relays, too_long = fitting(scenario, options, relay_terms(scenario, demand, slos), slos)
    dropped = (*dropped, *too_long)
    options, relays = with_escalations(scenario, demand, slos, options, costs, relays)
    market = Market(
        scenario=scenario,
        demand=demand,
        slos=slos,
        states=pool_states(options, costs, demand, slos),
        relays=relays,
        budget_usd=budget_usd(scenario),
        store=CapacityStore(cache if cache is not None else default_folder()),
        jobs=jobs,
        tell=tell,
        solver=solver,
        stated=None if probability is None else stated,
    )
    return market, dropped


def costs_of(scenario: Scenario, options: tuple[PoolOption, ...]) -> dict[str, StepCost]:
    """Step cost of every deployment among the options."""
    deployments = {o.deployment.id: o.deployment for o in options if o.deployment is not None}
    return {name: step_cost(deployment, scenario.catalog.calibration) for name, deployment in deployments.items()}


def budget_usd(scenario: Scenario) -> float:
    """The monthly budget in USD."""
    return to_usd(scenario.budget.per_month, scenario.catalog.fx_usd.get(scenario.budget.currency, 1.0))


def proven_status(settled: Settled, evidence: list[HourEvidence]) -> str:
    """`met` where the hold-out seeds of every hour speak for a fresh one, at the risk of `fresh_seeds`; `unverified` where none came."""
    if not any(v.requests for e in evidence for v in e.verdicts):
        return "unverified"
    met = all(v.met for e in evidence for v in e.verdicts)
    return "met" if met and not settled.unserved else "missed"


def no_dearer_than_simple(market: Market, settled: Settled, evidence: list[HourEvidence]) -> Proof:
    """The plan, or what comes of a simple fleet that holds and is cheaper; where the plan does not hold, of any inside the budget."""
    held = proven_status(settled, evidence) == "met"
    cost = settled.solution.cost_usd
    below = scaled_usd(cost, 1 - WORTH) if held else market.budget_usd
    found = simplest(market, Restriction(), below, LIGHT if held and settled.solution.gap <= LARGE_GAP else EFFORT)
    return (settled, evidence) if found is None else adopted_with_bound(market, found)


def adopted_with_bound(market: Market, proof: Proof) -> Proof:
    """What comes of a simple fleet that holds; where the program knows no bound on its cost, with that of the fluid."""
    settled, evidence = adopted(market, proof)
    cost = settled.solution.cost_usd
    bound = max(settled.solution.model_bound_usd, min(fluid_bound(market), cost))
    gap = 1.0 - share_of(bound, cost) if cost > 0 else 0.0
    return replace(settled, solution=replace(settled.solution, model_bound_usd=bound, gap=gap)), evidence


def without_plan(market: Market, settled: Settled, proof: str) -> Answer:
    """The program serves not everything inside the budget: a simple fleet that does, or what it would take, or who cannot be served."""
    free = settle(market, Restriction("without a budget", budget_usd=math.inf))
    simple = simplest(market, Restriction(budget_usd=math.inf), math.inf if free.unserved else free.solution.cost_usd)
    if simple is not None and simple[0].solution.cost_usd <= market.budget_usd:
        return timed(market, *adopted_with_bound(market, simple), proof)
    if free.unserved and simple is None:
        return Answer(settled, [], "infeasible", (f"at any budget: {unserved_note(market, free)}",))
    need = free.solution.cost_usd if simple is None else simple[0].solution.cost_usd
    if not free.unserved and settled.solution.cost_usd > market.budget_usd * (1 + 1e-9):  # what is paid in any case is too much alone
        rich = replace(market, budget_usd=math.inf)
        answer = timed(rich, *prove(rich, free), proof)
        if answer.status in ("met", "over_budget"):
            return answer
    inside = unserved_note(market, settled)
    return Answer(settled, [], "over_budget", (over_words(market.scenario, need), f"inside the budget: {inside}"))


def beyond_budget(market: Market, missed: Answer, proof: str) -> Answer:
    """A plan that holds and costs more than the budget, where the one inside it does not hold; else the latter, missed."""
    market.tell("no plan inside the budget holds: looking beyond it")
    rich = replace(market, budget_usd=math.inf)
    free = settle(rich, Restriction())
    if free.unserved:
        return missed
    answer = timed(rich, *prove(rich, free), proof)
    return answer if answer.status in ("met", "over_budget") else missed


def over_words(scenario: Scenario, usd: float) -> str:
    """What the cheapest plan that serves everything costs, and how far above the budget that is."""
    above = in_currency(usd - budget_usd(scenario), scenario)
    return f"the cheapest plan that serves everything costs {in_currency(usd, scenario)} a month, {above} above the budget"


def assemble(
    market: Market,
    answer: Answer,
    dropped: tuple[Dropped, ...],
    only_plan: bool = False,
    full: bool = False,
    chance: Chance | None = None,
) -> Plan:
    """The plan record; everything that a report says is in it."""
    settled, evidence, status = answer.settled, answer.evidence, answer.status
    scenario, problem, solution = market.scenario, settled.problem, settled.solution
    seen = verification(evidence, seeds_of(scenario.seed, HOLD_OUT_SEEDS)) if evidence else None
    warnings = [
        *scenario.warnings,
        *unused_confidence(scenario),
        *unanswered_warnings(seen, problem.class_names),
        *log_notes(scenario),
        *([] if market.states else no_own_hosts(scenario, market.demand, dropped)),
        *answer.notes,
        *hours_left_out(settled),
        *untested(problem, evidence),
        *relay_warnings(settled, scenario.catalog),
        *calibration_warnings(settled),
        *licence_warnings(settled),
    ]
    lines = cost_lines(problem, solution)
    warnings += latency_warnings(problem, lines)
    market.tell(effort(market, evidence))
    if not only_plan:
        market.tell(Stage("the plan stands; now what surrounds it: alternatives, explanation, uncertainty", SETTLED))
    around = None if only_plan else surroundings(market, settled, status, lines, full, chance)
    return Plan(
        scenario=stated(market),
        demand=market.demand,
        program=problem if only_plan else with_own_measured(market, settled),
        solution=solution,
        status=status,
        lines=lines,
        verification=None if seen is None else with_played(seen, problem, answer.played),
        fluid_bound_usd=fluid_bound(market),
        alternatives=around.alternatives if around else (),
        flips=around.flips if around else (),
        dropped=(*dropped, *late_relays(market, solution, problem.relays)),
        binding=binding(market, settled),
        demand_band=around.demand_band if around else (),
        rounds=market.rounds,
        assumptions=(
            *demand_notes(market, settled),
            *batch_note(scenario),
            arrival_assumption(scenario),
            *ASSUMPTIONS,
            *routing_notes(scenario),
            *owned_notes(scenario),
            *price_notes(scenario, problem.relays, solution.relay_flow, problem.demand.weight_h),
            *error_notes(settled),
            *engine_notes(scenario, settled),
            *confidence_notes(market),
        ),
        warnings=tuple(dict.fromkeys(warnings)),
        usd_per_unit=scenario.catalog.fx_usd.get(scenario.budget.currency, 1.0),
        gap_parts=around.gap_parts if around else None,
        uncertainty=around.uncertainty if around else None,
        chance=chance,
        quality=quality_of(scenario, problem, solution, lines, saves(around.routed if around else (), settled)),
        why=around.why if around else None,
    )


def unverified_plan(scenario: Scenario, jobs: int, tell: Tell, solver: str = "highs") -> Plan:
    """A plan on the user's own measured capacities; there is no engine to simulate."""
    scenario = with_token_budget(with_owned_prices(scenario))
    demand, slos = demand_of(scenario), slo_rows(scenario)
    _, relays, too_long = fitting(scenario, (), relay_terms(scenario, demand, slos), slos)
    dropped = (*offer_drops(scenario), *relay_drops(scenario, range(len(scenario.request_classes))), *too_long)
    barred = {each.name for each in dropped}
    terms = tuple(each for each in measured_terms(scenario, slos) if each.option.offer.id not in barred)
    market = Market(scenario, demand, slos, [], relays, budget_usd(scenario), CapacityStore(None), jobs, tell)
    market.solver = solver
    problem = replace(market.problem(Restriction(), []), pools=terms)
    settled = Settled(problem, solve(problem), ())
    status = "unverified"
    notes: list[str] = []
    if settled.unserved:
        free = Settled(problem, solve(replace(problem, budget_usd=math.inf)), ())
        status = "infeasible" if free.unserved else "over_budget"
        notes = [unserved_note(market, settled)]
    market.states = []
    return assemble_unverified(market, settled, status, notes, dropped)


def assemble_unverified(market: Market, settled: Settled, status: str, notes: list[str], dropped: tuple[Dropped, ...]) -> Plan:
    """The plan record of a program on measured capacities, with one alternative per offer."""

    scenario, lines = market.scenario, cost_lines(settled.problem, settled.solution)
    return Plan(
        scenario=scenario,
        demand=market.demand,
        program=settled.problem,
        solution=settled.solution,
        status=status,
        lines=lines,
        verification=None,
        fluid_bound_usd=settled.solution.model_bound_usd,
        alternatives=measured_alternatives(settled.problem),
        flips=(),
        dropped=dropped,
        binding=binding(market, settled),
        demand_band=(),
        rounds=0,
        assumptions=("Rates per replica are the user's own measurements; classes add linearly; nothing was simulated.",),
        warnings=(
            *scenario.warnings,
            *unused_confidence(scenario),
            *notes,
            *hours_left_out(settled),
            *relay_warnings(settled, scenario.catalog),
        ),
        usd_per_unit=scenario.catalog.fx_usd.get(scenario.budget.currency, 1.0),
        why=why_given(settled.problem, settled.solution, lines),
    )
