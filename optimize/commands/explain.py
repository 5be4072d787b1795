"""`servemix explain`: questions about a saved plan, answered from what it holds."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from optimize.commands.common import AsJson, command, deliver, json_text


@command("explain plan/plan.json --why-not h100")
def explain(
    plan: Annotated[Path, typer.Argument(metavar="PLAN", help="plan.json that `optimize --out DIR` or `--json` wrote.")],
    why_not: Annotated[list[str] | None, typer.Option("--why-not", metavar="NAME", help="An offer, GPU type, model or relay.")] = None,
    why_class: Annotated[list[str] | None, typer.Option("--why-class", metavar="NAME", help="A request class.")] = None,
    why_hour: Annotated[list[str] | None, typer.Option("--why-hour", metavar="HOUR", help='An hour of the plan: "weekday 11".')] = None,
    as_json: AsJson = False,
) -> None:
    """Answer questions about a plan from its own evidence, one paragraph each; nothing is solved or simulated.

    Each option may be repeated. Exit code 2 where a name is no part of the plan.
    """
    from optimize.report.terminal.render_explain import paragraphs
    from optimize.simulate.saved_plan import read_plan
    from optimize.tables.why_asked import why_class as of_class
    from optimize.tables.why_asked import why_hour as of_hour
    from optimize.tables.why_asked import why_not as not_bought
    from sim.errors import InputError

    asked = [
        (question, name, answer)
        for question, names, answer in (
            ("why not", why_not, not_bought),
            ("why class", why_class, of_class),
            ("why hour", why_hour, of_hour),
        )
        for name in names or ()
    ]
    if not asked:
        raise InputError('explain: ask something: --why-not NAME, --why-class NAME or --why-hour "weekday 11"')
    said = read_plan(plan)
    try:
        told = [{"question": question, "name": name, "answer": answer(said, name)} for question, name, answer in asked]
    except (KeyError, TypeError, IndexError, AttributeError) as error:
        raise InputError(
            f"{plan}: it is not as `optimize --out DIR` writes it ({type(error).__name__}: {error}); make the plan again"
        ) from error
    deliver(lambda: json_text({"answers": told}) if as_json else paragraphs([each["answer"] for each in told]), None)
