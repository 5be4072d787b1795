"""What the calls of the public API return: plain values, tables as dicts of columns, JSON. Nothing here loads numpy before it is used."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from optimize.result import Plan as FoundPlan
    from optimize.simulate.named_fleet import SimulationRun
    from optimize.tables.columns import Table
    from optimize.tables.finance_tables import Money
    from optimize.whatif.study import Answer
    from sim.scenario.scenario import Scenario

Columns = dict[str, list[str | int | float | bool | None]]  # of a table: name -> values in row order, as a data frame takes them
Json = dict[str, Any]


class Plan:
    """A plan with its proof.

    `tables` are those of a results folder (docs/reference/plan-tables.md), `to_dict()` is plan.json (docs/reference/plan-json.md),
    `str(plan)` is what `servemix optimize` prints.
    """

    def __init__(self, found: FoundPlan, explain: str = "brief") -> None:
        self._found, self._explain = found, explain

    @property
    def scenario(self) -> Scenario:
        """The scenario that it answers."""
        return self._found.scenario

    @property
    def status(self) -> str:
        """`met`, `unverified`, `over_budget`, `infeasible` or `missed`."""
        return self._found.status

    @property
    def met(self) -> bool:
        """Whether every promise held in the simulation, inside the budget."""
        return self.status == "met"

    @property
    def cost_per_month(self) -> float:
        """To the cent, in `currency`; what is unserved is not in it."""
        return self._money.bill.total / 100

    @property
    def currency(self) -> str:
        """That of the scenario's budget."""
        return self.scenario.budget.currency

    @property
    def warnings(self) -> tuple[str, ...]:
        """What a reader has to know before using it."""
        return self._found.warnings

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What it rests on."""
        return self._found.assumptions

    @cached_property
    def tables(self) -> dict[str, Columns]:
        """Every table by its name, such as "cost", "fleet", "hours", "slo". Break-even and months ahead take seconds the first time."""
        from optimize.tables.decision_why import why_tables
        from optimize.tables.finance_tables import finance_tables
        from optimize.tables.tables import all_tables

        return _columns([*all_tables(self._found), *finance_tables(self._money), *why_tables(self._found)])

    def to_dict(self) -> Json:
        """The object of plan.json, schema `servemix.plan/1`."""
        return json.loads(self._json)  # type: ignore[no-any-return]

    def to_json(self) -> str:
        """plan.json, the same bytes for the same plan."""
        return self._json

    def write(self, folder: str | PathLike[str]) -> Path:
        """Writes plan.json, report.html, report.xlsx, tables and figures into `folder`, as `servemix optimize --out` does."""
        from optimize.report.write import write_results

        return write_results(self._found, Path(folder), self._explain)

    def __str__(self) -> str:
        from optimize.report.terminal.render_plan import render

        return render(self._found, colour=False)

    def __repr__(self) -> str:
        return f"<Plan {self.scenario.name}: {self.status}, {self.cost_per_month:,.2f} {self.currency} a month>"

    @cached_property
    def _money(self) -> Money:
        from optimize.tables.finance_tables import Money

        return Money(self._found)

    @cached_property
    def _json(self) -> str:
        from optimize.audit.manifest import plan_bytes
        from optimize.tables.plan_json import plan_json

        return plan_bytes(plan_json(self._found, self._money)).decode()


class Simulation:
    """One simulated hour: what users felt, and how busy everything was. `str(simulation)` is what `servemix simulate` prints."""

    def __init__(self, run: SimulationRun) -> None:
        self._run = run

    @property
    def scenario(self) -> Scenario:
        """The scenario whose traffic it was."""
        return self._run.scenario

    @property
    def hour(self) -> str:
        """Name of the hour slice."""
        return self._run.hour

    @property
    def met(self) -> bool:
        """Whether every promise held in this hour, on its one seed."""
        return all(row["met"] for row in self.to_dict()["classes"] for row in row["slo"] if row["met"] is not None)

    @cached_property
    def requests(self) -> Columns:
        """The request log: one row per request, warm-up included; times in seconds, None where a request has none."""
        from optimize.simulate.named_fleet import LOG_COLUMNS, log_rows

        rows = log_rows(self._run, self._run.result.log)
        seconds = {name for name, unit, _ in LOG_COLUMNS if unit == "s"}
        found = {name: [row[k] for row in rows] for k, (name, _, _) in enumerate(LOG_COLUMNS)}
        return {name: [_seconds(each) for each in values] if name in seconds else values for name, values in found.items()}  # type: ignore[misc]

    def to_dict(self) -> Json:
        """The object that `servemix simulate --json` prints, schema `servemix.simulation/1`."""
        return json.loads(self._json)  # type: ignore[no-any-return]

    def to_json(self) -> str:
        """The same as text."""
        return self._json

    def __str__(self) -> str:
        from optimize.report.terminal.render_simulate import render_simulation

        return render_simulation(self._run)

    def __repr__(self) -> str:
        return f"<Simulation {self.scenario.name}, {self.hour}: {'met' if self.met else 'missed'}>"

    @cached_property
    def _json(self) -> str:
        from optimize.report.terminal.render_simulate import simulation_json

        return _text(simulation_json(self._run))


class WhatIf:
    """Many plans in tables; the first is the main one. `str(answer)` is what `servemix whatif` prints."""

    def __init__(self, answer: Answer) -> None:
        self._answer = answer

    @property
    def table(self) -> Columns:
        """The main table: one row per point, input, plan or lever."""
        return next(iter(self.tables.values()))

    @cached_property
    def tables(self) -> dict[str, Columns]:
        """Every table by its name."""
        return _columns(self._answer.tables)

    @property
    def notes(self) -> tuple[str, ...]:
        """What to read from it."""
        return self._answer.notes

    @property
    def complete(self) -> bool:
        """Whether every point came to an answer."""
        return not self._answer.unfinished and not self._answer.failed

    def to_dict(self) -> Json:
        """The object that `servemix whatif --json` prints, schema `servemix.whatif/1`."""
        return json.loads(self.to_json())  # type: ignore[no-any-return]

    def to_json(self) -> str:
        """The same as text."""
        from optimize.report.terminal.render_whatif import whatif_json

        return _text(whatif_json(self._answer))

    def __str__(self) -> str:
        from optimize.report.terminal.render_whatif import render_whatif

        return render_whatif(self._answer)

    def __repr__(self) -> str:
        values = next(iter(self.table.values()), [])
        return f"<WhatIf {self._answer.scenario.name}, {self._answer.kind}: {len(values)} rows>"


def _columns(tables: Sequence[Table]) -> dict[str, Columns]:
    return {table.name: {column.name: table.column(column.name) for column in table.columns} for table in tables}


def _seconds(text: Any) -> float | None:
    return float(text) if text != "" else None


def _text(value: Json) -> str:
    return json.dumps(value, indent=2, allow_nan=False) + "\n"
