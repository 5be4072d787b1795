"""In which order points are sent: the first of each family, then the second of each, so that what they share is known when asked for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Protocol

from sim.scenario.records import ConstantTraffic, Scenario, SyntheticTraffic

SIMULATED = ("users", "input_tokens", "output_tokens", "step_time")  # factors that change what a pool sustains


class Sized(Protocol):
    """What is known of a job before it runs."""

    @property
    def family(self) -> str:
        """Jobs of one family ask the simulator much the same."""

    @property
    def size(self) -> float:
        """How long it may take, against the others."""


def in_turns(jobs: Mapping[str, Sized]) -> list[str]:
    """The keys: one job of each family, then the next of each; within a turn the largest first.

    Two processes that start with two points of one family would want the same measurements at the same time; later points find them in
    the store. The largest first: what ends last is then small, and no process waits long for the others (Graham 1969).
    """
    members: Counter[str] = Counter()
    turns: list[tuple[int, float, int, str]] = []
    for k, (key, job) in enumerate(jobs.items()):
        turns.append((members[job.family], -job.size, k, key))
        members[job.family] += 1
    return [key for *_, key in sorted(turns)]


def family_of(scenario: Scenario, factors: Sequence[tuple[str, float]]) -> str:
    """The same for points that differ only in prices, budget, relays or candidates."""
    felt = [(name, factor) for name, factor in factors if name in SIMULATED and factor != 1.0]
    return repr((scenario.traffic, scenario.request_classes, sorted(scenario.engine.items()), scenario.seed, felt))


def size_of(scenario: Scenario, factors: Sequence[tuple[str, float]]) -> float:
    """Requests of a day, in units that only points of one scenario share: what a proof simulates grows with them."""
    traffic, users = scenario.traffic, dict(factors).get("users", 1.0)
    if isinstance(traffic, SyntheticTraffic):
        return traffic.daily_active_users * traffic.conversations_per_user * traffic.turns_per_conversation * users
    return (traffic.rate_rps if isinstance(traffic, ConstantTraffic) else traffic.scale) * users
