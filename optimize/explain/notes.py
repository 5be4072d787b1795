"""What is said about a plan: what was taken for granted, how far the simulator was off, what to watch."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from optimize.money.bill import share_of_relays
from optimize.money.price_claims import claim_flags, dated_warnings
from optimize.money.units import to_currency
from optimize.records import CostLine, ProgramInput, SloVerdict, Verification
from optimize.search.fresh_seeds import HOLD_OUT_SEEDS
from optimize.search.hour_evidence import HourEvidence
from optimize.search.loop import Market, Settled
from optimize.search.verify import verification
from sim.catalog.assumed_latency import has_assumed_latency
from sim.catalog.facts import Catalog
from sim.engine.release import CURRENT_VERSION
from sim.engine.step_cost import best_row
from sim.plural import counted
from sim.scenario.scenario import LogTraffic, Scenario
from sim.traffic.readers import read_log

POISSON = "Arrivals are Poisson within each minute, minute volumes vary with the scenario's coefficient, hours repeat every week."
REPLAYED = (
    "Arrivals and lengths are those of the log, bursts included; capacities are measured on its pairs of lengths under Poisson "
    "arrivals with the noise of its minutes, and its hours repeat for a month."
)
WAITING = "Users wait for their answers: each sends the next request after a pause, and the load of an hour has no noise of its own."
ASSUMPTIONS = (
    "Pool capacity is measured at the class mix that the plan sends, on pools of up to 8 replicas; larger pools carry no less per replica.",
    "Relay latency is stationary: no congestion beyond account limits, no outage.",
    "Token counts do not depend on the model that answers, beyond the factors that the scenario writes.",
    "Own GPUs find in their prefix cache what routing, memory and think times leave there; relays bill cached prefixes at their price.",
)


def arrival_assumption(scenario: Scenario) -> str:
    """How requests come, in one sentence."""
    if isinstance(scenario.traffic, LogTraffic):
        return REPLAYED
    return POISSON if scenario.traffic.loop is None else WAITING


def hours_left_out(settled: Settled) -> list[str]:
    """For each class with unserved demand: the slices in which it is left out."""
    demand, left = settled.problem.demand, settled.solution.unserved
    words = []
    for c, name in enumerate(settled.problem.class_names):
        where = [demand.slices[t] for t in np.flatnonzero(left[c] > 1e-6 * np.maximum(demand.mean_rps[c], 1e-12))]
        if where:
            words.append(f"{name} misses in {counted(len(where), 'hour')}: {', '.join(where[:6])}{' ...' if len(where) > 6 else ''}")
    return words


def in_currency(usd: float, scenario: Scenario) -> str:
    """An amount in the currency of the budget, without cents: "$300", "276 EUR"."""
    currency = scenario.budget.currency
    amount = to_currency(usd, scenario.catalog.fx_usd.get(currency, 1.0))
    return f"${amount:,.0f}" if currency == "USD" else f"{amount:,.0f} {currency}"


def effort(market: Market, evidence: list[HourEvidence]) -> str:
    """What was simulated for the plan, and how closely attainments are known: half of the widest 95 % interval."""
    room = f"attainment +/- {100 * market.half_width:.2f} points"
    known = f"{counted(market.measured, 'pool')} measured on {market.requests_simulated:,} requests, {room}"
    if not evidence:
        return f"{known}; nothing simulated in verification"
    widest = max((half_width(v) for v in verification(evidence, HOLD_OUT_SEEDS).verdicts), default=0.0)
    requests = sum(e.requests for e in evidence)
    return f"{known}; the plan verified on {requests:,} requests, attainment +/- {100 * widest:.2f} points"


def half_width(verdict: SloVerdict) -> float:
    """Half of the 95 % interval of its attainment."""
    low, high = verdict.attainment_ci95
    return (high - low) / 2


def log_notes(scenario: Scenario) -> list[str]:
    """What was read of a request log, and what a replay of it cannot show."""
    if not isinstance(scenario.traffic, LogTraffic):
        return []

    read = read_log(scenario.traffic.log)
    caveat = "a log replays the hours that it holds: seeds vary relays and routing, not the arrivals"
    return [read.summary(), *read.notes, caveat]


def unanswered_warnings(proof: Verification | None, class_names: Sequence[str]) -> list[str]:
    """Classes of which some requests are never answered: what share, and what that means for their promises."""
    worst = {} if proof is None else proof.unanswered()
    why = "they fit no context or memory, fail, or do not end; each counts as missed in every promise"
    return [
        f"{class_names[c]}: up to {share:.2%} of the requests of an hour are never answered: {why}"
        for c, share in sorted(worst.items())
        if share > 0
    ]


def relay_warnings(settled: Settled, catalog: Catalog) -> list[str]:
    """Used relays whose model retires or whose price will change, and claims with what they contradict."""
    words = []
    for a, terms in enumerate(settled.problem.relays):
        if not settled.solution.relay_flow[a].any():
            continue
        relay = terms.relay
        words += dated_warnings(relay, catalog)
        if relay.grade == "claimed":
            words.append(f"{relay.id}: its price is a claim without confirmation")
            words += [f"{relay.id}: {flag}" for flag in claim_flags(relay, catalog)]
    return words


def licence_warnings(settled: Settled) -> list[str]:
    """What the licence of a bought card forbids, where its row of the catalogue says so."""
    words = []
    for p, terms in enumerate(settled.problem.pools):
        deployment = terms.option.deployment
        if deployment is None or not settled.solution.hosts[p].any() or "licence" not in deployment.gpu.caveat:
            continue
        said = next(part.strip() for part in deployment.gpu.caveat.split(";") if "licence" in part)
        words.append(f"{terms.option.offer.id}: {said}; ask who sells it, or take a card for data centres")
    return list(dict.fromkeys(words))


def error_notes(settled: Settled) -> list[str]:
    """For each calibrated kind of replica in the plan: how far the simulator was off on measurements it had not seen."""
    notes = []
    for p, state in enumerate(settled.pools):
        deployment, cost = state.option.deployment, state.cost
        if deployment is None or cost is None or not cost.calibrated or not settled.solution.hosts[p].any():
            continue
        parts = [
            f"{label} {cost.error[f'{key}_median']:.0%} median, {cost.error[f'{key}_p90']:.0%} at the 90th percentile"
            for key, label in (("throughput", "throughput"), ("tpot", "TPOT"), ("ttft", "TTFT"))
            if f"{key}_median" in cost.error
        ]
        if parts:
            kind = f"{deployment.weights.id} on {deployment.gpu.id}"
            notes.append(f"Simulator error for {kind}, held out, over all loads: {'; '.join(parts)}. The verdict does not contain it.")
    return list(dict.fromkeys(notes))


def engine_notes(scenario: Scenario, settled: Settled) -> list[str]:
    """For each calibrated kind of replica in the plan: which engine it is planned for, and how new the runs behind its step cost are."""
    version = scenario.engine.get("version")
    planned = f"vLLM {version}" if version else f"today's vLLM ({CURRENT_VERSION})"
    notes = []
    for p, state in enumerate(settled.pools):
        deployment, cost = state.option.deployment, state.cost
        if deployment is None or cost is None or not cost.calibrated or not settled.solution.hosts[p].any():
            continue
        row = best_row(deployment, scenario.catalog.calibration)
        kind = f"{deployment.weights.id} on {deployment.gpu.id}"
        if row is not None and not row.source.title.startswith("own runs"):
            newest = f"the newest run behind its step cost is of {row.newest}"
            measured = newest if row.newest else "no run behind its step cost is of vLLM from 0.8 on"
            notes.append(f"{kind} is planned for {planned}; {measured}.")
    return list(dict.fromkeys(notes))


def latency_warnings(problem: ProgramInput, lines: Sequence[CostLine]) -> list[str]:
    """What share of the bill is paid to relays whose latency no one has probed."""
    share = share_of_relays(lines, {terms.relay.id for terms in problem.relays if has_assumed_latency(terms.relay)})
    if share <= 0.0:
        return []
    text = f"{share:.0%} of the bill rests on relay latency that no one has probed: TTFT from public tables"
    return [f"{text}, and its growth with the prompt from the model's size; `probe` measures both"]


def calibration_warnings(settled: Settled) -> list[str]:
    """Pools in the plan whose step cost was not fitted to measurements."""
    words = []
    for p, state in enumerate(settled.pools):
        if settled.solution.hosts[p].any() and state.cost is not None and not state.cost.calibrated:
            words.append(f"{state.option.id}: step cost from data sheets, not calibrated on measurements")
    return words


def confidence_notes(market: Market) -> list[str]:
    """What a plan for a chance takes for granted."""
    target = market.scenario.policy.confidence
    if market.stated is None or target is None:
        return []
    return [
        f"policy.confidence {target:g}: engines and relays are planned as slow as the law of errors says they are not in {target:.0%} of "
        "cases; latencies are those of such engines (docs/explanation/confidence.md)."
    ]


def unused_confidence(scenario: Scenario) -> list[str]:
    """Why a chance that was asked for was not planned for."""
    if scenario.policy.confidence is None:
        return []
    if scenario.measured_capacity is not None:
        return ["policy.confidence is not used: with candidates.measured_capacity nothing is simulated"]
    if scenario.catalog.error_law is None:
        return ["policy.confidence is not used: the catalogue has no error_law.yaml"]
    return []
