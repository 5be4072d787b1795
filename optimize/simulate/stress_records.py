"""What a stress test answers."""

from __future__ import annotations

from dataclasses import dataclass

from sim.scenario.scenario import Scenario


@dataclass(frozen=True)
class Attained:
    """One promise in one case, over all seeds. Without any request of the class it is met, and the figures mean nothing.

    recovery_s  see `optimize.simulate.stress.recovery_s`; None also where nothing happened suddenly
    """

    class_name: str
    metric: str
    quantile: float
    limit_s: float
    attainment: float
    ci95: tuple[float, float]
    simulated_s: float
    requests: int
    met: bool
    recovery_s: float | None


@dataclass(frozen=True)
class StressRow:
    """One case in one hour, counts over all seeds.

    recovery_s  the longest of all promises; None: not in the hour, or nothing happened suddenly
    restarts    times that a request was taken back from a lost replica;  diverted  requests that found none and went to another target
    unanswered  requests that were rejected, failed or timed out
    """

    case: str
    detail: str
    hour: str
    attained: tuple[Attained, ...]
    sudden: bool
    recovery_s: float | None
    requests: int
    restarts: int
    diverted: int
    unanswered: int

    @property
    def met(self) -> bool:
        """Whether every promise is kept over the hour."""
        return all(each.met for each in self.attained)


@dataclass(frozen=True)
class Hardening:
    """What it costs a month to plan for more; `per_month_usd` is None where no plan serves everything."""

    name: str
    per_month_usd: float | None
    more_usd: float | None


@dataclass(frozen=True)
class Stress:
    """The rows in the order of the cases; `notes` say which cases are left out, and why."""

    scenario: Scenario
    rows: tuple[StressRow, ...]
    seeds: tuple[int, ...]
    notes: tuple[str, ...]
    hardening: tuple[Hardening, ...] = ()
    plan_sha256: str = ""  # of the plan.json that was tried on its own scenario; empty where no file holds it, or overrides differ
