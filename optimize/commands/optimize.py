"""`servemix optimize`: the cheapest plan, proved."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer
import typer.core

from optimize.commands.common import AsJson, Jobs, OutFolder, ScenarioFile, Seed, Settings, command, deliver, json_text, origin_of, tell

Explain = Literal["brief", "full"]
Solver = Literal["highs", "cbc"]
SHOW = "Sections below the first screen: cost, fleet, promises, trust, alternatives, money, why, candidates, warnings, all ..."
Proof = Literal["hours", "changes", "day"]
EXIT_CODES = {"met": 0, "unverified": 0, "over_budget": 3, "infeasible": 3, "missed": 4}


@command("optimize scenarios/two_offers.yaml")
def optimize(
    scenario: ScenarioFile,
    as_json: AsJson = False,
    out: OutFolder = None,
    seed: Seed = None,
    settings: Settings = None,
    jobs: Jobs = 2,
    safety: Annotated[float | None, typer.Option("--safety", min=0, max=0.9, help="Capacity kept back; else policy.safety.")] = None,
    seeds: Annotated[int, typer.Option("--seeds", min=1, max=100, help="Independent replications, each under a seed of its own.")] = 1,
    show: Annotated[str, typer.Option("--show", metavar="NAME,...", help=SHOW)] = "",
    explain: Annotated[Explain, typer.Option("--explain", help="full: alternatives simulated, every promise relaxed (minutes).")] = "brief",
    solver: Annotated[Solver, typer.Option("--solver", help="Solves the integer programs; cbc takes several times as long.")] = "highs",
    lp_file: Annotated[
        Path | None, typer.Option("--write-lp", metavar="FILE", help="Write the plan's integer program as an LP file.")
    ] = None,
    proof: Annotated[
        Proof,
        typer.Option("--proof", help="Also play the steepest changes of the timetable, every hour of the week (day), or none (hours)."),
    ] = "changes",
) -> None:
    """Find the cheapest plan that keeps every promise inside the budget, and prove it by simulation.

    Exit code 0: plan met; 2: bad input; 3: no plan inside SLO and budget; 4: the best plan still misses in simulation.
    """
    from optimize.audit.replications import replications, spread, spread_words
    from optimize.plan import optimize as find_plan
    from optimize.program.lp_file import write_lp
    from optimize.report.terminal.render_plan import render, sections_named
    from optimize.report.write import write_results
    from optimize.tables.folder import check_file, check_folder
    from optimize.tables.plan_json import plan_json
    from sim.scenario import load_scenario

    sections = sections_named(show)
    margin = [] if safety is None else [f"policy.safety={safety}"]
    loaded = load_scenario(origin_of(scenario), [*(settings or ()), *margin], seed)
    if out is not None:
        check_folder(out)
    if lp_file is not None:
        check_file(lp_file, "--write-lp")
    plan = find_plan(loaded, jobs=jobs, tell=tell, full=explain == "full", solver=solver, proof=proof)
    found = list(replications(loaded, plan, seeds, lambda other: find_plan(other, jobs=jobs, tell=tell, only_plan=True, solver=solver)))
    if lp_file is not None:
        write_lp(plan.program, plan.solution, lp_file)

    def text() -> str:
        if as_json:
            return json_text(plan_json(plan) | ({"replications": spread(found)} if seeds > 1 else {}))
        return render(plan, show=sections) + (spread_words(found, loaded.budget.currency) if seeds > 1 else "")

    deliver(text, None if out is None else lambda: f"results in {write_results(plan, out, explain)}")
    raise typer.Exit(EXIT_CODES[plan.status])
