"""`servemix decide`: what to sign."""

from __future__ import annotations

import typer
import typer.core

from optimize.commands.common import AsJson, Jobs, OutFolder, ScenarioFile, Seed, Settings, command, deliver, json_text, origin_of, tell


@command("decide scenarios/decide_small.yaml")
def decide(
    scenario: ScenarioFile,
    as_json: AsJson = False,
    out: OutFolder = None,
    seed: Seed = None,
    settings: Settings = None,
    jobs: Jobs = 2,
) -> None:
    """Which of the scenario's `commitments` to sign: each is held fixed, the rest is planned again in every future.

    Exit code 0: a stage serves everything in every future; 2: bad input; 3: none does.
    """
    from optimize.finance.commitment.weigh import decide as weigh
    from optimize.finance.commitment.weigh import exit_code
    from optimize.report.terminal.render_decision_commitment import render_decision
    from optimize.report.write import write_decision
    from optimize.tables.decision_tables import decision_json
    from optimize.tables.folder import check_folder
    from sim.scenario import load_scenario

    loaded = load_scenario(origin_of(scenario), settings or (), seed)
    if out is not None:
        check_folder(out)
    decision = weigh(loaded, jobs=jobs, tell=tell)
    deliver(
        lambda: json_text(decision_json(decision)) if as_json else render_decision(decision),
        None if out is None else lambda: f"results in {write_decision(decision, out)}",
    )
    raise typer.Exit(exit_code(decision))
