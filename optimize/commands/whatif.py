"""`servemix whatif`: many scenarios in one command."""

from __future__ import annotations

from typing import Annotated

import typer
import typer.core

from optimize.commands.common import (
    MOST,
    AsJson,
    Jobs,
    OutFolder,
    ScenarioFile,
    Seed,
    Settings,
    command,
    deliver,
    json_text,
    origin_of,
    tell,
)


@command("whatif scenarios/two_offers.yaml --vary traffic.rate_rps=5:80:log3")
def whatif(
    scenario: ScenarioFile,
    vary: Annotated[
        list[str] | None, typer.Option("--vary", metavar="KEY=VALUES", help="50k,100k or 1e5:3e6:log10 or +NAME,-NAME; may be repeated.")
    ] = None,
    samples: Annotated[
        int | None, typer.Option("--samples", min=2, max=MOST, help="Latin hypercube of so many points instead of the grid.")
    ] = None,
    one_at_a_time: Annotated[bool, typer.Option("--one-at-a-time", help="Rank the inputs over their ranges (tornado).")] = False,
    uncertain: Annotated[bool, typer.Option("--uncertain", help="Risk: P10/P50/P90, and the cheapest plan that holds with 90 %.")] = False,
    levers: Annotated[bool, typer.Option("--levers", help="Rank changes by monthly saving.")] = False,
    cluster: Annotated[str | None, typer.Option("--cluster", metavar="ADDRESS", help="Dask scheduler, tcp://HOST:PORT.")] = None,
    as_json: AsJson = False,
    out: OutFolder = None,
    seed: Seed = None,
    settings: Settings = None,
    jobs: Jobs = 2,
) -> None:
    """Plan many scenarios: a grid or sample of inputs, one input at a time, risk, levers. With --out, a killed run resumes.

    Exit code 0: answered; 1: no point came to an answer; 2: bad input; 130: interrupted, what was finished is kept.
    """
    from optimize.report.terminal.render_whatif import render_whatif, whatif_json
    from optimize.report.write import write_whatif
    from optimize.whatif.ask import Question
    from optimize.whatif.entry import exit_code, what_if
    from optimize.whatif.run_jobs import Where

    where, question = Where(jobs, cluster, out, tell), Question(origin_of(scenario), tuple(settings or ()), seed)
    answer = what_if(question, vary or (), where, samples, one_at_a_time, uncertain, levers)
    deliver(
        lambda: json_text(whatif_json(answer)) if as_json else render_whatif(answer),
        None if out is None else lambda: f"results in {write_whatif(answer, out, tell)}",
    )
    raise typer.Exit(exit_code(answer))
