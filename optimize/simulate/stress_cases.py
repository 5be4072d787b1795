"""What a saved plan should survive: one hour of it for each thing that could happen."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from optimize.explain.uncertainty import scaled
from optimize.market.engine_settings import router_of
from optimize.market.optimistic_load import saturated_load_s
from optimize.market.permits import relay_reason
from optimize.search.simulated_hour import HOUR_S, WARMUP_S
from optimize.simulate.saved_plan import fleet_in
from sim.catalog.relay_records import Outages
from sim.engine.deployment import PS
from sim.engine.pool import Pool
from sim.fleet.fleet import Fleet
from sim.fleet.life.life_terms import Change, Lifecycle, PoolRules
from sim.plural import counted, plural
from sim.relay.endpoint import RelayEndpoint
from sim.requests import Demand
from sim.scenario.scenario import Scenario

MORE_DEMAND, LONGER_STEPS = 1.3, 1.5
OUTAGE_MINUTES = 30.0
NOTICE_S = 120.0  # AWS, "Spot Instance interruption notices": two minutes; Azure and Google give 30 s
BEGIN_PS, END_PS = round(WARMUP_S * PS), round((WARMUP_S + HOUR_S) * PS)
Json = dict[str, Any]


@dataclass(frozen=True)
class Case:
    """One hour to simulate. `sudden`: something happens at its beginning; else it lasts through the warm-up, too.

    `hours_differ`: the warm-up belongs to the hour before; the fleet then has two rows of classes, those of before and those of the hour.
    """

    name: str
    detail: str
    hour: int
    fleet: Fleet
    life: Lifecycle | None = None
    rate: float = 1.0
    sudden: bool = False
    hours_differ: bool = False


def cases(plan: Json, scenario: Scenario, demand: Demand, hour: int | None = None) -> tuple[list[Case], list[str]]:
    """Every case that the plan can meet and that can be simulated, and in words why the others are left out."""
    peak = int(np.argmax(demand.mean_rps.sum(axis=0))) if hour is None else hour
    found = [
        Case("as planned", "nothing happens", peak, _fleet(plan, scenario, peak)),
        Case(
            f"demand x{MORE_DEMAND:g}",
            "every class sends more, shares of targets stay",
            peak,
            _fleet(plan, scenario, peak),
            rate=MORE_DEMAND,
        ),
        _long_steps(_fleet(plan, scenario, peak), peak),
    ]
    lost = [_hour_change(plan, scenario, demand), _relay_out(plan, scenario, demand), _spot_lost(plan, scenario, peak)]
    found += [case for case in lost if isinstance(case, Case)]
    found += _hosts_down(plan, scenario, demand)
    notes = [case for case in lost if isinstance(case, str)]
    barred = [case for case in found if case.life is not None and case.fleet.cascade is not None]
    notes += [f"{case.name}: fleet life is not simulated together with a classifier before the fleet" for case in barred]
    return [case for case in found if not any(case is each for each in barred)], notes


def _fleet(plan: Json, scenario: Scenario, t: int) -> Fleet:
    return fleet_in(plan, scenario, t, router_of(scenario))[0]


def _long_steps(fleet: Fleet, t: int) -> Case:
    targets = tuple(replace(each, cost=scaled(each.cost, LONGER_STEPS)) if isinstance(each, Pool) else each for each in fleet.targets)
    return Case(f"steps x{LONGER_STEPS:g}", "every step of own GPUs lasts longer", t, replace(fleet, targets=targets))


def _hour_change(plan: Json, scenario: Scenario, demand: Demand) -> Case | str:
    """The full hour at which most replicas come or go: new ones were ordered one boot before, those that go finish what they have."""
    kinds = [name.split()[0] for name in demand.slices]
    by_hour = np.array([entry["replicas"]["by_hour"] for entry in plan["fleet"]], dtype=np.int64).reshape(-1, len(kinds))
    moves = [int(np.abs(by_hour[:, t] - by_hour[:, t - 1]).sum()) if t and kinds[t] == kinds[t - 1] else 0 for t in range(len(kinds))]
    t = int(np.argmax(moves))
    if moves[t] == 0:
        return "hour change: the plan runs the same replicas in every hour"
    most = by_hour[:, t - 1 : t + 1].max(axis=1)
    wide = plan | {"fleet": [e | {"replicas": {"by_hour": [int(n)] * len(kinds)}} for e, n in zip(plan["fleet"], most, strict=True)]}
    before, fleet = _fleet(wide, scenario, t - 1), _fleet(wide, scenario, t)
    boots = {offer.id: offer.boot_s for offer in scenario.offers}
    rules, changes = [], []
    for p, entry in enumerate(plan["fleet"]):
        k = next((k for k, each in enumerate(fleet.targets) if each.name == entry["pool"]), None)
        if k is None:
            continue
        had, wanted, boot_ps = int(by_hour[p, t - 1]), int(by_hour[p, t]), min(BEGIN_PS, round(boots.get(entry["offer"], 0.0) * PS))
        rules.append(PoolRules(k, start=had, boot_ps=boot_ps))
        changes.append(Change(BEGIN_PS - (boot_ps if wanted > had else 0), k, "scale", wanted))
    detail = f"{by_hour[:, t - 1].sum()} replicas become {by_hour[:, t].sum()}: new ones ordered one boot before, those that go drain"
    life = Lifecycle(tuple(rules), tuple(changes))
    return Case("hour change", detail, t, _both_hours(before, fleet), life, sudden=True, hours_differ=True)


def _both_hours(before: Fleet, fleet: Fleet) -> Fleet:
    """Two fleets of the same targets as one, with the classes of the first and, behind them, those of the second."""
    classes = len(before.shares)
    later = tuple(replace(rule, class_id=rule.class_id + classes) for rule in fleet.failover)
    factors = None if fleet.token_factors is None else np.concatenate([fleet.token_factors, fleet.token_factors])
    return replace(
        fleet,
        shares=np.concatenate([before.shares, fleet.shares]),
        failover=(*before.failover, *later),
        priorities=(*fleet.priorities, *fleet.priorities),
        token_factors=factors,
    )


def _relay_out(plan: Json, scenario: Scenario, demand: Demand) -> Case | str:
    """The relay that carries the most requests in some hour is out in that hour."""
    best: tuple[float, int, str] | None = None
    for t in range(len(demand.slices)):
        for relay in plan["relays"]:
            rate = _rate(plan, scenario, demand, relay["relay"], t)
            if rate > 0 and (best is None or rate > best[0] + 1e-9):
                best = (rate, t, relay["relay"])
    if best is None:
        return "largest relay out: the plan uses no relay"
    _, t, name = best
    fleet = _fleet(plan if scenario.policy.relay_failover == "none" else _with_standby(plan, scenario), scenario, t)
    outage = Outages(minutes=OUTAGE_MINUTES, at_s=WARMUP_S)
    targets = tuple(
        replace(each, relay=replace(each.relay, outages=outage)) if isinstance(each, RelayEndpoint) and each.name == name else each
        for each in fleet.targets
    )
    taker = {
        "none": "nothing takes over (policy.relay_failover)",
        "relays": "other relays take over",
        "fleet": "other relays and own pools take over",
    }
    detail = f"{name} refuses every call for {OUTAGE_MINUTES:g} minutes; {taker[scenario.policy.relay_failover]}"
    return Case("largest relay out", detail, t, replace(fleet, targets=targets), sudden=True)


def _with_standby(plan: Json, scenario: Scenario) -> Json:
    """The plan with the candidate relays that it does not use, for requests that its own relays fail; their limits are enforced."""
    used = {row["relay"] for row in plan["relays"]}
    free = [relay for relay in scenario.relays if relay.id not in used and not relay_reason(relay, scenario)]
    return plan | {"relays": [*plan["relays"], *({"relay": relay.id, "limits_enforced": True} for relay in free)]}


def _rate(plan: Json, scenario: Scenario, demand: Demand, target: str, t: int) -> float:
    shares = [plan["routing"].get(c.name, {}).get(target) for c in scenario.request_classes]
    return float(sum(float(s[t]) * demand.mean_rps[c, t] for c, s in enumerate(shares) if s is not None))


def _spot_lost(plan: Json, scenario: Scenario, t: int) -> Case | str:
    """All spot hosts are reclaimed with the usual notice, and none comes back in the hour."""
    fleet = _fleet(plan, scenario, t)
    spot = {entry["pool"] for entry in plan["fleet"] if entry["term"] == "spot"}
    hit = [(k, pool) for k, pool in enumerate(fleet.targets) if isinstance(pool, Pool) and pool.name in spot]
    if not hit:
        return "spot lost: no spot host runs in the hour with most demand"
    rules = tuple(PoolRules(k, notice_ps=round(NOTICE_S * PS), fallback=_elsewhere(plan, scenario, fleet, k)) for k, _ in hit)
    changes = tuple(Change(BEGIN_PS, k, "reclaim", pool.replicas) for k, pool in hit)
    replicas = sum(pool.replicas for _, pool in hit)
    detail = f"all spot replicas ({replicas}) are reclaimed with {NOTICE_S:g} s notice, none comes back in the hour"
    return Case("spot lost", detail, t, fleet, Lifecycle(rules, changes), sudden=True)


def _hosts_down(plan: Json, scenario: Scenario, demand: Demand) -> Iterator[Case]:
    """For each pool: one host fails in the hour in which its replicas have most to do, and is not repaired in it."""
    offers = [entry["offer"] for entry in plan["fleet"]]
    for p, entry in enumerate(plan["fleet"]):
        name = entry["offer"] + (f" #{offers[: p + 1].count(entry['offer'])}" if offers.count(entry["offer"]) > 1 else "")
        t = _binding_hour(plan, entry, scenario, demand)
        fleet = _fleet(plan, scenario, t)
        k = next(k for k, each in enumerate(fleet.targets) if each.name == entry["pool"])
        pool, lost = fleet.targets[k], int(entry["replicas_per_host"])
        assert isinstance(pool, Pool)
        life = Lifecycle(
            (PoolRules(k, fallback=_elsewhere(plan, scenario, fleet, k)),), (Change(BEGIN_PS, k, "fail", min(lost, pool.replicas)),)
        )
        gone = min(lost, pool.replicas)
        detail = f"{entry['pool']}: {gone} of {counted(pool.replicas, 'replica')} {plural(gone, 'fails', 'fail')}, not repaired in the hour"
        yield Case(f"host down: {name}", detail, t, fleet, life, sudden=True)


def _elsewhere(plan: Json, scenario: Scenario, fleet: Fleet, pool: int) -> tuple[tuple[float, ...], ...]:
    """[classes][targets] where requests go that find no replica of the pool: where else the plan sends their class, in proportion; else
    to other pools whose model may answer, by their replicas; else to the relay that takes over for relays, if policy names one.
    """
    models = {entry["pool"]: entry["model"] for entry in plan["fleet"]}
    table = np.where(np.arange(len(fleet.targets)) == pool, 0.0, fleet.shares)
    for c, request_class in enumerate(scenario.request_classes):
        if not table[c].any() and fleet.shares[c, pool] > 0:
            able = [
                isinstance(each, Pool) and k != pool and models[each.name] in request_class.models for k, each in enumerate(fleet.targets)
            ]
            table[c] = [each.replicas if isinstance(each, Pool) and fits else 0 for each, fits in zip(fleet.targets, able, strict=True)]
        if not table[c].any():
            takers = [rule.relay for rule in fleet.failover if rule.class_id == c and fleet.shares[c, pool] > 0]
            table[c, takers[:1]] = 1.0
    totals = np.maximum(table.sum(axis=1, keepdims=True), 1e-300)
    return tuple(tuple(row) for row in (table / totals).tolist())


def _binding_hour(plan: Json, entry: Json, scenario: Scenario, demand: Demand) -> int:
    """The slice with most estimated work per replica of a pool."""
    hours = [t for t, replicas in enumerate(entry["replicas"]["by_hour"]) if replicas > 0]
    fleet = _fleet(plan, scenario, hours[0])
    pool = next(each for each in fleet.targets if each.name == entry["pool"])
    assert isinstance(pool, Pool)
    work = np.zeros(len(demand.slices))
    for c, request_class in enumerate(scenario.request_classes):
        by_hour = plan["routing"][request_class.name].get(entry["pool"])
        if by_hour is not None:
            tokens = float(demand.input_tokens[c]), float(demand.output_tokens[c])
            load_s = saturated_load_s(pool.cost, pool.kv_blocks, pool.limits.max_num_seqs, *tokens, np.inf)
            work += load_s * demand.mean_rps[c] * np.array(by_hour, dtype=float)
    return max(hours, key=lambda t: (round(work[t] / entry["replicas"]["by_hour"][t], 9), -t))
