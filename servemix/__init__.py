"""ServeMix for scripts and notebooks: the cheapest mix of GPUs and relay APIs that keeps a latency promise, proved by simulation.

    import servemix

    scenario = servemix.load_scenario("scenarios/two_offers.yaml")
    plan = servemix.optimize(scenario)
    print(plan.status, plan.cost_per_month, plan.currency)

Everything that a user can get wrong raises `ServeMixError`, with one message that names place, value and what would be right.
The import takes no time; the first call loads the simulator, and once on a machine compiles it (about 15 s).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from servemix.results import Columns, Plan, Simulation, WhatIf
from sim.engine.routers import RouterName
from sim.errors import InputError, ServeMixError

if TYPE_CHECKING:
    from sim.scenario.scenario import Scenario

__all__ = [
    "Columns",
    "InputError",
    "Plan",
    "Scenario",
    "ServeMixError",
    "Simulation",
    "WhatIf",
    "load_scenario",
    "optimize",
    "simulate",
    "whatif",
]

Source = str | PathLike[str] | Mapping[str, Any]
Progress = Callable[[str], None]
Values = str | Sequence[Any]


def load_scenario(source: Source, *, overrides: Mapping[str, Any] | Sequence[str] = (), seed: int | None = None) -> Scenario:
    """The scenario in a YAML file, or in a dict with the same keys; checked against the catalogue as a whole.

    overrides  values in place of the scenario's: {"budget.per_month": 60000}, or texts as `--set` takes them
    seed       of all random streams, in place of the scenario's

    Files that a dict names are relative to the current folder. InputError lists every problem at once.
    """
    from sim.scenario import load_scenario as load
    from sim.scenario.written_text import of_mapping

    origin = of_mapping(source) if isinstance(source, Mapping) else Path(source)
    return load(origin, _settings(overrides), seed)


def optimize(
    scenario: Scenario | Source,
    *,
    jobs: int = 2,
    explain: Literal["brief", "full", "none"] = "brief",
    cache: str | PathLike[str] | None = None,
    progress: Progress | None = None,
) -> Plan:
    """The cheapest plan that keeps every promise inside the budget, proved by simulation; `Plan.status` says how far it holds.

    jobs      processes that simulate at the same time; the plan is the same for any number
    explain   "full" simulates the alternatives too; "none" leaves out everything that surrounds the plan, for loops over many scenarios
    cache     folder of measured capacities; absent: SERVEMIX_CACHE_DIR, else the user's cache folder
    progress  hears of each step, such as `print`
    """
    from optimize.plan import optimize as find

    folder = None if cache is None else Path(cache)
    found = find(_loaded(scenario), jobs, progress or _silent, folder, only_plan=explain == "none", full=explain == "full")
    return Plan(found, explain)


def simulate(
    scenario: Scenario | Source,
    fleet: str | PathLike[str] | Plan,
    *,
    hour: str | None = None,
    router: RouterName | None = None,
    overflow: int | None = None,
) -> Simulation:
    """What users feel in one hour of the scenario's traffic on a fleet.

    fleet     a text such as "aws.g6e.xlarge/llama-3.1-8b/fp8=2, relay:deepinfra.llama-3.1-8b"; a Plan; or the Path of a plan.json
    hour      such as "weekday 14"; absent: the hour with most demand
    router    within a pool; absent: the scenario's
    overflow  open requests per replica from which on a pool sends to the first relay that may answer; absent: never
    """
    from optimize.simulate.named_fleet import simulate_fleet

    given: dict[str, Any] = (
        {"fleet": fleet} if isinstance(fleet, str) else {"plan": fleet.to_dict() if isinstance(fleet, Plan) else Path(fleet)}
    )
    return Simulation(simulate_fleet(_loaded(scenario), hour=hour, router=router, overflow=overflow, **given))


def whatif(
    scenario: Scenario | Source,
    vary: Mapping[str, Values] | None = None,
    *,
    samples: int | None = None,
    kind: Literal["grid", "one_at_a_time", "uncertain", "levers"] = "grid",
    jobs: int = 2,
    out: str | PathLike[str] | None = None,
    progress: Progress | None = None,
) -> WhatIf:
    """Many plans: every combination of the values in `vary`, or another kind of question.

    vary     key of the scenario -> values: {"traffic.rate_rps": [5, 10], "budget.per_month": "1k,5k"}; texts as `--vary` takes them
    samples  points drawn from the ranges in `vary` in place of all combinations
    kind     "one_at_a_time" ranks inputs over their ranges, "uncertain" gives risk, "levers" ranks changes by monthly saving
    out      folder that keeps finished points, so that an interrupted call goes on where it stopped
    """
    from optimize.whatif.ask import Question
    from optimize.whatif.entry import what_if
    from optimize.whatif.run_jobs import Where

    loaded = _loaded(scenario)
    where = Where(jobs, None, None if out is None else Path(out), progress or _silent)
    texts = [f"{key}={_values(values)}" for key, values in (vary or {}).items()]
    question = Question(loaded.origin, loaded.overrides, loaded.seed)
    asked = {name: kind == name for name in ("one_at_a_time", "uncertain", "levers")}
    return WhatIf(what_if(question, texts, where, samples, **asked))


def _loaded(scenario: Scenario | Source) -> Scenario:
    return load_scenario(scenario) if isinstance(scenario, str | PathLike | Mapping) else scenario


def _settings(overrides: Mapping[str, Any] | Sequence[str]) -> list[str]:
    if isinstance(overrides, str):
        raise InputError(f'overrides: "{overrides}" is one text; write a dict {{"budget.per_month": 60000}} or a list of texts')
    if isinstance(overrides, Mapping):
        return [f"{key}={json.dumps(value, ensure_ascii=False)}" for key, value in overrides.items()]
    return list(overrides)


def _values(values: Values) -> str:
    """Values of one key as `--vary` takes them; texts stand as they are, so that "50k" and "+NAME" keep their meaning."""
    if isinstance(values, str):
        return values
    return ",".join(value if isinstance(value, str) else json.dumps(value) for value in values)


def _silent(_: str) -> None:
    """Hears of progress, and says nothing."""


def __getattr__(name: str) -> Any:
    """`Scenario` when it is asked for, and the version."""
    if name == "Scenario":
        from sim.scenario.scenario import Scenario

        return Scenario
    if name == "__version__":
        from sim.version import VERSION

        return VERSION
    raise AttributeError(f"module 'servemix' has no attribute '{name}'")
