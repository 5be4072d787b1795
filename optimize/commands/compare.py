"""`servemix compare`: saved plans side by side, or a plan against an invoice."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
import typer.core

from optimize.commands.common import AsJson, command, emit_json


@command("compare a b, after: optimize scenarios/melange.yaml --out a, and with another --set --out b")
def compare(
    plans: Annotated[list[Path], typer.Argument(metavar="PLAN...", help="plan.json files or results folders; the first is compared with.")],
    actual: Annotated[Path | None, typer.Option("--actual", metavar="FILE", help="An invoice: FOCUS CSV or a usage export.")] = None,
    as_json: AsJson = False,
) -> None:
    """Saved plans side by side, or a plan against an invoice, and the bridge between their bills: its steps add up exactly."""
    from optimize.audit.compare_invoice import compare_actual
    from optimize.audit.compare_plans import compare_plans
    from optimize.report.terminal.render_comparison import render_comparison
    from sim.errors import InputError

    if actual is not None and len(plans) != 1:
        raise InputError(f"--actual: is compared with one plan, {len(plans)} are named")
    found = compare_plans(plans) if actual is None else compare_actual(plans[0], actual)
    if as_json:
        emit_json(found.as_json())
    else:
        print(render_comparison(found), end="")
