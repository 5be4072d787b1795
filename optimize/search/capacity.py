"""What a pool sustains inside its promises: measured on the simulator at the mix that the program sends, cached by content."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict, replace

from optimize.market.engine_settings import router_of
from optimize.market.operating_point import OperatingPoint, Probe
from optimize.search.cache import CapacityStore
from optimize.search.cache_lock import once
from optimize.search.processes import processes
from optimize.search.rate_search import measure, search_settings
from sim.engine.memory import kv_blocks
from sim.named_files import sha256_of
from sim.scenario.scenario import LogTraffic, RequestClass, Scenario

SEMANTICS = 7  # raise when engine semantics, traffic or the search change what a measurement returns


def probe_key(scenario: Scenario, probe: Probe) -> str:
    """Hash of everything that the answer depends on."""
    content: dict[str, object] = {
        "semantics": SEMANTICS,
        "base": hashlib.sha256(probe.cost.base_ps.tobytes()).hexdigest(),
        "context": hashlib.sha256(probe.cost.context_ps.tobytes()).hexdigest(),
        "steps": [probe.cost.sequence_ps, probe.cost.pair_ps, probe.cost.prefill_context_ps, probe.cost.request_ps],
        "blocks": kv_blocks(probe.option.deployment) if probe.option.deployment else 0,
        "limits": asdict(probe.option.deployment.limits) if probe.option.deployment else {},
        "classes": [[share, class_content(scenario.request_classes[c])] for c, share in enumerate(probe.mix) if share > 0],
        "traffic": traffic_content(scenario),
        "slos": [asdict(row) for row in probe.slos if probe.mix[row.class_index] > 0],
        "seed": scenario.seed,
        "replicas": probe.replicas,
        "search": [probe.first_guess_rps, probe.safety, probe.rough, probe.hours, *search_settings()],
        "network": scenario.policy.network_s,
        "router": router_of(scenario),
    }
    if isinstance(scenario.traffic, LogTraffic):
        content["hour"] = probe.hour
    if probe.option.token_factors is not None:
        content["factors"] = probe.option.token_factors.tolist()
    return hashlib.sha256(json.dumps(content, sort_keys=True, default=str).encode()).hexdigest()


def class_content(request_class: RequestClass) -> dict[str, object]:
    """A class without what its classifier costs and sends where: only its delay reaches a pool."""
    content = asdict(replace(request_class, classifier=None))
    content.pop("classifier")
    return content | ({"before": request_class.before_s("ttft")} if request_class.classifier else {})


def traffic_content(scenario: Scenario) -> dict[str, object]:
    """The traffic settings that shape a probe: for a log, its bytes; else everything but the volume."""
    traffic = asdict(scenario.traffic)
    if "log" in traffic:
        traffic["log"] = sha256_of(scenario.traffic.log, "a log")  # type: ignore[union-attr]
    for name in ("daily_active_users", "rate_rps", "loop", "job", "busy_h", "counted_in", "moved"):
        traffic.pop(name, None)
    return traffic


def measure_all(scenario: Scenario, probes: Sequence[Probe], store: CapacityStore, jobs: int) -> list[OperatingPoint]:
    """Operating points of all probes, from the store where it has them, else measured in parallel and stored.

    What another process is measuring at the moment is awaited; several processes that ask the same share the work out, probe by probe.
    """
    keys = [probe_key(scenario, p) for p in probes]
    asked = dict(zip(keys, probes, strict=True))

    def values(some: list[str]) -> list[dict[str, object]]:
        return [asdict(point) for point in measured(scenario, [asked[key] for key in some], jobs)]

    known = once(store, keys, values, at_once=1 if jobs == 1 else len(keys))
    return [OperatingPoint(**{**known[key], "miss": tuple(known[key]["miss"])}) for key in keys]


def measured(scenario: Scenario, probes: Sequence[Probe], jobs: int) -> list[OperatingPoint]:
    """Operating points of all probes, measured in `jobs` processes."""
    from joblib import delayed

    lean = replace(scenario, warnings=())
    if len(probes) >= jobs:
        return list(processes(jobs)(delayed(measure)(lean, p) for p in probes))
    return [measure(lean, p, jobs) for p in probes]
