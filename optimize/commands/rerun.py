"""`servemix rerun`: a saved plan, made again."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
import typer.core

from optimize.commands.common import AsJson, Jobs, command, emit_json, tell


@command("rerun a, after: optimize scenarios/melange.yaml --out a")
def rerun(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Results folder of `optimize --out DIR`.")],
    as_json: AsJson = False,
    jobs: Jobs = 2,
) -> None:
    """Check every input of a saved plan, make the plan again, and say whether it is identical or what changed.

    Exit code 0: identical; 2: bad input; 4: another plan.
    """
    from optimize.audit.rerun import rerun as make_again
    from optimize.plan import optimize as find_plan
    from optimize.tables.plan_json import plan_json

    found = make_again(folder, lambda scenario, how: plan_json(find_plan(scenario, jobs=jobs, tell=tell, full=how == "full")))
    if as_json:
        emit_json(found.as_json())
    else:
        print(found.text(), end="")
    raise typer.Exit(0 if found.identical else 4)
