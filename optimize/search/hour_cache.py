"""Simulated hours of plans on disk, by content: an hour that was proved once is not simulated again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from optimize.records import ProgramInput, SloRow, SloVerdict
from optimize.search.cache import CapacityStore
from optimize.search.cache_key import content_hash
from optimize.search.capacity import SEMANTICS
from optimize.search.hour_evidence import HourEvidence, quantiles_of
from optimize.search.simulated_hour import Hour
from sim.scenario.scenario import Scenario

RULES = 9  # raise when seeds are judged otherwise: when an hour is closed, what a verdict says


def hour_key(scenario: Scenario, problem: ProgramInput, hour: Hour, seeds: Sequence[int]) -> str:
    """Hash of all that the evidence of one hour depends on: the fleet, the traffic, the promises, and the seeds that may be asked."""
    traffic, week = (scenario.traffic, scenario.request_classes), problem.demand.slices
    said = (hour.index, hour.fleet, hour.pools, hour.relays, hour.warmup_keep)
    return content_hash("hour", SEMANTICS, RULES, said, traffic, problem.slos, week, tuple(seeds))


def stored(evidence: HourEvidence) -> dict[str, Any]:
    """The evidence without its hour, as JSON has it."""
    return {
        "attainment": evidence.attainment.tolist(),
        "met": evidence.met.tolist(),
        "seen": evidence.seen.tolist(),
        "requests": evidence.requests,
        "events": evidence.events,
        "by_event": evidence.by_event,
        "blocks": evidence.blocks.tolist(),
        "alone": evidence.alone.tolist(),
        "verdicts": [_verdict_stored(each) for each in evidence.verdicts],
    }


def _verdict_stored(verdict: SloVerdict) -> dict[str, Any]:
    row, rest = verdict.row, vars(verdict)
    kept = {name: rest[name] for name in rest if name != "row"}
    return {**kept, "row": [row.class_index, row.metric, row.quantile, row.limit_s, row.refused]}


def restored(value: dict[str, Any], problem: ProgramInput, hour: Hour) -> HourEvidence:
    """The evidence that `stored` put away."""
    return HourEvidence(
        hour,
        np.array(value["attainment"], float),
        np.array(value["met"], np.int64),
        np.array(value["seen"], np.int64),
        tuple(_verdict_restored(each) for each in value["verdicts"]),
        int(value["requests"]),
        len(problem.demand.slices),
        problem.demand.slices[hour.index],
        events=int(value["events"]),
        by_event=int(value["by_event"]),
        blocks=np.array(value["blocks"], float).reshape(-1, len(problem.slos)),
        quantiles=quantiles_of(problem),
        alone=np.array(value["alone"], float).reshape(-1, len(problem.slos)),
    )


def _verdict_restored(value: dict[str, Any]) -> SloVerdict:
    pairs = {name: tuple(value[name]) for name in ("ci95_s", "attainment_ci95")}
    ladder = tuple((float(share), float(latency_s)) for share, latency_s in value["distribution"])
    return SloVerdict(**{**value, **pairs, "row": SloRow(*value["row"]), "distribution": ladder})


def known_hour(store: CapacityStore, key: str, problem: ProgramInput, hour: Hour) -> HourEvidence | None:
    """The stored evidence; None where there is none that can be read."""
    value = store.get(key, plausible_hour)
    try:
        return None if value is None else restored(value, problem, hour)
    except (KeyError, TypeError, ValueError):
        return None


def plausible_hour(value: Any) -> bool:
    """Whether `value` looks like evidence: attainments between 0 and 1, and no more kept than seen."""
    try:
        attainment, met, seen = (np.array(value[name], float) for name in ("attainment", "met", "seen"))
        return bool(attainment.ndim == 2 and ((attainment >= 0) & (attainment <= 1)).all() and (met <= seen).all())
    except (KeyError, TypeError, ValueError):
        return False
