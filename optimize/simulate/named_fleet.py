"""A fleet that somebody names, on one hour of the scenario's traffic: what do users feel?"""

from __future__ import annotations

import csv
import gzip
import io
import math
import os
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from optimize.market.cascades import cascade_of
from optimize.market.engine_settings import engine_limits, priorities_of, release_of, router_of
from optimize.market.failover import failovers
from optimize.market.optimistic_load import saturated_load_s
from optimize.market.permits import model_reason, policy_reason, relay_policy_reason
from optimize.market.relay_terms import may_serve
from optimize.market.token_factors import class_factors, fleet_factors
from optimize.money.owned_price import with_owned_prices
from optimize.records import Floats
from optimize.search.simulated_hour import HOUR_S, WARMUP_S
from optimize.simulate.entry_options import EntryOptions, parse_options, split_entries, split_options
from optimize.simulate.saved_plan import as_planned, fleet_from_plan, read_plan
from sim.catalog.check import nearest
from sim.catalog.facts import Relay
from sim.engine.deployment import PS, Deployment, StepCost
from sim.engine.memory import kv_blocks
from sim.engine.pool import Pool, Status
from sim.engine.routers import ROUTERS
from sim.engine.step_cost import step_cost
from sim.errors import InputError
from sim.fleet.fleet import Fleet, Overflow, SimulationResult
from sim.fleet.simulate import simulate
from sim.relay.endpoint import RelayEndpoint
from sim.request_log import RequestLog
from sim.requests import Demand, Requests
from sim.scenario.scenario import RequestClass, Scenario
from sim.traffic import demand as demand_of
from sim.traffic import hour as hour_traffic


@dataclass(frozen=True)
class SimulationRun:
    """One simulated hour: metrics count requests that arrived in `[from_ps, to_ps)`."""

    scenario: Scenario
    hour: str
    fleet: Fleet
    result: SimulationResult
    from_ps: int
    to_ps: int
    calibrated: bool
    requests: Requests | None = None  # what was sent: the relays' caches are computed from its sessions


@dataclass(frozen=True)
class NamedPool:
    """`replicas` replicas of a deployment on an offer, as written in --fleet as entry `entry` (1 is the first)."""

    name: str
    deployment: Deployment
    replicas: int
    options: EntryOptions = field(default_factory=EntryOptions)
    entry: int = 1


@dataclass(frozen=True)
class NamedRelay:
    """A relay of --fleet. It gets the shares of classes that are written, else classes that no pool serves, and what overflows."""

    name: str
    classes: dict[int, float | None] | None = None
    entry: int = 1


def parse_fleet(text: str, scenario: Scenario) -> tuple[list[NamedPool], list[NamedRelay]]:
    """Pools and relays of "OFFER/MODEL/WEIGHTS[/tpN]=REPLICAS, relay:NAME, ..."; every problem at once in one InputError.

    OFFER may be an offer of the catalogue or the scenario, or a GPU id. Options may follow an entry in brackets: see `entry_options`.
    """
    problems: list[str] = []
    pools: list[NamedPool] = []
    relays: list[NamedRelay] = []
    for k, entry in enumerate(split_entries(text), start=1):
        try:
            part, options = split_options(entry)
            if part.startswith("relay:"):
                classes = parse_options(options, scenario, ("classes",)).classes
                relays.append(NamedRelay(part.removeprefix("relay:").strip(), classes, k))
            else:
                pools.append(replace(parse_pool(part, scenario, parse_options(options, scenario)), entry=k))
        except ValueError as error:
            problems.append(f"--fleet: entry {k}: {error}")
    problems += _twice(pools, relays)
    known = {relay.id: relay for relay in (*scenario.catalog.relays.values(), *scenario.relays)}
    names = [relay.name for relay in relays]
    problems += [f'--fleet: relay "{name}" is unknown; {hint(name, known)}' for name in names if name not in known]
    refused = {name: relay_policy_reason(known[name], scenario.policy) for name in names if name in known}
    problems += [f"--fleet: relay:{name}: {reason}" for name, reason in refused.items() if reason]
    wanted = wanted_models(scenario)
    problems += [
        f"--fleet: relay:{name}: no class of {scenario.name} takes answers of {known[name].model}; they take {', '.join(wanted)}"
        for name in names
        if name in known and known[name].model not in wanted
    ]
    if problems:
        raise InputError(problems)
    return pools, relays


def _twice(pools: Sequence[NamedPool], relays: Sequence[NamedRelay]) -> list[str]:
    """Entries that name what an earlier one named in the same way: two pools are one with more replicas, unless their options differ."""
    first: dict[object, int] = {}
    found = []
    for name, key, entry in [(p.name, (p.name, repr(p.options)), p.entry) for p in pools] + [(r.name, r.name, r.entry) for r in relays]:
        if first.setdefault(key, entry) != entry:
            found.append(f"--fleet: entry {entry}: {name} stands in entry {first[key]} too; write it once, with all its replicas")
    return found


def wanted_models(scenario: Scenario) -> list[str]:
    """Models that may answer any class."""
    return sorted({model for request_class in scenario.request_classes for model in request_class.models})


def parse_pool(part: str, scenario: Scenario, options: EntryOptions) -> NamedPool:
    """One pool entry; ValueError says what is wrong and what would be right."""
    catalog = scenario.catalog
    shape, separator, count = part.partition("=")
    pieces = shape.strip().split("/")
    if not separator or len(pieces) not in (3, 4):
        raise ValueError(f'"{part}" is not OFFER/MODEL/WEIGHTS[/tpN]=REPLICAS; write e.g. aws.g6e.xlarge/llama-3.1-8b/fp8=6')
    if not count.strip().isdecimal() or not 1 <= int(count) <= 10_000:
        raise ValueError(f'"{count.strip()}" is not a number of replicas; write 1 to 10000')
    tensor_parallel = 1
    if len(pieces) == 4:
        if not (pieces[3].startswith("tp") and pieces[3][2:].isdecimal() and int(pieces[3][2:]) > 0):
            raise ValueError(f'"{pieces[3]}" is not a tensor-parallel degree; write tp2, tp4 or tp8')
        tensor_parallel = int(pieces[3][2:])
    offers = {**catalog.offers, **{offer.id: offer for offer in with_owned_prices(scenario).offers}}
    gpu_id = offers[pieces[0]].gpu if pieces[0] in offers else pieces[0]
    for value, known, what in (
        (gpu_id, catalog.gpus, "offer"),
        (pieces[1], catalog.models, "model"),
        (pieces[2], catalog.weight_formats, "weight format"),
    ):
        if value not in known:
            names = offers if what == "offer" else known
            raise ValueError(f'{what} "{value}" is unknown; {hint(value, names)}')
    if pieces[0] in offers:
        offer = offers[pieces[0]]
        reason = policy_reason((offer.id, offer.provider, offer.gpu), offer.grade, scenario.policy)
        if reason := reason or model_reason(pieces[1], scenario.policy):
            raise ValueError(f"{pieces[0]}: {reason}")
    if pieces[0] in offers and tensor_parallel > offers[pieces[0]].gpus:
        raise ValueError(f"tp{tensor_parallel} needs {tensor_parallel} GPUs, {pieces[0]} has {offers[pieces[0]].gpus}")
    wanted = wanted_models(scenario)
    if pieces[1] not in wanted:
        raise ValueError(f"no class of {scenario.name} takes answers of {pieces[1]}; they take {', '.join(wanted)}")
    limits = engine_limits(replace(scenario, engine={**scenario.engine, **options.limits}), catalog.gpus[gpu_id])
    if limits.max_num_batched_tokens < limits.max_num_seqs:
        tokens, seqs = limits.max_num_batched_tokens, limits.max_num_seqs
        raise ValueError(f"max_num_batched_tokens: {tokens} is below max_num_seqs {seqs}; write both, the first at least as large")
    row, weights = catalog.gpus[gpu_id], catalog.weight_formats[pieces[2]]
    model, engine = catalog.models[pieces[1]], release_of(scenario)
    deployment = Deployment(model, weights, row, tensor_parallel, limits, kv_bytes_per_number=options.kv_bytes, engine=engine)
    if deployment.gpu.flops.get(deployment.weights.needs, 0) <= 0:
        raise ValueError(f"{gpu_id} cannot multiply {pieces[2]} weights")
    if kv_blocks(deployment) <= 0:
        raise ValueError(f"{pieces[1]} in {pieces[2]} does not fit {tensor_parallel} x {gpu_id}; try a larger tpN or smaller weights")
    return NamedPool("/".join(pieces), deployment, int(count), options)


def hint(name: str, known: object) -> str:
    """Nearest known names, for a message."""
    near = nearest(name, list(known))  # type: ignore[call-overload]
    return "did you mean " + " or ".join(near) + "?" if near else "see `catalog` for the names"


def build_fleet(
    scenario: Scenario, pools: list[NamedPool], relays: list[NamedRelay], router: str, overflow: int | None
) -> tuple[Fleet, bool]:
    """The fleet, and whether every step cost in it is calibrated.

    A class goes where entries say so, by their shares; the rest of it to the pools whose model may answer it, in proportion to their
    estimated capacity, or to the relays in equal parts where no pool may. A pool that is full sends on to its own target of overflow;
    with `overflow`, pools without one to the first relay that may answer.
    """
    known = {relay.id: relay for relay in (*scenario.catalog.relays.values(), *scenario.relays)}
    costs = [step_cost(named.deployment, scenario.catalog.calibration) for named in pools]
    network_ps = round(scenario.policy.network_s * PS)
    targets: list[Pool | RelayEndpoint] = []
    for named, cost in zip(pools, costs, strict=True):
        shape = named.deployment
        targets.append(Pool(named.name, cost, kv_blocks(shape), shape.limits, named.replicas, network_ps, shape.model.max_context))
    targets += [RelayEndpoint(relay.name, known[relay.name]) for relay in relays]
    table = shares_of(scenario, pools, relays, costs)
    models = [named.deployment.model.id for named in pools] + [known[relay.name].model for relay in relays]
    table, cascade = cascade_of(scenario, models, table, first_only=True)
    spill = overflows(scenario, pools, relays, overflow)
    factors = [class_factors(scenario.request_classes, model) for model in models]
    per_model = fleet_factors(factors, len(scenario.request_classes))
    chains = failovers(scenario, models[: len(pools)], [known[relay.name] for relay in relays])
    order = priorities_of(scenario)
    fleet = Fleet(tuple(targets), table, router, spill, chains, token_factors=per_model, priorities=order, cascade=cascade)
    return fleet, all(cost.calibrated for cost in costs)


def shares_of(scenario: Scenario, pools: list[NamedPool], relays: list[NamedRelay], costs: list[StepCost]) -> Floats:
    """[classes, targets] who gets which share of each class; a class that no one may serve gets a row of zeros. Raises InputError."""
    demand, problems = demand_of(scenario), []
    known = {relay.id: relay for relay in (*scenario.catalog.relays.values(), *scenario.relays)}
    fixed = np.zeros((len(scenario.request_classes), len(pools) + len(relays)))
    weights = np.zeros_like(fixed)
    entries: list[NamedPool | NamedRelay] = [*pools, *relays]
    for c, request_class in enumerate(scenario.request_classes):
        for k, entry in enumerate(entries):
            classes = entry.options.classes if isinstance(entry, NamedPool) else entry.classes
            share = None if classes is None else classes.get(c)
            if classes is not None and c not in classes:
                continue
            if not can_answer(entry, request_class, known):
                if classes is not None:
                    problems.append(f"--fleet: entry {entry.entry}: may not answer {request_class.name}; leave the class out")
                continue
            if share is not None:
                fixed[c, k] = share
            elif isinstance(entry, NamedPool):
                shape, lengths = entry.deployment, (demand.input_tokens[c], demand.output_tokens[c])
                load = saturated_load_s(costs[k], kv_blocks(shape), shape.limits.max_num_seqs, *lengths, math.inf)
                weights[c, k] = entry.replicas / load
            else:
                weights[c, k] = 1.0
        if weights[c, : len(pools)].any():
            weights[c, len(pools) :] = 0.0
        written = float(fixed[c].sum())
        if written > 1 + 1e-9 or (0 < written < 1 - 1e-9 and not weights[c].any()):
            rest = "must sum to 1" if written > 1 else "leave a rest that no other entry takes"
            problems.append(f"--fleet: shares of {request_class.name} sum to {written:g}: they {rest}")
    if problems:
        raise InputError(problems)
    totals = weights.sum(axis=1, keepdims=True)
    rest = np.maximum(1 - fixed.sum(axis=1, keepdims=True), 0.0)
    return np.asarray(fixed + np.divide(weights, totals, out=np.zeros_like(weights), where=totals > 0) * rest)


def can_answer(entry: NamedPool | NamedRelay, request_class: RequestClass, known: dict[str, Relay]) -> bool:
    """Whether an entry of --fleet may serve the class at all."""
    if isinstance(entry, NamedPool):
        return entry.deployment.model.id in request_class.models
    return may_serve(known[entry.name], request_class)


def overflows(scenario: Scenario, pools: list[NamedPool], relays: list[NamedRelay], outstanding: int | None) -> tuple[Overflow, ...]:
    """For each pool its own target of overflow; with `outstanding`, for any other the first relay that may answer its classes."""
    known = {relay.id: relay for relay in (*scenario.catalog.relays.values(), *scenario.relays)}
    entries: list[NamedPool | NamedRelay] = [*pools, *relays]
    answer: list[Overflow] = []
    problems: list[str] = []
    for k, named in enumerate(pools):
        own = [c for c in scenario.request_classes if named.deployment.model.id in c.models]
        if named.options.classes is not None:
            own = [scenario.request_classes[c] for c in named.options.classes]
        able = [all(can_answer(entry, c, known) for c in own) for entry in entries]
        to = [j for j, e in enumerate(entries) if named.options.spill_to in (f"#{e.entry}", f"relay:{e.name}") and j != k]
        if named.options.overflow is not None:
            if not to or not able[to[0]]:
                why = "may not answer every class of the pool" if to else "is no other entry of --fleet"
                problems.append(f"--fleet: entry {named.entry}: overflow: {named.options.spill_to} {why}")
                continue
            answer.append(Overflow(k, to[0], named.options.overflow))
        elif outstanding is not None:
            to = [j for j in range(len(pools), len(entries)) if own and able[j]]
            answer += [Overflow(k, to[0], outstanding)] if to else []
    if problems:
        raise InputError(problems)
    if outstanding is not None and not answer:
        raise InputError("--overflow: no relay in --fleet may answer every class of a pool; add relay:NAME of the same model tier")
    return tuple(answer)


def slice_index(demand: Demand, hour: str | None) -> int:
    """Index of the named hour slice, or of the one with most demand."""
    if hour is None:
        return int(np.argmax(demand.mean_rps.sum(axis=0)))
    if hour not in demand.slices:
        raise InputError(f'--hour: "{hour}" is not an hour of this scenario; write one of: {", ".join(demand.slices)}')
    return demand.slices.index(hour)


def simulate_fleet(
    scenario: Scenario,
    *,
    fleet: str | None = None,
    plan: Path | dict[str, Any] | None = None,
    hour: str | None = None,
    router: str | None = None,
    overflow: int | None = None,
) -> SimulationRun:
    """One hour on the named fleet, on a saved plan or on the object that a plan.json holds.

    Absent: the hour with most demand, the scenario's router, no overflow.
    """
    if (fleet is None) == (plan is None):
        raise InputError("give exactly one of --fleet and --plan")
    router = router or router_of(scenario)
    if router not in ROUTERS:
        raise InputError(f'--router: "{router}" is unknown; write {" or ".join(ROUTERS)}')
    t = slice_index(demand_of(scenario), hour)
    if plan is not None:
        built, calibrated = fleet_from_plan(plan, scenario, t, router)
        scenario = as_planned(plan if isinstance(plan, dict) else read_plan(plan), scenario)
    else:
        pools, relays = parse_fleet(fleet or "", scenario)
        built, calibrated = build_fleet(scenario, pools, relays, router, overflow)
    requests = hour_traffic(scenario, t, seed=scenario.seed, duration_s=HOUR_S, warmup_s=WARMUP_S)
    result = simulate(built, requests, seed=scenario.seed, event_per_arrival=False)
    return SimulationRun(
        scenario, demand_of(scenario).slices[t], built, result, round(WARMUP_S * PS), round((WARMUP_S + HOUR_S) * PS), calibrated, requests
    )


LOG_COLUMNS = (
    ("arrival_s", "s", "arrival at the client's side, since the start of the simulation (warm-up included)"),
    ("class", "", "request class"),
    ("target", "", "pool or relay that served it; empty where none may"),
    ("replica", "", "replica index in the pool; -1 for a relay"),
    ("status", "", "finished, rejected, failed, timed_out or in_flight"),
    ("input_tokens", "tokens", "prompt"),
    ("output_tokens", "tokens", "answer"),
    ("ttft_s", "s", "arrival to first token at the client; empty where none came"),
    ("e2e_s", "s", "arrival to last token; empty where it did not finish"),
    ("preemptions", "", "times the sequence lost its KV blocks"),
    ("attempts", "", "calls to the relay, retries included"),
)


def write_log(run: SimulationRun, out: Path) -> Path:
    """Writes the request log as gzipped CSV (columns: LOG_COLUMNS) into folder `out`; appears under its name only when complete."""
    path, log = out / "requests.csv.gz", run.result.log
    try:
        out.mkdir(parents=True, exist_ok=True)
        handle, partial = tempfile.mkstemp(dir=out, suffix=".part")
        try:
            with (
                os.fdopen(handle, "wb") as file,
                gzip.GzipFile("requests.csv", "wb", mtime=0, fileobj=file) as raw,
                io.TextIOWrapper(raw, encoding="utf-8", newline="") as text,
            ):
                writer = csv.writer(text, lineterminator="\n")
                writer.writerow([name for name, _, _ in LOG_COLUMNS])
                writer.writerows(log_rows(run, log))
            os.chmod(partial, 0o644)
            os.replace(partial, path)
        except BaseException:
            Path(partial).unlink(missing_ok=True)
            raise
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}; name another folder with --out") from None
    return path


def log_rows(run: SimulationRun, log: RequestLog) -> list[tuple[object, ...]]:
    """Rows of the log in the order of LOG_COLUMNS."""
    classes = [c.name for c in run.scenario.request_classes]
    targets = [t.name for t in run.fleet.targets] + [""]
    names = {s.value: s.name.lower() for s in Status}

    def seconds(later: int, earlier: int) -> str:
        return "" if later < 0 else f"{(later - earlier) / PS:.6f}"

    columns = (
        log.arrival_ps,
        log.class_id,
        log.target,
        log.replica,
        log.status,
        log.input_tokens,
        log.output_tokens,
        log.first_ps,
        log.finish_ps,
        log.preemptions,
        log.attempts,
    )
    return [
        (f"{a / PS:.6f}", classes[c], targets[t], r, names[s], i, o, seconds(f, a), seconds(e, a), p, n)
        for a, c, t, r, s, i, o, f, e, p, n in zip(*(column.tolist() for column in columns), strict=True)
    ]
