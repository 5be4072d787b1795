"""Whether chances and intervals hold what they say.

    python -m benchmarks.confidence coverage benchmarks/held_out.csv [--write-docs]
    python -m benchmarks.confidence worlds [benchmarks/confidence_world.yaml] [--worlds 600] [--pilot]

`coverage`: the share of held-out measurements inside their 50, 80 and 95 % intervals, by laws that have not seen them, and the reliability
diagram. `worlds`: a plan is made, then true errors are drawn from the law, and its binding hours are played in each such world on a seed
that was never used. `--pilot` compares what a pilot was expected to save with what planning after it saves in those worlds.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from joblib import Parallel, delayed

from optimize.explain.confidence_ladder import Slowness
from optimize.explain.pilot_worth import normal_grid, pilots
from optimize.market.believed import relay_at
from optimize.market.drawn_scores import Drawn
from optimize.plan import Found, find, found_with_chance
from optimize.records import Floats
from optimize.search.chance import chance_of, cost_at, engine_of, law_of, stated, used_relays, worlds
from optimize.search.hour_evidence import attained, quantiles_of
from optimize.search.simulated_hour import fleet_of, simulate_hour
from optimize.search.verify import hours_to_simulate
from sim.calibration.derive_law import Residuals, covered, read_residuals
from sim.calibration.doubt import SCORES, probability_at, score_of
from sim.calibration.intervals import LEVELS, Placed, Share, shares
from sim.calibration.points import METRICS
from sim.latency import wilson_ci
from sim.scenario import load_scenario
from sim.scenario.scenario import Scenario

HERE = Path(__file__).resolve().parent
DOCS = HERE.parent / "docs" / "explanation"
WORLD = HERE / "confidence_world.yaml"
FIRST_SEED = 50_001
HOURS = 2
PLANS = 9  # made for what pilots may show
BEGIN, END = "<!-- intervals: begin -->", "<!-- intervals: end -->"


def cards(found: Residuals, k: int) -> str:
    """H100, A100 of any kind, or all others."""
    gpu = found.gpu[k]
    return "H100" if gpu == "h100" else "A100" if gpu.startswith("a100") else "other cards"


def coverage_text(rows: Sequence[Share]) -> str:
    """A line per group and metric: count, shares inside, the 95 % interval of the share at 80 %."""
    known = {(row.group, row.metric, row.level): row for row in rows}
    lines = [f"{'':14}{'':12}{'values':>8}" + "".join(f"{level:>8.0%}" for level in LEVELS) + "   of the share at 80 %"]
    for group in dict.fromkeys(row.group for row in rows):
        for metric in METRICS:
            cells = [known[group, metric, level] for level in LEVELS if (group, metric, level) in known]
            if cells:
                told = "".join(f"{cell.inside:>8.1%}" for cell in cells)
                lines.append(f"{group:14}{metric:12}{cells[0].points:>8}{told}   {cells[1].low:.1%} to {cells[1].high:.1%}")
    return "\n".join(lines)


def coverage(path: Path, write_docs: bool) -> str:
    """The table of shares inside, by laws drawn without the fold of each point."""
    unseen, strange = read_residuals(path)
    placed = covered(unseen, strange)
    text = coverage_text(shares([value for _, value in placed], lambda k: cards(unseen, placed[k][0])))
    if write_docs:
        page = DOCS / "fidelity.md"
        whole = page.read_text(encoding="utf-8")
        head, tail = whole.split(BEGIN)[0], whole.split(END)[1]
        page.write_text(f"{head}{BEGIN}\n```text\n{text}\n```\n{END}{tail}", encoding="utf-8")
        diagram(unseen, strange, DOCS / "fidelity-reliability.png")
    return text


def diagram(unseen: Residuals, strange: Residuals, path: Path) -> None:
    """Writes a PNG: by metric, the share of values inside an interval against what the interval promises."""
    from matplotlib.figure import Figure

    levels = (*(round(0.1 * k, 1) for k in range(1, 10)), 0.95)
    placed = [value for _, value in covered(unseen, strange, levels)]
    figure = Figure(figsize=(4.6, 4.4), dpi=90, layout="constrained")
    panel = figure.subplots()
    panel.plot([0, 1], [0, 1], "-", color="0.5", lw=0.8)
    for k, metric in enumerate(METRICS):
        inside = [_inside([each for each in placed if each.metric == metric], n) for n in range(len(levels))]
        panel.plot(levels, inside, "o-", ms=4, color=f"C{k}", label=metric)
    panel.set(xlim=(0, 1), ylim=(0, 1), xlabel="interval", ylabel="share of held-out values inside")
    panel.legend(frameon=False)
    figure.savefig(path, metadata={"Software": None})


def _inside(placed: Sequence[Placed], n: int) -> float:
    return float(np.mean([low <= each.measured <= high for each in placed for low, high in [each.intervals[n]]]))


def planned(scenario: Scenario, probability: float | None = None, jobs: int = 2) -> tuple[Found, float]:
    """The plan at the scenario's own chance with the probability planned for, or at a `probability` of its own."""

    def finder(each: Scenario, at: float | None) -> Found:
        return find(each, jobs, lambda _: None, None, "highs", "hours", at)

    if probability is not None:
        return finder(scenario, probability), probability
    assert scenario.policy.confidence is not None
    target = scenario.policy.confidence
    found, chance = found_with_chance(scenario, finder, target, target)  # one engine
    if chance is None:
        raise SystemExit(f"no plan: {found.answer.status}")
    print(f"planned at {chance.planned_at:.3f}, steps {dict(chance.steps)}, ${found.cost_usd:,.0f}; by interpolation {chance.share:.1%}")
    return found, chance.planned_at


def holds(found: Found, drawn: Drawn, i: int) -> bool:
    """Whether every promise holds in the binding hours of world `i`, on a seed of its own."""
    market, settled = found.market, found.answer.settled
    law, scenario = law_of(market), stated(market)
    costs = []
    for p, state in enumerate(settled.pools):
        deployment = state.option.deployment if settled.solution.hosts[p].any() else None
        costs.append(None if deployment is None else cost_at(law, scenario, deployment, float(drawn.deployments[engine_of(deployment)][i])))
    named = {relay.id: relay for relay in scenario.relays}
    slow = {name: relay_at(law, named[name], probability_at(float(drawn.relays[name][i]))) for name in used_relays(settled)}
    relays = tuple(replace(terms, relay=slow.get(terms.relay.id, terms.relay)) for terms in settled.problem.relays)
    problem = replace(settled.problem, relays=relays)
    for t in hours_to_simulate(settled.problem, settled.solution, limit=HOURS)[:HOURS]:
        hour = fleet_of(scenario, problem, settled.solution, costs, t)
        kept = attained([simulate_hour(scenario, settled.problem, hour, FIRST_SEED + i)])[0]
        if (kept < quantiles_of(settled.problem)).any():
            return False
    return True


def world_shares(found: Found, count: int, jobs: int) -> Floats:
    """[worlds] whether the plan holds in each."""
    drawn = worlds(found.market, found.answer.settled, count)
    return np.array(Parallel(n_jobs=jobs)(delayed(holds)(found, drawn, i) for i in range(count)), float)


def pilot_check(scenario: Scenario, found: Found, at: float, count: int, jobs: int) -> str:
    """What the pilot of the plan's first deployment was expected to save, and what plans after it save on average over the worlds."""
    market, settled = found.market, found.answer.settled
    assert scenario.policy.confidence is not None
    chance, _ = chance_of(market, settled, at, scenario.policy.confidence)
    worth = pilots(market, settled, chance, Slowness(market, settled, at))[0]
    told = math.sqrt(max(1 - worth.left**2, 0.0)) * normal_grid(count)  # the law's mean after the pilot in each world, stratified
    wanted = told + score_of(at) * worth.left
    nodes = np.clip(np.quantile(wanted, (0.0, *np.linspace(0.05, 0.95, PLANS - 2), 1.0)), SCORES[0], SCORES[-1])
    costs = [planned(scenario, round(probability_at(float(z)), 4), jobs)[0].cost_usd for z in nodes]
    realised = found.cost_usd - float(np.mean(np.interp(wanted, nodes, costs)))
    told_words = ", ".join(f"{z:.2f}: ${cost:,.0f}" for z, cost in zip(nodes, costs, strict=True))
    return (
        f"pilot of {worth.pilot.deployment}: expected to save ${worth.saves_usd:,.0f} a month, saves ${realised:,.0f} "
        f"({worth.saves_usd / realised - 1:+.0%}) in {count} worlds; proved plans by score: {told_words}"
    )


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.confidence", description="Whether chances hold what they say.")
    parser.add_argument("what", choices=("coverage", "worlds"))
    parser.add_argument("file", type=Path, nargs="?")
    parser.add_argument("--write-docs", action="store_true")
    parser.add_argument("--worlds", type=int, default=600)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--pilot", action="store_true", help="also what the pilot saves")
    chosen = parser.parse_args()
    if chosen.what == "coverage":
        print(coverage(chosen.file or HERE / "held_out.csv", chosen.write_docs))
        return 0
    scenario = load_scenario(chosen.file or WORLD, [], None)
    found, at = planned(scenario, jobs=chosen.jobs)
    held = world_shares(found, chosen.worlds, chosen.jobs)
    low, high = wilson_ci(float(held.mean()), len(held))
    print(f"holds in {held.mean():.1%} of {len(held)} worlds ({low:.1%} to {high:.1%}); asked for {scenario.policy.confidence:.0%}")
    if chosen.pilot:
        print(pilot_check(scenario, found, at, chosen.worlds, chosen.jobs))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
