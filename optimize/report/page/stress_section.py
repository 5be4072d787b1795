"""The section of report.html on a plan under stress: how to run it, or what came out. `simulate --stress --out` puts it in later."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from html import escape
from pathlib import Path
from typing import Any

from optimize.report.page.drawing import BAD, GOOD, WIDTH_IN, Theme
from optimize.report.page.figures import Figure
from optimize.report.page.page_parts import bullets, details, dim, section, table_html
from optimize.report.page.promise_html import stress_grid
from optimize.report.terminal.render_stress import FILE, HARDENING, SCHEMA, STRESS, happened
from optimize.tables.bill_lines import Bill
from optimize.tables.columns import Table
from optimize.tables.plain_numbers import percent

Json = Mapping[str, Any]
TITLE = "Under stress"
KEYS = {"cases", "hardening", "notes", "seeds", "currency"}
BEGIN, END = "<!--stress-->", "<!--/stress-->"
ROOMY = 4  # promises next to each other whose cells hold a share and a word
UNTRIED = "Not tried. This takes seconds to minutes, and shows the answer here:"
HOW = (
    "More users, longer steps, the largest relay out, spot hosts reclaimed, a host of each pool down: the share of requests inside each "
    "promise in the hour in which it happens. DIR is the folder of this report; --harden also says what planning for it would cost."
)


def untried(plan_command: str) -> str:
    """The section of a plan that was not tried: the command that does; nothing where it is not known how the plan was made."""
    if not plan_command:
        return ""
    return _placed(section(TITLE, f"<p>{escape(UNTRIED)} <code>{escape(stress_command(plan_command))}</code></p>", dim(HOW)))


def tried(said: Json) -> str:
    """The section of a plan that was tried; `said` is a stress test as in stress.json."""
    bill = Bill(said["currency"], 0, (), (), ())
    costs = Table("hardening", "What hardening costs", HARDENING, _rows(said["hardening"], [column.name for column in HARDENING]))
    return _placed(
        section(
            TITLE,
            stress_grid(said, stress_figure(said).alt),
            bullets([happened(case) for case in said["cases"]]),
            details("Figures", table_html(table_of(said), bill)),
            f"<h3>What planning for it costs, by the program</h3>{table_html(costs, bill)}" if costs.rows else "",
            f"<h3>Left out</h3>{bullets(said['notes'])}" if said["notes"] else "",
            dim(f"Seeds {', '.join(map(str, said['seeds']))}; each case is one hour of the plan on the simulator."),
        )
    )


def with_stress(page: str, said: Json) -> str:
    """The page with this stress test in its place; the page as it is where it has none."""
    return re.sub(f"{BEGIN}.*?{END}", lambda _: tried(said), page, count=1, flags=re.DOTALL)


def stress_command(plan_command: str) -> str:
    """The command that tries the plan which `plan_command` makes.

    >>> stress_command("servemix optimize a.yaml --seed 1 --explain full")
    'servemix simulate a.yaml --seed 1 --plan DIR/plan.json --stress --out DIR'
    """
    again = plan_command.replace(" optimize ", " simulate ", 1).removesuffix(" --explain full")
    return f"{again} --plan DIR/plan.json --stress --out DIR"


def table_of(said: Json) -> Table:
    """The table of a stress test as in stress.json: a row per case and promise."""
    names = [column.name for column in STRESS]
    rows = [_rows([case | each], names)[0] for case in said["cases"] for each in case["promises"]]
    return Table("stress", "The plan under stress", STRESS, tuple(rows))


def stress_figure(said: Json) -> Figure:
    """Cases by promises; its words say how many cases hold."""
    cases = said["cases"]
    missed = ", ".join(f"{case['case']} at {case['hour']}" for case in cases if not case["met"])
    held = f"{sum(case['met'] for case in cases)} of {len(cases)} cases keep every promise over the hour in which they happen"
    words = f"Share of requests inside each promise: {held}{'; missed: ' if missed else ''}{missed}."
    return Figure("stress", words, table_of(said), lambda theme: stress_chart(said, theme))


def stress_chart(said: Json, theme: Theme) -> Any:
    """A cell per case and promise with the share of requests inside it, coloured by whether the promise is kept."""
    from matplotlib.figure import Figure as Drawn

    cases, promises = said["cases"], said["cases"][0]["promises"] if said["cases"] else []
    drawn = Drawn(figsize=(WIDTH_IN, 0.9 + 0.34 * len(cases)), layout="constrained")
    axes: Any = drawn.subplots()
    for r, case in enumerate(cases):
        for c, each in enumerate(case["promises"]):
            known = each["attainment"] is not None
            colour = theme.faint if not known else GOOD if each["met"] else BAD
            axes.barh([r], [0.94], left=[c - 0.47], height=0.86, color=colour, alpha=0.35 if each["met"] else 0.55)
            apart = "  " if len(promises) <= ROOMY else "\n"
            text = f"{percent(each['attainment'])}{'' if each['met'] else apart + 'missed'}" if known else f"no{apart}requests"
            axes.annotate(text, (c, r), ha="center", va="center", color=theme.ink, fontsize=9 if "\n" not in text else 7.5)
    axes.set_xlim(-0.5, max(len(promises), 1) - 0.5)
    axes.set_ylim(len(cases) - 0.5, -0.5)
    names = [f"{each['class']}\n{each['metric'].upper()} {100 * each['quantile']:g} %" for each in promises]
    axes.set_xticks(range(len(names)), names)
    axes.set_yticks(range(len(cases)), [f"{case['case']}, {case['hour']}" for case in cases])
    axes.xaxis.tick_top()
    axes.tick_params(colors=theme.ink, length=0, labelsize=9)
    for side in axes.spines.values():
        side.set_visible(False)
    return drawn


def stress_of(out: Path, plan_sha256: str) -> dict[str, Any] | None:
    """The stress test that lies in `out`, if it is of the plan with this hash."""
    try:
        said = json.loads((out / FILE).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return None
    mine = isinstance(said, dict) and said.get("schema") == SCHEMA and said.get("plan_sha256") == plan_sha256
    return said if mine and said.keys() >= KEYS else None


def _rows(said: list[Json], names: list[str]) -> tuple[tuple[Any, ...], ...]:
    return tuple(tuple(row[name] for name in names) for row in said)


def _placed(inside: str) -> str:
    return f"{BEGIN}{inside}{END}"
