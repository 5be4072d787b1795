"""A what-if as one HTML file that needs nothing else."""

from __future__ import annotations

from html import escape

from optimize.report.page.page_parts import bullets, details, dim, picture, section, table_html
from optimize.report.page.style import HEAD, STYLE
from optimize.report.page.whatif_charts import whatif_figures
from optimize.report.terminal.render_whatif import TITLES, bill_for
from optimize.whatif.study import Answer
from sim.plural import counted

HEADINGS = {"break_even": "Break-even", "heat_map": "Cost map", "tornado": "Tornado", "risk": "Risk", "levers": "Savings"}
NOT_SOLVED = (
    "Dashed curves are not solved again: each class at its cheapest relay, or on whole hosts at the capacities that this point knows. "
    "The plan can lie below both, because it mixes, and above own GPUs only where their capacity was not measured."
)


def whatif_html(answer: Answer) -> str:
    """The answer as the text of one file; the same answer gives the same bytes."""
    scenario, bill = answer.scenario, bill_for(answer)
    title = f"{scenario.name}: {TITLES[answer.kind]}"
    source = f"seed {scenario.seed}, catalogue of {scenario.catalog.date} ({scenario.catalog.digest[:8]})"
    missing = f"Interrupted: {counted(answer.unfinished, 'point is', 'points are')} not in these tables." if answer.unfinished else ""
    failed = f"{counted(answer.failed, 'point')} came to no answer; the notes say why." if answer.failed else ""
    figures = whatif_figures(answer)
    curves = any(each.name.startswith("break_even") for each in figures)
    parts = [
        f"<header><h1>{escape(title)}</h1><p>{escape(scenario.description)}</p><p class=dim>{escape(source)}</p></header><main>",
        dim(missing) + dim(failed),
        section("What to read from it", bullets(answer.notes)),
        *(section(HEADINGS[each.name.rstrip("_0123456789")], picture(each)) for each in figures),
        dim(NOT_SOLVED) if curves else "",
        *(section(table.title, table_html(table, bill)) for table in answer.tables),
        details("What the columns mean", columns_html(answer)),
        "</main>",
    ]
    return (
        f"{HEAD}<title>{escape(title)}</title><style>{STYLE}</style></head><body>\n" + "\n".join(filter(None, parts)) + "\n</body></html>\n"
    )


def columns_html(answer: Answer) -> str:
    """Name and meaning of every column."""
    return "".join(
        f"<h3>{escape(table.title)}</h3>" + bullets([f"{column.name}: {column.meaning}" for column in table.columns])
        for table in answer.tables
    )
