"""`servemix check`: a file, before anything rests on it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
import typer.core

from optimize.commands.common import AsJson, Settings, command, emit_json, origin_of


@command("check scenarios/two_offers.yaml")
def check(
    file: Annotated[Path | None, typer.Argument(metavar="FILE", help="A scenario, a log or a benchmark file; - reads a scenario.")] = None,
    kind: Annotated[str | None, typer.Option("--kind", help="scenario, log or benchmark; default: what it looks like.")] = None,
    schema: Annotated[bool, typer.Option("--schema", help="Print the JSON schema of scenarios, for editors.")] = False,
    as_json: AsJson = False,
    settings: Settings = None,
) -> None:
    """Validate a file and say what would be assumed; nothing is planned.

    Exit code 0: no fault; 2: every fault in one message, with its line and what would be right.
    """
    from sim.errors import InputError

    if schema:
        from sim.scenario.json_schema import schema_text

        print(schema_text(), end="")
        return
    if file is None:
        raise InputError("FILE: is missing; write the path of a scenario, or - for standard input")
    from optimize.audit.check_file import check_file
    from optimize.report.terminal.render_check import render_check

    found = check_file(origin_of(file), kind, settings or ())
    if as_json:
        emit_json(found.as_json())
    else:
        print(render_check(found), end="")
