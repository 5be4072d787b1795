"""`servemix validate`: measured serving points through the simulator."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
import typer.core

from optimize.commands.common import AsJson, command, emit_json, tell


@command("validate scenarios/measured/l4_qwen2.5-7b.csv")
def validate(
    points: Annotated[Path | None, typer.Argument(metavar="FILE.csv", help="Measured points; columns: docs/how-to/calibrate.md.")] = None,
    calibration: Annotated[Path | None, typer.Option("--calibration", metavar="FILE", help="Step costs written by `calibrate`.")] = None,
    log: Annotated[Path | None, typer.Option("--log", metavar="FILE", help="Instead: a log with measured latency, of one replica.")] = None,
    gpu: Annotated[str | None, typer.Option("--gpu", help="With --log: GPU of the catalogue.")] = None,
    model: Annotated[str | None, typer.Option("--model", help="With --log: model of the catalogue.")] = None,
    weights: Annotated[str, typer.Option("--weights", help="With --log: weight format.")] = "bf16",
    tensor_parallel: Annotated[int, typer.Option("--tensor-parallel", min=1, max=64, help="With --log: GPUs per replica.")] = 1,
    as_json: AsJson = False,
) -> None:
    """Replay measured serving points, or a log with measured latency, through the simulator; print predicted against measured."""
    from optimize.report.terminal.render_validation import render_replayed, render_validation
    from sim.calibration.measured_log import deployment_named, replay_measured
    from sim.calibration.validate_points import validate as replay
    from sim.catalog.loader import load_catalog
    from sim.engine.step_cost import step_cost
    from sim.engine.warm import announce
    from sim.errors import InputError
    from sim.scenario.read.calibration_file import with_calibration

    catalog = load_catalog() if calibration is None else with_calibration(load_catalog(), calibration)
    if (points is None) == (log is None):
        raise InputError("validate: write a file of measured points, or --log FILE with --gpu and --model")
    announce(tell)
    if log is not None:
        deployment = deployment_named(catalog, gpu, model, weights, tensor_parallel)
        compared = replay_measured(log, deployment, step_cost(deployment, catalog.calibration))
        if as_json:
            emit_json(compared.as_json())
        else:
            print(render_replayed(compared), end="")
        return
    assert points is not None
    result = replay(points, catalog)
    if as_json:
        emit_json(result.as_json())
    else:
        print(render_validation(result), end="")
