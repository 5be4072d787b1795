"""A plan.json read back: its fleet in one hour, for `simulate --plan`."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from optimize.market.cascades import cascade_of, with_classified
from optimize.market.engine_settings import engine_limits, priorities_of, release_of
from optimize.market.failover import failovers
from optimize.market.token_factors import class_factors, fleet_factors
from optimize.records import Spill
from optimize.search.batch_hours import with_moved
from optimize.search.simulated_hour import overflow_rules, through_pools
from sim.engine.deployment import KV_BYTES, PS, Deployment
from sim.engine.memory import kv_blocks
from sim.engine.pool import Pool
from sim.engine.step_cost import step_cost
from sim.errors import InputError, quoted
from sim.fleet.fleet import Fleet
from sim.forms import MAYBE_NUMBER, MAYBE_TEXT, NUMBER, unlike
from sim.named_files import read_json
from sim.relay.endpoint import RelayEndpoint
from sim.scenario import load_scenario
from sim.scenario.scenario import Moved, Scenario, SyntheticTraffic

SCHEMA = "servemix.plan/1"
TORN = "is not a whole plan; make it again with `optimize --out DIR`"
FORM: dict[str, Any] = {  # of what is read of a plan, where it is there: plans of earlier versions lack some of it
    "scenario": str,
    "scenario_digest": MAYBE_TEXT,
    "status": str,
    "cost": {
        "currency": str,
        "per_month": NUMBER,
        "lower_bound_per_month": MAYBE_NUMBER,
        "lines": [{"name": str, "kind": str, "per_month": NUMBER}],
    },
    "charges": [{"line": str, "item": str, "quantity": NUMBER, "unit": str, "usd_per_unit": NUMBER, "per_month": NUMBER}],
    "finance": {"usd_per_unit": NUMBER, "contracts": [dict]},
    "hours": [{"hour": str, "weight_h": NUMBER, "demand_rps": NUMBER}],
    "moved": [{"class": str, "wait_h": int, "by_hour": [NUMBER]}],
    "fleet": [
        {
            **dict.fromkeys(("pool", "offer"), str),
            **dict.fromkeys(("gpu", "model", "weights", "term"), MAYBE_TEXT),  # measured capacities name no deployment
            "tensor_parallel": (int, type(None)),
            "replicas": {"base": int, "peak": int, "by_hour": [int]},
            "billed_hosts_by_hour": [NUMBER],
            "cost_per_month": NUMBER,
        }
    ],
    "relays": [
        {
            "relay": str,
            "model": MAYBE_TEXT,
            "requests_per_month": NUMBER,
            "tokens_per_month": {"*": NUMBER},
            "limits_enforced": bool,
            "cost_per_month": NUMBER,
        }
    ],
    "classes": [{"name": str, "requests_per_month": NUMBER, "served_by": {"*": MAYBE_NUMBER}}],
    "routing": {"*": {"*": [MAYBE_NUMBER]}},
}


def read_plan(path: Path) -> dict[str, Any]:
    """The JSON object of a plan file, its numbers finite; InputError when it is not one."""
    plan = read_json(path, "a plan.json that `optimize --out DIR` wrote")
    if not isinstance(plan, dict) or plan.get("schema") != SCHEMA:
        found = quoted(plan.get("schema")) if isinstance(plan, dict) else type(plan).__name__
        raise InputError(f"{path}: schema: {found} is not {SCHEMA}; name a plan.json that `optimize --out DIR` wrote")
    problems = unlike(plan, FORM, whole=False)
    if problems:
        raise InputError([*(f"{path}: {problem}" for problem in problems), f"{path}: {TORN}"])
    return plan


def as_planned(plan: dict[str, Any], scenario: Scenario) -> Scenario:
    """The scenario with its batch work in the hours into which the plan moved it, and their promises less the wait.

    Raises InputError where the two do not fit.
    """
    rows, traffic = plan.get("moved") or [], scenario.traffic
    if not rows or (isinstance(traffic, SyntheticTraffic) and traffic.moved):
        return scenario
    names = [each.name for each in scenario.request_classes]
    bad = [row for row in rows if row["class"] not in names or len(row["by_hour"]) != 48 or min(row["by_hour"]) < 0]
    bad += [row for row in rows if not 0 < row["wait_h"] < 24]
    if bad or not isinstance(traffic, SyntheticTraffic):
        raise InputError(f"moved: the plan's batch hours do not fit scenario {scenario.name}; make the plan again with `optimize`")
    return with_moved(scenario, tuple(Moved(names.index(row["class"]), tuple(map(float, row["by_hour"])), row["wait_h"]) for row in rows))


def fleet_from_plan(source: Path | dict[str, Any], scenario: Scenario, t: int, router: str) -> tuple[Fleet, bool]:
    """The fleet that the saved plan (its file, or the object in it) runs in slice `t`, and whether every step cost in it is calibrated.

    The plan must have been made for this scenario, with the overrides given now or with none: so a plan can be tried under other
    traffic by overrides, and never by mistake on a file that has changed since. Raises InputError.
    """
    path, plan = ("the plan", source) if isinstance(source, dict) else (source, read_plan(source))
    if plan.get("scenario") != scenario.name:
        raise InputError(f'{path}: scenario: the plan is for "{plan.get("scenario")}", not for "{scenario.name}"')
    if plan.get("status") == "unverified":
        raise InputError(f"{path}: status: the plan rests on measured capacities (`measured_capacity`); there is no engine to simulate")
    digest = plan.get("scenario_digest")
    if digest != scenario.digest and digest != load_scenario(scenario.origin).digest:  # the second load only where it can matter
        raise InputError(
            f'{path}: scenario_digest: "{digest}" is not that of {scenario.path}: the file or its --set values '
            "differ from those that the plan was made with; give `simulate` the same ones, or make the plan again with `optimize`"
        )
    try:
        return fleet_in(plan, scenario, t, router)
    except (KeyError, IndexError, TypeError, ValueError) as error:
        raise InputError(f"{path}: does not fit scenario {scenario.name}: {error!r}; make the plan again with `optimize`") from None


def fleet_in(plan: dict[str, Any], scenario: Scenario, t: int, router: str) -> tuple[Fleet, bool]:
    """The fleet that the plan (as in plan.json) runs in slice `t` with the relays, step costs and limits of `scenario`, and whether
    every step cost in it is calibrated. Raises KeyError, IndexError, TypeError or ValueError where the two do not fit.
    """
    classes = [c.name for c in scenario.request_classes]
    pools, relays, shares = _targets(plan, classes, t)
    scenario = with_classified(scenario, (plan.get("quality") or {}).get("classified"))
    again = max((each.classifier.misroute_share for each in scenario.request_classes if each.classifier), default=0.0)
    if not (np.isfinite(shares).all() and (shares >= 0).all() and (shares.sum(axis=1) <= 1 + again + 1e-6).all()):
        raise ValueError("routing shares are not within 0..1")
    named = {relay.id: relay for relay in (*scenario.catalog.relays.values(), *scenario.relays)}
    targets: list[Pool | RelayEndpoint] = []
    models: list[str] = []
    calibrated = True
    for entry, replicas in pools:
        deployment = deployment_of(entry, scenario)
        cost = step_cost(deployment, scenario.catalog.calibration)
        calibrated &= cost.calibrated
        network_ps = round(scenario.policy.network_s * PS)
        targets.append(
            Pool(entry["pool"], cost, kv_blocks(deployment), deployment.limits, replicas, network_ps, deployment.model.max_context)
        )
        models.append(deployment.model.id)
    for name, enforce in relays:
        targets.append(RelayEndpoint(name, named[name], enforce_limits=enforce))
        models.append(named[name].model)
    factors = [class_factors(scenario.request_classes, model) for model in models]
    chains = failovers(scenario, models[: len(pools)], [named[name] for name, _ in relays])
    shares, cascade = cascade_of(scenario, models, shares)
    shares = shares / np.maximum(shares.sum(axis=1, keepdims=True), 1.0)
    per_model = fleet_factors(factors, len(classes))
    order = priorities_of(scenario)
    rules = overflow_rules([target.name for target in targets], {k: spill_of(entry) for k, (entry, _) in enumerate(pools)})
    shares = through_pools(shares, rules)
    fleet = Fleet(tuple(targets), shares, router, rules, failover=chains, token_factors=per_model, priorities=order, cascade=cascade)
    return fleet, calibrated


def _targets(
    plan: dict[str, Any], classes: list[str], t: int
) -> tuple[list[tuple[dict[str, Any], int]], list[tuple[str, bool]], np.ndarray]:
    pools = [(f, int(f["replicas"]["by_hour"][t])) for f in plan["fleet"] if f["replicas"]["by_hour"][t] > 0]
    relays = [(str(r["relay"]), bool(r["limits_enforced"])) for r in plan["relays"]]
    names = [f["pool"] for f, _ in pools] + [name for name, _ in relays]
    shares = np.zeros((len(classes), len(names)))
    for c, name in enumerate(classes):
        for target, by_hour in plan["routing"][name].items():
            if target in names:
                shares[c, names.index(target)] = float(by_hour[t])
    return pools, relays, shares


def spill_of(entry: dict[str, Any]) -> Spill | None:
    """Where a pool of plan.json overflows to; None where it does not."""
    stated = entry.get("overflow")
    return Spill(int(stated["threshold"]), str(stated["to"])) if stated else None


def deployment_of(entry: dict[str, Any], scenario: Scenario) -> Deployment:
    """The deployment of an entry of `fleet` in plan.json; engine limits and KV format that it lacks are those of the scenario."""
    catalog = scenario.catalog
    limits = engine_limits(scenario, catalog.gpus[entry["gpu"]])
    stated = {name: int(value) for name, value in (entry.get("engine") or {}).items()}
    return Deployment(
        model=catalog.models[entry["model"]],
        weights=catalog.weight_formats[entry["weights"]],
        gpu=catalog.gpus[entry["gpu"]],
        tensor_parallel=int(entry["tensor_parallel"]),
        limits=replace(limits, **stated),  # type: ignore[arg-type]  # both are whole numbers
        kv_bytes_per_number=KV_BYTES[entry.get("kv_format") or "auto"],
        engine=release_of(scenario),
    )
