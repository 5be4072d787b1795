"""`servemix validate`: measured serving points through the simulator."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
import typer.core

from optimize.commands.common import AsJson, command, emit_json, tell


@command("validate scenarios/measured/l4_qwen2.5-7b.csv")
def validate(
    points: Annotated[Path, typer.Argument(metavar="FILE.csv", help="Measured serving points; columns: docs/how-to/calibrate.md.")],
    calibration: Annotated[Path | None, typer.Option("--calibration", metavar="FILE", help="Step costs written by `calibrate`.")] = None,
    as_json: AsJson = False,
) -> None:
    """Replay measured serving points through the simulator and print predicted against measured."""
    from optimize.report.terminal.render_validation import render_validation
    from sim.calibration.validate_points import validate as replay
    from sim.catalog.loader import load_catalog
    from sim.engine.warm import announce
    from sim.scenario.read.calibration_file import with_calibration

    catalog = load_catalog() if calibration is None else with_calibration(load_catalog(), calibration)
    announce(tell)
    result = replay(points, catalog)
    if as_json:
        emit_json(result.as_json())
    else:
        print(render_validation(result), end="")
