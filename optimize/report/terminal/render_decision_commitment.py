"""A decision under commitment for people, as JSON and as CSV."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

from rich.text import Text

from optimize.finance.commitment.decision import Decision, Ranked
from optimize.money.amounts import per_unit_usd
from optimize.money.units import to_currency
from optimize.report.terminal.console import bullets, output, screen, section, show, table
from optimize.tables.columns import Column, Table, Value
from optimize.tables.folder import check_folder, table_csv, write_bytes
from optimize.tables.plain_numbers import percent

STAGES = (
    Column("stage", "str", "", "first stage"),
    Column("expected_per_month", "float", "money", "mean over futures by their weights, a month of the horizon; empty: not all is served"),
    Column("worst_per_month", "float", "money", "in the dearest future"),
    Column("worst_regret_per_month", "float", "money", "most that it costs above the best stage of a future; empty: unbounded"),
    Column("worst_future", "str", "", "where; empty without any regret"),
    Column("expected_regret_per_month", "float", "money", "mean of that over futures"),
    Column("committed", "float", "money", "paid whatever comes: purchase, term, one-off cost of the move"),
    Column("served_least", "float", "share", "of requests inside their promises, in the worst future"),
    Column("lead_months", "float", "months", "order to first request"),
    Column("overlap_months", "float", "months", "both fleets run"),
)
OUTCOMES = (
    Column("stage", "str", "", "first stage"),
    Column("future", "str", "", "how things turn out"),
    Column("weight", "float", "", "how likely, relative to the others"),
    Column("per_month", "float", "money", "mean cost of a month of the horizon, all included"),
    Column("regret_per_month", "float", "money", "above the best stage of this future; empty: leaves requests that another serves"),
    Column("recourse_beside", "float", "money", "a month of what is bought in addition to the held hosts"),
    Column("recourse_without", "float", "money", "a month without them (lead time, overlap, after the term)"),
    Column("served", "float", "share", "of requests inside their promises, as planned"),
    Column("served_by", "str", "", "pools and relays with their shares of requests"),
)
DECISION_TABLES = {"stages": STAGES, "outcomes": OUTCOMES}
LISTED = 3


def tables(decision: Decision) -> tuple[Table, Table]:
    """One row per stage; one per stage and future."""
    stages, outcomes = [], []
    for each in decision.ranked:
        stage, months = each.stage, each.stage.timing.horizon
        worst = each.regret.index(each.worst_regret_usd)
        figures = (each.expected_usd, max(o.cost_usd for o in each.outcomes), each.worst_regret_usd)
        stages.append(
            (
                stage.name,
                *(_month(decision, usd, months) for usd in figures),
                decision.futures[worst].name if each.worst_regret_usd > 0 else "",
                _month(decision, each.expected_regret_usd, months),
                _money(decision, stage.committed_usd),
                min(o.served_share for o in each.outcomes),
                stage.timing.lead,
                stage.timing.overlap,
            )
        )
        outcomes += _outcome_rows(decision, each)
    return Table("stages", "First stages", STAGES, tuple(stages)), Table("outcomes", "Stages by future", OUTCOMES, tuple(outcomes))


def _outcome_rows(decision: Decision, ranked: Ranked) -> list[tuple[Value, ...]]:
    months = ranked.stage.timing.horizon
    return [
        (
            ranked.stage.name,
            future.name,
            future.weight,
            _month(decision, each.cost_usd, months),
            _month(decision, regret, months),
            _money(decision, each.with_usd),
            _money(decision, each.without_usd),
            each.served_share,
            "; ".join(f"{name} {share:.1%}" for name, share in each.used),
        )
        for future, each, regret in zip(decision.futures, ranked.outcomes, ranked.regret, strict=True)
    ]


def _money(decision: Decision, usd: float) -> float | None:
    return round(100 * to_currency(usd, decision.usd_per_unit)) / 100 if math.isfinite(usd) else None


def _month(decision: Decision, usd: float, months: float) -> float | None:
    return _money(decision, per_unit_usd(usd, months))


def verdict(decision: Decision) -> str:
    """Which stage to sign, in a sentence or two."""
    if decision.least_regret == decision.least_expected:
        return f"{decision.least_regret}: least worst regret and least expected cost."
    return f"Least worst regret: {decision.least_regret}. Least expected cost: {decision.least_expected}."


def render_decision(decision: Decision) -> str:
    """The answer on one screen."""
    scenario, months = decision.scenario, decision.scenario.finance.horizon_months
    currency = scenario.budget.currency
    console = screen()
    console.print(Text(scenario.name, style="bold") + Text(f"  {scenario.description}" if scenario.description else ""))
    source = f"seed {scenario.seed}, catalogue of {scenario.catalog.date} ({scenario.catalog.digest[:8]})"
    console.print(Text(source, style="dim"))
    console.print()
    console.print(Text("DECIDE", style="bold") + Text("  " + verdict(decision)))
    section(console, f"First stages, {currency} a month over {months} months, rounded")
    names = ("", "expected", "worst", "worst regret", "where", "committed in all", "served least")
    listing = table(*names, right=(1, 2, 3, 5, 6))
    for row in tables(decision)[0].rows:
        name, expected, worst, regret, where, _, committed, served, _, _ = row
        listing.add_row(str(name), _cell(expected), _cell(worst), _cell(regret), str(where), _cell(committed), percent(float(served or 0)))
    show(console, listing)
    section(console, f"Cost in each future, {currency} a month, and regret; each rounded by itself")
    listing = table("", *(each.stage.name for each in decision.ranked), right=tuple(range(1, len(decision.ranked) + 1)))
    for k, future in enumerate(decision.futures):
        listing.add_row(future.name, *(_both(decision, each, k) for each in decision.ranked))
    show(console, listing)
    section(console, "Who serves, as today")
    bullets(console, [f"{each.stage.name}: {_used(each)}" for each in decision.ranked])
    for title, lines in (
        ("Stop conditions", decision.stops),
        ("Warnings", (*scenario.warnings, *decision.warnings)),
        ("Assumptions", decision.assumptions),
    ):
        if lines:
            section(console, title)
            bullets(console, [f"{line}" for line in lines])
    return output(console)


def _both(decision: Decision, ranked: Ranked, k: int) -> str:
    months, regret = ranked.stage.timing.horizon, ranked.regret[k]
    cost = _cell(_month(decision, ranked.outcomes[k].cost_usd, months))
    if math.isinf(regret):
        return f"{cost} (unserved)"
    more = _month(decision, regret, months) or 0.0
    return f"{cost} (best)" if more < 0.5 else f"{cost} (+{more:,.0f})"


def _used(ranked: Ranked) -> str:
    used = ranked.outcomes[0].used
    rest = sum(share for _, share in used[LISTED:])
    words = [f"{name} {percent(share)}" for name, share in used[:LISTED]]
    return ", ".join([*words, f"others {percent(rest)}"] if rest > 0 else words)


def _cell(value: Value) -> str:
    return "-" if value is None else f"{float(value):,.0f}"


def decision_json(decision: Decision) -> dict[str, Any]:
    """The decision as one object, money in the scenario's currency."""
    scenario = decision.scenario
    stages, outcomes = tables(decision)
    return {
        "schema": "servemix.decision/1",
        "scenario": scenario.name,
        "scenario_digest": scenario.digest,
        "seed": scenario.seed,
        "catalog": {"date": scenario.catalog.date, "digest": scenario.catalog.digest},
        "currency": scenario.budget.currency,
        "horizon_months": scenario.finance.horizon_months,
        "least_worst_regret": decision.least_regret,
        "least_expected_cost": decision.least_expected,
        "stages": _rows(stages),
        "outcomes": _rows(outcomes),
        "stops": list(decision.stops),
        "warnings": [*scenario.warnings, *decision.warnings],
        "assumptions": list(decision.assumptions),
    }


def _rows(of: Table) -> list[dict[str, Value]]:
    names = [column.name for column in of.columns]
    return [dict(zip(names, map(_round, row), strict=True)) for row in of.rows]


def _round(value: Value) -> Value:
    return float(f"{value:.9g}") if isinstance(value, float) else value


def write_decision(decision: Decision, out: Path) -> Path:
    """Writes decision.json, stages.csv and outcomes.csv into `out`, and returns it."""
    import json

    check_folder(out)
    write_bytes(out / "decision.json", (json.dumps(decision_json(decision), indent=2, allow_nan=False) + "\n").encode())
    for each in tables(decision):
        write_bytes(out / f"{each.name}.csv", table_csv(each).encode())
    return out
