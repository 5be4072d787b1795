"""A decision under commitment as tables and as JSON: what terminal, page, workbook and CSV read."""

from __future__ import annotations

import math
from itertools import accumulate
from typing import Any

from optimize.finance.commitment.decision import Decision, Ranked
from optimize.money.amounts import per_unit_usd
from optimize.money.commitment_cost import cash_by_month
from optimize.money.units import to_currency
from optimize.tables.columns import Column, Table, Value

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
REGRET = (
    Column("future", "str", "", "how things turn out"),
    Column("weight", "float", "", "how likely, relative to the others"),
    Column("stage", "str", "", "first stage"),
    Column("regret_per_month", "float", "money", "above the best stage of this future; empty: leaves requests that another serves"),
)
CASH = (
    Column("stage", "str", "", "first stage"),
    Column("month", "int", "months", "of the horizon, from 1"),
    Column("cash", "float", "money", "paid in the month, in the first future"),
    Column("so_far", "float", "money", "cash since the first month, in the first future"),
    Column("so_far_least", "float", "money", "the same in the cheapest future of that month"),
    Column("so_far_most", "float", "money", "the same in the dearest: the exposure"),
)
DECISION_TABLES = {"stages": STAGES, "outcomes": OUTCOMES, "regret": REGRET, "cash": CASH}


def tables(decision: Decision) -> tuple[Table, Table, Table, Table]:
    """One row per stage; one per stage and future; regret by future; cash by stage and month."""
    stages, outcomes = [], []
    for each in decision.ranked:
        stage, months = each.stage, each.stage.timing.horizon
        worst = each.regret.index(each.worst_regret_usd)
        figures = (each.expected_usd, max(o.cost_usd for o in each.outcomes), each.worst_regret_usd)
        stages.append(
            (
                stage.name,
                *(month_of(decision, usd, months) for usd in figures),
                decision.futures[worst].name if each.worst_regret_usd > 0 else "",
                month_of(decision, each.expected_regret_usd, months),
                money_of(decision, stage.committed_usd),
                min(o.served_share for o in each.outcomes),
                stage.timing.lead,
                stage.timing.overlap,
            )
        )
        outcomes += _outcome_rows(decision, each)
    return (
        Table("stages", "First stages", STAGES, tuple(stages)),
        Table("outcomes", "Stages by future", OUTCOMES, tuple(outcomes)),
        Table("regret", "Regret by future", REGRET, tuple(_regret_rows(decision))),
        Table("cash", "Cash exposure", CASH, tuple(row for each in decision.ranked for row in _cash_rows(decision, each))),
    )


def _outcome_rows(decision: Decision, ranked: Ranked) -> list[tuple[Value, ...]]:
    months = ranked.stage.timing.horizon
    return [
        (
            ranked.stage.name,
            future.name,
            future.weight,
            month_of(decision, each.cost_usd, months),
            month_of(decision, regret, months),
            money_of(decision, each.with_usd),
            money_of(decision, each.without_usd),
            each.served_share,
            "; ".join(f"{name} {share:.1%}" for name, share in each.used),
        )
        for future, each, regret in zip(decision.futures, ranked.outcomes, ranked.regret, strict=True)
    ]


def money_of(decision: Decision, usd: float) -> float | None:
    return round(100 * to_currency(usd, decision.usd_per_unit)) / 100 if math.isfinite(usd) else None


def month_of(decision: Decision, usd: float, months: float) -> float | None:
    return money_of(decision, per_unit_usd(usd, months))


def _regret_rows(decision: Decision) -> list[tuple[Value, ...]]:
    return [
        (future.name, future.weight, each.stage.name, month_of(decision, each.regret[k], each.stage.timing.horizon))
        for k, future in enumerate(decision.futures)
        for each in decision.ranked
    ]


def _cash_rows(decision: Decision, ranked: Ranked) -> list[tuple[Value, ...]]:
    """Cash of each month in the first future, and the range of the sums so far over all futures."""
    stage = ranked.stage
    paths = [
        cash_by_month(stage.held, stage.timing, each.with_usd, each.without_usd, each.once_usd, future.gpu_rent)
        for future, each in zip(decision.futures, ranked.outcomes, strict=True)
    ]
    sums = [list(accumulate(path)) for path in paths]
    return [
        (
            stage.name,
            m + 1,
            money_of(decision, paths[0][m]),
            money_of(decision, sums[0][m]),
            money_of(decision, min(path[m] for path in sums)),
            money_of(decision, max(path[m] for path in sums)),
        )
        for m in range(len(paths[0]))
    ]


def verdict(decision: Decision) -> str:
    """Which stage to sign, in a sentence or two."""
    if decision.least_regret == decision.least_expected:
        return f"{decision.least_regret}: least worst regret and least expected cost."
    return f"Least worst regret: {decision.least_regret}. Least expected cost: {decision.least_expected}."


def decision_json(decision: Decision) -> dict[str, Any]:
    """The decision as one object, money in the scenario's currency."""
    scenario = decision.scenario
    stages, outcomes, _, cash = tables(decision)
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
        "cash": _rows(cash),
        "stops": list(decision.stops),
        "warnings": [*scenario.warnings, *decision.warnings],
        "assumptions": list(decision.assumptions),
    }


def _rows(of: Table) -> list[dict[str, Value]]:
    names = [column.name for column in of.columns]
    return [dict(zip(names, map(_round, row), strict=True)) for row in of.rows]


def _round(value: Value) -> Value:
    return float(f"{value:.9g}") if isinstance(value, float) else value
