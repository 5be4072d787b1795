"""What of a saved plan runs somewhere: its pools and relays hour by hour, as plain records."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from optimize.simulate.saved_plan import read_plan
from sim.catalog.facts import Catalog
from sim.engine.deployment import KV_BYTES, Deployment, EngineLimits
from sim.engine.memory import room_tokens
from sim.errors import InputError, quoted

RUNS = ("met", "missed", "over_budget")  # statuses of plans that have a fleet to run
HOURS_OF_DAY = 24
WEEK = tuple(f"{day} {hour:02}" for day in ("weekday", "weekend") for hour in range(HOURS_OF_DAY))
Json = dict[str, Any]


@dataclass(frozen=True)
class RunningPool:
    """One pool of the plan. `name` is that of its Kubernetes objects and of the model that its engines serve; `replicas` by hour."""

    id: str
    name: str
    offer: str
    gpu: str
    model: str
    repository: str
    weights: str
    tensor_parallel: int
    longest_tokens: int  # prompt and answer together: what the model takes and the KV cache holds
    options: tuple[str, ...]  # of `vllm serve`, as the plan states them
    replicas: tuple[int, ...]
    replicas_per_host: int
    lead_s: float
    linger_s: float
    classes: tuple[str, ...]


@dataclass(frozen=True)
class RunningRelay:
    """One relay of the plan; `variable` begins the names of the environment variables that hold its address, model and key."""

    id: str
    name: str
    model: str
    variable: str
    rpm: float | None
    tpm: float | None


@dataclass(frozen=True)
class Promise:
    """What the plan promises a class: `quantile` of its requests within `limit_s`."""

    metric: str
    quantile: float
    limit_s: float


@dataclass(frozen=True)
class Deployable:
    """A plan as one who runs it needs it. `shares` by class and target: the share of the class that goes there, by hour."""

    scenario: str
    digest: str
    status: str
    hours: tuple[str, ...]
    demand_rps: tuple[float, ...]
    pools: tuple[RunningPool, ...]
    relays: tuple[RunningRelay, ...]
    shares: Mapping[str, Mapping[str, tuple[float, ...]]]
    promises: Mapping[str, tuple[Promise, ...]]
    class_share: Mapping[str, float]  # of all requests of the month
    cost: str

    @property
    def busiest(self) -> int:
        """Index of the hour with most demand."""
        return max(range(len(self.hours)), key=lambda t: (self.demand_rps[t], -t))

    @property
    def weekly(self) -> bool:
        """Whether the hours are those of a week that repeats; a log's own hours have no clock to follow."""
        return self.hours == WEEK


def deployable(path: Path, catalog: Catalog, checkpoints: Mapping[str, str]) -> Deployable:
    """The plan in the file `path`; `checkpoints`: "MODEL/WEIGHTS" -> the repository to load in place of the maker's. Raises InputError."""
    plan = read_plan(path)
    if plan.get("status") not in RUNS:
        raise InputError(
            f"{path}: status: {quoted(plan.get('status'))} has no simulated fleet to deploy; "
            f"name a plan that is {', '.join(RUNS[:-1])} or {RUNS[-1]}"
        )
    try:
        found = _read(plan, catalog, checkpoints)
    except (KeyError, IndexError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise InputError(f"{path}: is not a whole plan: {error!r}; make it again with `optimize --out DIR`") from None
    unknown = sorted(set(checkpoints) - {f"{pool.model}/{pool.weights}" for pool in found.pools})
    if unknown:
        raise InputError(f"--checkpoint: {quoted(unknown[0])} is in no pool of {path}; the plan has {_known(found)}")
    if not found.pools and not found.relays:
        raise InputError(f"{path}: fleet: the plan runs nothing; there is nothing to deploy")
    return found


def _known(plan: Deployable) -> str:
    return ", ".join(dict.fromkeys(f"{pool.model}/{pool.weights}" for pool in plan.pools)) or "no pool of its own"


def _read(plan: Json, catalog: Catalog, checkpoints: Mapping[str, str]) -> Deployable:
    routing = {name: {target: tuple(map(float, by_hour)) for target, by_hour in row.items()} for name, row in plan["routing"].items()}
    served = {name: {target for target, by_hour in row.items() if any(share > 0 for share in by_hour)} for name, row in routing.items()}
    _check_hours(plan, routing)
    total = sum(float(each["requests_per_month"]) for each in plan["classes"])
    names: set[str] = set()
    return Deployable(
        scenario=str(plan["scenario"]),
        digest=str(plan["scenario_digest"]),
        status=str(plan["status"]),
        hours=tuple(str(each["hour"]) for each in plan["hours"]),
        demand_rps=tuple(float(each["demand_rps"]) for each in plan["hours"]),
        pools=tuple(_pool(each, catalog, checkpoints, served, names) for each in plan["fleet"]),
        relays=tuple(_relay(each, names) for each in plan["relays"]),
        shares=routing,
        promises={
            each["name"]: tuple(Promise(p["metric"], float(p["quantile"]), float(p["limit_s"])) for p in each["promises"])
            for each in plan["classes"]
        },
        class_share={each["name"]: float(each["requests_per_month"]) / total if total > 0 else 0.0 for each in plan["classes"]},
        cost=f"{float(plan['cost']['per_month']):,.0f} {plan['cost']['currency']}",
    )


def _check_hours(plan: Json, routing: Mapping[str, Mapping[str, tuple[float, ...]]]) -> None:
    """Raises ValueError where a list by hour is not as long as the plan's hours, or there is no hour."""
    hours = len(plan["hours"])
    lists = {f"fleet {each['pool']}": each["replicas"]["by_hour"] for each in plan["fleet"]}
    lists |= {f"routing {name} {target}": by_hour for name, row in routing.items() for target, by_hour in row.items()}
    wrong = next((name for name, by_hour in lists.items() if len(by_hour) != hours), None)
    if wrong is not None or hours == 0:
        raise ValueError(f"{wrong or 'hours'}: does not state each of the {hours} hours")


def _pool(entry: Json, catalog: Catalog, checkpoints: Mapping[str, str], served: Mapping[str, set[str]], names: set[str]) -> RunningPool:
    shape = _shape(entry, catalog)
    return RunningPool(
        id=str(entry["pool"]),
        name=_name(str(entry["pool"]), names),
        offer=str(entry["offer"]),
        gpu=str(entry["gpu"]),
        model=str(entry["model"]),
        repository=checkpoints.get(f"{entry['model']}/{entry['weights']}") or shape.model.repository,
        weights=str(entry["weights"]),
        tensor_parallel=int(entry["tensor_parallel"]),
        longest_tokens=min(shape.model.max_context, room_tokens(shape)),
        options=tuple(_options(entry)),
        replicas=tuple(map(int, entry["replicas"]["by_hour"])),
        replicas_per_host=int(entry["replicas_per_host"]),
        lead_s=float(entry.get("lead_s", 0.0)),
        linger_s=float(entry.get("linger_s", 0.0)),
        classes=tuple(name for name, targets in served.items() if entry["pool"] in targets),
    )


def _shape(entry: Json, catalog: Catalog) -> Deployment:
    """The deployment of a pool of the plan, as the plan states it."""
    options, stated = _options(entry), entry["engine"]
    utilization = float(options[options.index("--gpu-memory-utilization") + 1])
    return Deployment(
        model=catalog.models[entry["model"]],
        weights=catalog.weight_formats[entry["weights"]],
        gpu=catalog.gpus[entry["gpu"]],
        tensor_parallel=int(entry["tensor_parallel"]),
        limits=EngineLimits(int(stated["max_num_seqs"]), int(stated["max_num_batched_tokens"]), utilization),
        kv_bytes_per_number=KV_BYTES[entry.get("kv_format") or "auto"],
    )


def _options(entry: Json) -> list[str]:
    """What follows `vllm serve $MODEL` in the plan's own line."""
    return shlex.split(str(entry["serve"]))[3:]


def _relay(entry: Json, names: set[str]) -> RunningRelay:
    limits = entry.get("limits") or {}
    relay = str(entry["relay"])
    return RunningRelay(
        id=relay,
        name=_name(relay, names),
        model=str(entry["model"]),
        variable=re.sub(r"[^A-Z0-9]+", "_", relay.upper()).strip("_"),
        rpm=_limit(limits.get("rpm")),
        tpm=_limit(limits.get("tpm")),
    )


def _limit(value: Any) -> float | None:
    return None if value is None else float(value)


def _name(text: str, taken: set[str]) -> str:
    """A name that Kubernetes takes (letters, digits, hyphens, at most 52 signs), and no other of `taken`, which learns it.

    >>> _name("verda.h100x2/llama-3.3-70b/fp8/tp2:chat+faq", set())
    'verda-h100x2-llama-3-3-70b-fp8-tp2-chat-faq'
    """
    slug = re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-") or "pool"
    slug = slug if slug[0].isalpha() else f"p-{slug}"
    short, k = slug[:52].rstrip("-"), 1
    while short in taken:
        k += 1
        short = f"{slug[: 51 - len(str(k))].rstrip('-')}-{k}"
    taken.add(short)
    return short
