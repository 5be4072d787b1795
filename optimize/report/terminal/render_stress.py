"""A stress test for people, as tables and as JSON."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from rich.text import Text

from optimize.money.units import to_currency
from optimize.report.terminal.console import bullets, output, screen, section, show, table
from optimize.simulate.stress_records import Attained, Stress, StressRow
from optimize.tables.columns import Column, Table, Value
from optimize.tables.plain_numbers import percent
from sim.latency import METRICS

STRESS = (
    Column("case", "str", "", "what happens"),
    Column("detail", "str", "", "to whom, and how long"),
    Column("hour", "str", "", "hour slice in which it happens"),
    Column("class", "str", "", "request class"),
    Column("metric", "str", "", "ttft, tpot or e2e"),
    Column("quantile", "float", "", "share that the promise asks for"),
    Column("limit_s", "float", "s", "limit of the promise"),
    Column("attainment", "float", "share", "of the class's requests of the hour within the limit, over all seeds"),
    Column("attainment_low", "float", "share", "lower end of its 95 % interval"),
    Column("attainment_high", "float", "share", "upper end"),
    Column("simulated_s", "float", "s", "the quantile in simulation; 1e9: never"),
    Column("met", "bool", "", "whether the promise is kept"),
    Column(
        "recovery_s",
        "float",
        "s",
        "from the event until a minute, and the rest of the hour, keep the promise; empty: not in the hour, or no event",
    ),
    Column("requests", "int", "requests", "of the class in the hour, over all seeds"),
)
HARDENING = (
    Column("reserve", "str", "", "what is planned for"),
    Column("per_month", "float", "money", "cost of a month by the program, not simulated; empty: no plan serves everything"),
    Column("more_per_month", "float", "money", "above the same program as planned"),
)
NEVER_S = 1e9
SCHEMA = "servemix.stress/1"
FILE = "stress.json"


def stress_table(stress: Stress) -> Table:
    """A row per case and promise."""
    rows = [_cells(row, each) for row in stress.rows for each in row.attained]
    return Table("stress", "The plan under stress", STRESS, tuple(rows))


def _cells(row: StressRow, each: Attained) -> tuple[Value, ...]:
    known = each.requests > 0
    shares = (each.attainment, *each.ci95) if known else (None, None, None)
    return (
        row.case,
        row.detail,
        row.hour,
        each.class_name,
        each.metric,
        each.quantile,
        each.limit_s,
        *(None if share is None else round(share, 6) for share in shares),
        (round(each.simulated_s, 6) if math.isfinite(each.simulated_s) else NEVER_S) if known else None,
        each.met,
        each.recovery_s,
        each.requests,
    )


def hardening_table(stress: Stress) -> Table:
    """What each reserve costs, in the scenario's currency."""
    scenario = stress.scenario
    rate = scenario.catalog.fx_usd.get(scenario.budget.currency, 1.0)
    rows = [
        (each.name, *(None if usd is None else round(to_currency(usd, rate), 2) for usd in (each.per_month_usd, each.more_usd)))
        for each in stress.hardening
    ]
    return Table("hardening", "What hardening costs", HARDENING, tuple(rows))


def stress_json(stress: Stress) -> dict[str, Any]:
    """The test as one object: a case holds its counts and its promises; seconds of 1e9 mean never."""
    scenario, names = stress.scenario, [column.name for column in STRESS]
    return {
        "schema": SCHEMA,
        "scenario": scenario.name,
        "seed": scenario.seed,
        "plan_sha256": stress.plan_sha256,
        "seeds": list(stress.seeds),
        "catalog": {"date": scenario.catalog.date, "digest": scenario.catalog.digest},
        "currency": scenario.budget.currency,
        "cases": [
            {
                "case": row.case,
                "detail": row.detail,
                "hour": row.hour,
                "met": row.met,
                "sudden": row.sudden,
                "recovery_s": row.recovery_s,
                "requests": row.requests,
                "restarts": row.restarts,
                "diverted": row.diverted,
                "unanswered": row.unanswered,
                "promises": [dict(zip(names[3:], _cells(row, each)[3:], strict=True)) for each in row.attained],
            }
            for row in stress.rows
        ],
        "hardening": hardening_table(stress).named(),
        "notes": list(stress.notes),
    }


def render_stress(stress: Stress, colour: bool | None = None) -> str:
    """The test on one screen, 110 columns wide."""
    scenario, console = stress.scenario, screen(colour)
    console.print(Text(scenario.name, style="bold") + Text("  the plan under stress"))
    seeds = ", ".join(map(str, stress.seeds))
    console.print(Text(f"seeds {seeds}, catalogue of {scenario.catalog.date} ({scenario.catalog.digest[:8]})", style="dim"))
    section(console, "Share of requests inside each promise, and the share promised, in the hour in which it happens")
    metrics = [metric for metric in METRICS if any(each.metric == metric for row in stress.rows for each in row.attained)]
    last = len(metrics) + 3
    listing = table("case", "hour", "class", *map(str.upper, metrics), "back after", "", right=range(3, last + 1))
    for row in stress.rows:
        _case_rows(listing, row, metrics)
    show(console, listing)
    section(console, "What happens")
    bullets(console, [happened(case) for case in stress_json(stress)["cases"]])
    if stress.hardening:
        section(console, "What planning for it costs, by the program")
        show(console, _hardening(stress))
    if stress.notes:
        section(console, "Left out")
        bullets(console, list(stress.notes))
    return output(console)


def _case_rows(listing: Any, row: StressRow, metrics: list[str]) -> None:
    """A line per class; the case, its hour and its verdict stand in the first one."""
    names = list(dict.fromkeys(each.class_name for each in row.attained))
    back = "-" if not row.sudden else "not in the hour" if row.recovery_s is None else f"{row.recovery_s:.0f} s"
    for k, name in enumerate(names):
        verdict = Text("held" if row.met else "MISSED", style="green" if row.met else "bold red") if k == 0 else ""
        cells = [_share([each for each in row.attained if (each.class_name, each.metric) == (name, metric)]) for metric in metrics]
        listing.add_row(row.case if k == 0 else "", row.hour if k == 0 else "", name, *cells, back if k == 0 else "", verdict)


def _share(promises: list[Attained]) -> Text:
    """Attained and promised shares of one metric."""
    answer = Text()
    for k, each in enumerate(promises):
        share = percent(each.attainment).removesuffix(" %") if each.requests else "-"
        answer.append(", " if k else "")
        answer.append(f"{share} / {each.quantile * 100:g} %", style="" if each.met else "bold red")
    return answer


def happened(case: Mapping[str, Any]) -> str:
    """What happened in a case of stress.json, in a sentence."""
    counts = [
        f"{case[key]:,} {what}"
        for key, what in (
            ("restarts", "requests taken back and sent again"),
            ("diverted", "found no replica and went elsewhere"),
            ("unanswered", "never answered"),
        )
        if case[key]
    ]
    of = f" (of {case['requests']:,})"
    return f"{case['case']}: {case['detail']}{'; ' if counts else ''}{', '.join(counts)}{of if counts else ''}"


def _hardening(stress: Stress) -> Any:
    listing = table("reserve", f"{stress.scenario.budget.currency} a month", "more", right=(1, 2))
    for row in hardening_table(stress).named():
        cells = (
            "-" if value is None else f"{float(value):+,.0f}" if sign else f"{float(value):,.0f}"
            for value, sign in ((row["per_month"], 0), (row["more_per_month"], 1))
        )
        listing.add_row(str(row["reserve"]), *cells)
    return listing
