"""The reference page of the plan's tables, made from their declared columns.

python -m optimize.report.terminal.render_reference > docs/reference/plan-tables.md
"""

from __future__ import annotations

from optimize.tables.columns import TABLES
from optimize.tables.decision_tables import DECISION_TABLES
from optimize.tables.decision_why import WHY_TABLES
from optimize.tables.finance_columns import FINANCE_TABLES

HEAD = """# Tables of a plan

`optimize --out DIR` writes each table as `tables/NAME.csv`; `report.xlsx` has the same columns. This page is made from the
declarations in `optimize/tables/columns.py`, `finance_columns.py` and `decision_why.py` by
`python -m optimize.report.terminal.render_reference`.
"money" is the scenario's currency; a share is 0..1; an empty cell means that there is no value.
Numbers of the files have at most 12 significant digits.
`stages` and `outcomes` are those of `decide --out DIR`.
"""


def reference() -> str:
    """The page as Markdown, one section per table."""
    parts = [HEAD]
    for name, columns in (TABLES | FINANCE_TABLES | WHY_TABLES | DECISION_TABLES).items():
        rows = "\n".join(f"| `{c.name}` | {c.dtype} | {c.unit} | {c.meaning} |" for c in columns)
        parts.append(f"## {name}\n\n| column | type | unit | meaning |\n|---|---|---|---|\n{rows}\n")
    return "\n".join(parts)


if __name__ == "__main__":
    print(reference(), end="")
