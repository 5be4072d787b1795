"""The same question with what was observed: what another plan would cost."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from optimize.deploy.deployable import Deployable
from optimize.plan import optimize
from optimize.tables.plan_json import plan_json
from optimize.track.findings import Findings
from optimize.track.observed_scenario import observed_settings
from sim.scenario import load_scenario
from sim.scenario.read.load import read_scenario
from sim.scenario.scenario import Scenario


@dataclass(frozen=True)
class PlannedAgain:
    """Two plans: that which runs, and that for the observed traffic. `settings` is empty where nothing could be put into the scenario."""

    settings: tuple[str, ...]
    currency: str
    before_per_month: float
    status: str = ""
    per_month: float | None = None

    def as_json(self) -> dict[str, Any]:
        """Plain values."""
        return asdict(self) | {"settings": list(self.settings)}

    def text(self) -> str:
        """For people."""
        if self.per_month is None:
            return "\nNot planned again: neither demand nor lengths of a class with its own pool have drifted.\n"
        more = self.per_month - self.before_per_month
        words = f"{abs(more):,.0f} {self.currency} a month {'more' if more > 0 else 'less'} than the plan that runs"
        changed = ", ".join(each if len(each) < 60 else each.partition("=")[0] for each in self.settings)
        return f"\nPlanned again with {changed}: {self.status}, {self.per_month:,.2f} {self.currency} a month, {words}.\n"


def plan_again(
    plan: Deployable, saved: Mapping[str, Any], scenario: Scenario, found: Findings, jobs: int, tell: Callable[[str], None]
) -> PlannedAgain:
    """Plans for the observed demand and lengths; nothing where they are as planned. Raises InputError for a scenario that is gone."""
    written = read_scenario(scenario.path, list(scenario.overrides)).spec
    settings = observed_settings(plan, found, written.traffic, {each.name: each for each in written.request_classes})
    before, currency = float(saved["cost"]["per_month"]), str(saved["cost"]["currency"])
    if not settings:
        return PlannedAgain((), currency, before)
    changed = load_scenario(scenario.path, [*scenario.overrides, *settings], scenario.seed)
    again = plan_json(optimize(changed, jobs=jobs, tell=tell, only_plan=True))
    return PlannedAgain(tuple(settings), currency, before, str(again["status"]), float(again["cost"]["per_month"]))
