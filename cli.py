"""The command line: parse, call, print, exit. No arithmetic."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

app = typer.Typer(
    name="servemix",
    help="Cheapest mix of GPUs and relay APIs that keeps a latency promise, proved by simulation.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)

ScenarioFile = Annotated[Path, typer.Argument(metavar="SCENARIO", help="Scenario file (YAML).")]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object on stdout and nothing else.")]
OutFolder = Annotated[Path | None, typer.Option("--out", metavar="DIR", help="Write results into this folder.")]
Seed = Annotated[int | None, typer.Option("--seed", min=0, help="Seed instead of the scenario's.")]
Settings = Annotated[list[str] | None, typer.Option("--set", metavar="KEY.PATH=VALUE", help="Override a scenario key; may be repeated.")]
Jobs = Annotated[int, typer.Option("--jobs", min=1, max=256, help="Processes that simulate at the same time.")]

EXIT_CODES = {"met": 0, "unverified": 0, "over_budget": 3, "infeasible": 3, "missed": 4}


def tell(message: str) -> None:
    """Progress goes to stderr: stdout is the answer."""
    print(message, file=sys.stderr, flush=True)


def emit_json(value: dict[str, Any]) -> None:
    import json

    print(json.dumps(value, indent=2, allow_nan=False))


@app.command(epilog="Example: python cli.py optimize scenarios/two_offers.yaml")
def optimize(
    scenario: ScenarioFile,
    as_json: AsJson = False,
    out: OutFolder = None,
    seed: Seed = None,
    settings: Settings = None,
    jobs: Jobs = 2,
) -> None:
    """Find the cheapest plan that keeps every promise inside the budget, and prove it by simulation.

    Exit code 0: plan met; 2: bad input; 3: no plan inside SLO and budget; 4: the best plan still misses in simulation.
    """
    from optimize.plan import optimize as find_plan
    from optimize.report.plan_json import plan_json
    from optimize.report.terminal import render
    from optimize.report.write import check_folder, write_results
    from sim.scenario import load_scenario

    loaded = load_scenario(scenario, settings or (), seed)
    if out is not None:
        check_folder(out)
    plan = find_plan(loaded, jobs=jobs, tell=tell)
    if as_json:
        emit_json(plan_json(plan))
    else:
        print(render(plan), end="")
    if out is not None:
        tell(f"results in {write_results(plan, out)}")
    raise typer.Exit(EXIT_CODES[plan.status])


@app.command(epilog='Example: python cli.py simulate scenarios/two_offers.yaml --fleet "aws.g6e.xlarge/llama-3.1-8b/fp8=2"')
def simulate(
    scenario: ScenarioFile,
    fleet: Annotated[str | None, typer.Option("--fleet", help='"OFFER/MODEL/WEIGHTS[/tpN]=REPLICAS, relay:NAME, ...".')] = None,
    plan: Annotated[Path | None, typer.Option("--plan", help="A plan.json of this scenario instead of --fleet.")] = None,
    hour: Annotated[str | None, typer.Option("--hour", help='Hour slice, e.g. "weekday 14"; default: the hour with most demand.')] = None,
    router: Annotated[str, typer.Option("--router", help="least_outstanding or round_robin.")] = "least_outstanding",
    overflow: Annotated[
        int | None, typer.Option("--overflow", min=1, help="Send to a relay when each replica has this many open requests.")
    ] = None,
    as_json: AsJson = False,
    out: OutFolder = None,
    seed: Seed = None,
    settings: Settings = None,
) -> None:
    """Replay one hour of the scenario's traffic against a fleet and print what users feel."""
    from optimize.report.simulate import render_simulation, simulation_json
    from optimize.report.write import check_folder
    from optimize.whatfleet import simulate_fleet, write_log
    from sim.scenario import load_scenario

    loaded = load_scenario(scenario, settings or (), seed)
    if out is not None:
        check_folder(out)
    run = simulate_fleet(loaded, fleet=fleet, plan=plan, hour=hour, router=router, overflow=overflow)
    if as_json:
        emit_json(simulation_json(run))
    else:
        print(render_simulation(run), end="")
    if out is not None:
        tell(f"request log in {write_log(run, out)}")


@app.command(epilog="Example: python cli.py catalog offers aws.g6e.xlarge")
def catalog(
    table: Annotated[str, typer.Argument(help="gpus, models, formats, offers or relays.")] = "gpus",
    name: Annotated[str | None, typer.Argument(help="One row, with its source.")] = None,
    as_json: AsJson = False,
) -> None:
    """Show the facts that plans rest on, each with its source and date."""
    from optimize.report.catalogue import catalogue_rows, render_catalogue

    rows = catalogue_rows(table, name)
    if as_json:
        emit_json({"table": table, "rows": rows})
    else:
        print(render_catalogue(table, rows, whole=name is not None), end="")


@app.command(epilog="Example: python cli.py validate my_measurements.csv")
def validate(
    points: Annotated[Path, typer.Argument(metavar="FILE.csv", help="Measured serving points; columns: docs/explanation/fidelity.md.")],
    as_json: AsJson = False,
) -> None:
    """Replay measured serving points through the simulator and print predicted against measured."""
    from optimize.report.catalogue import render_validation
    from sim.calibration.validate import validate as replay
    from sim.catalog.loader import load_catalog

    result = replay(points, load_catalog())
    if as_json:
        emit_json(result.as_json())
    else:
        print(render_validation(result), end="")


def main() -> None:
    """Entry point of `servemix`: errors that a user can cause are one message and an exit code, never a traceback."""
    from sim.errors import ServeMixError

    try:
        app()
    except ServeMixError as error:
        print(error, file=sys.stderr)
        sys.exit(error.exit_code)
    except KeyboardInterrupt:
        print("interrupted; measurements made so far are kept in the capacity cache", file=sys.stderr)
        sys.exit(130)


if __name__ == "__main__":
    main()
