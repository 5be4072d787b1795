"""`servemix simulate`: one hour of traffic against a fleet."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
import typer.core

from optimize.commands.common import MOST, AsJson, OutFolder, ScenarioFile, Seed, Settings, command, deliver, json_text, origin_of, tell
from sim.engine.routers import ROUTERS

FLEET = (
    '"OFFER/MODEL/WEIGHTS[/tpN]=REPLICAS, relay:NAME, ...", each with options in brackets, such as '
    '"...=4[classes=chat:0.8+faq max_num_seqs=512 max_num_batched_tokens=4096 kv=fp8 overflow=112:relay:NAME]"; '
    "overflow goes to a relay or to entry #K."
)


@command('simulate scenarios/two_offers.yaml --fleet "aws.g6e.xlarge/llama-3.1-8b/fp8=2"')
def simulate(
    scenario: ScenarioFile,
    fleet: Annotated[str | None, typer.Option("--fleet", help=FLEET)] = None,
    plan: Annotated[Path | None, typer.Option("--plan", help="A plan.json of this scenario instead of --fleet.")] = None,
    hour: Annotated[str | None, typer.Option("--hour", help='Hour slice, e.g. "weekday 14"; default: the hour with most demand.')] = None,
    router: Annotated[str | None, typer.Option("--router", help=f"{', '.join(ROUTERS)}; default: the scenario's.")] = None,
    overflow: Annotated[
        int | None,
        typer.Option("--overflow", min=1, max=MOST, help="Send to a relay when each replica has this many open requests."),
    ] = None,
    stress: Annotated[
        bool, typer.Option("--stress", help="With --plan: more users, longer steps, relay out, spot lost, hosts down.")
    ] = False,
    harden: Annotated[bool, typer.Option("--harden", help="With --stress: also what planning for it costs (minutes).")] = False,
    as_json: AsJson = False,
    out: OutFolder = None,
    seed: Seed = None,
    settings: Settings = None,
) -> None:
    """Replay one hour of the scenario's traffic against a fleet and print what users feel."""
    from optimize.report.terminal.render_simulate import render_simulation, simulation_json
    from optimize.simulate.named_fleet import simulate_fleet, write_log
    from optimize.tables.folder import check_folder
    from sim.engine.warm import announce
    from sim.scenario import load_scenario

    loaded = load_scenario(origin_of(scenario), settings or (), seed)
    if out is not None:
        check_folder(out)
    announce(tell)
    if stress or harden:
        from optimize.report.terminal.render_stress import render_stress, stress_json
        from optimize.report.write import write_stress
        from optimize.simulate.stress import stress_saved

        found = stress_saved(loaded, plan, hour, harden, tell, fleet, router, overflow)
        deliver(
            lambda: json_text(stress_json(found)) if as_json else render_stress(found),
            None if out is None else lambda: f"results in {write_stress(found, out)}",
        )
        return
    run = simulate_fleet(loaded, fleet=fleet, plan=plan, hour=hour, router=router, overflow=overflow)
    deliver(
        lambda: json_text(simulation_json(run)) if as_json else render_simulation(run),
        None if out is None else lambda: f"request log in {write_log(run, out)}",
    )
