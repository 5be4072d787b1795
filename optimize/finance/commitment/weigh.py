"""Every first stage in every future: cost, regret, and which to sign."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

from optimize.finance.commitment.decision import Decision, Outcome, Ranked, Stage
from optimize.finance.commitment.first_stages import stages
from optimize.finance.commitment.futures import futures, is_today
from optimize.finance.commitment.recourse import Recourse
from optimize.finance.commitment.stops import stops
from optimize.money.amounts import per_unit_usd, scaled_usd
from optimize.money.commitment_cost import horizon_usd
from optimize.search.cache import CapacityStore, default_folder
from optimize.search.loop import Tell
from sim.engine.warm import warm_up
from sim.errors import InputError
from sim.plural import counted
from sim.scenario.scenario import Future, Scenario

ALL_SERVED = 1 - 1e-6
EXAMPLE = "write for example `commitments: [{name: buy, hold: {owned.h100x8: 2}}, {name: stay on APIs, recourse: relays}]`"


def decide(scenario: Scenario, jobs: int = 2, tell: Tell = lambda _: None, cache: Path | None = None) -> Decision:
    """The scenario's commitments ranked over its futures. Raises InputError where it has fewer than two, or measured capacity."""
    problems = []
    if len(scenario.commitments) < 2:
        problems.append(f"{scenario.path}: commitments: {len(scenario.commitments)} given, a decision needs two or more; {EXAMPLE}")
    if scenario.measured_capacity is not None:
        problems.append(f"{scenario.path}: candidates.measured_capacity: decide measures pools itself; leave it out")
    if problems:
        raise InputError(problems)
    warm_up(tell)
    recourse = Recourse(scenario, CapacityStore(cache if cache is not None else default_folder()), jobs, tell)
    chosen, ahead = stages(scenario), futures(scenario)
    for stage in chosen:
        tell(f"measuring what {stage.name} uses")
        recourse.measure(stage.commitment)
    rows = []
    for stage in chosen:
        tell(f"{stage.name} in {counted(len(ahead), 'future')}")
        rows.append([outcome(recourse, stage, future) for future in ahead])
    ranked = rank(chosen, ahead, rows)
    return Decision(
        scenario=scenario,
        futures=ahead,
        ranked=ranked,
        least_regret=min(ranked, key=lambda each: (each.worst_regret_usd, each.expected_usd, each.stage.name)).stage.name,
        least_expected=min(ranked, key=lambda each: (each.expected_usd, each.worst_regret_usd, each.stage.name)).stage.name,
        stops=stops(ranked, ahead),
        assumptions=assumptions(scenario, ahead),
        warnings=tuple(dict.fromkeys(note for each in ranked for note in notes(each, ahead, recourse.market.budget_usd))),
        measured=recourse.market.measured,
        usd_per_unit=scenario.catalog.fx_usd.get(scenario.budget.currency, 1.0),
    )


def outcome(recourse: Recourse, stage: Stage, future: Future) -> Outcome:
    """One first stage in one future."""
    rule, hold = stage.commitment.recourse, stage.commitment.hold
    bare = recourse.month((), rule, future)
    beside = recourse.month(hold, rule, future) if hold else bare
    once = stage.once_usd + (recourse.scenario.finance.migration_usd if must_move(recourse, rule, future) else 0.0)
    usd = horizon_usd(stage.held, stage.timing, beside.usd, bare.usd, once, future.gpu_rent)
    return Outcome(stage.name, future.name, beside.usd, bare.usd, usd, min(bare.served_share, beside.served_share), beside.used(), once)


def must_move(recourse: Recourse, rule: str, future: Future) -> bool:
    """Whether a stage that stays on relays has to move classes to own hosts after all, because no relay serves them any more."""
    return rule == "relays" and bool(recourse.allowed(future) - recourse.allowed(Future("as today")))


def rank(chosen: Sequence[Stage], ahead: Sequence[Future], rows: Sequence[Sequence[Outcome]]) -> tuple[Ranked, ...]:
    """Regret of each stage in each future: what it costs more than the best stage there; least worst regret first.

    Only stages that serve everything are compared where there are any; a stage that does not then has infinite regret. Expected
    figures weigh futures by their weights.
    """
    total = math.fsum(future.weight for future in ahead)
    best = []
    for k in range(len(ahead)):
        column = [row[k] for row in rows]
        serving = [each for each in column if each.served_share >= ALL_SERVED]
        best.append((min(each.cost_usd for each in serving or column), bool(serving)))
    answer = []
    for stage, row in zip(chosen, rows, strict=True):
        regret = tuple(
            math.inf if someone and each.served_share < ALL_SERVED else each.cost_usd - usd
            for each, (usd, someone) in zip(row, best, strict=True)
        )
        shares = [future.weight / total for future in ahead]
        missing = any(math.isinf(each) for each in regret)
        expected = math.inf if missing else math.fsum(scaled_usd(each.cost_usd, w) for w, each in zip(shares, row, strict=True))
        mean_regret = math.inf if missing else math.fsum(w * each for w, each in zip(shares, regret, strict=True))
        answer.append(Ranked(stage, tuple(row), regret, expected, mean_regret))
    return tuple(sorted(answer, key=lambda each: (each.worst_regret_usd, each.expected_usd, each.stage.name)))


def notes(ranked: Ranked, ahead: Sequence[Future], budget_usd: float) -> list[str]:
    """What a reader must know of one stage: months over the budget, requests unserved, parts without a figure."""
    stage, words = ranked.stage, [f"{ranked.stage.name}: {note}" for note in ranked.stage.notes]
    over = [each.future for each in ranked.outcomes if per_unit_usd(each.cost_usd, stage.timing.horizon) > budget_usd * (1 + 1e-9)]
    if over:
        words.append(f"{stage.name}: above the budget of ${budget_usd:,.0f} a month in {', '.join(over)}")
    words += [
        f"{stage.name}: {1 - each.served_share:.1%} of requests unserved in {each.future}"
        for each in ranked.outcomes
        if each.served_share < ALL_SERVED
    ]
    if stage.open:
        words.append(f"{stage.name}: {', '.join(stage.open)} have no citable figure and are not in its cost")
    return words


def assumptions(scenario: Scenario, ahead: Sequence[Future]) -> tuple[str, ...]:
    """What the ranking rests on."""
    usual = "the usual ones" if not scenario.futures else "the scenario's"
    even = len({future.weight for future in ahead}) == 1
    months = scenario.finance.horizon_months
    today = "" if any(is_today(future) for future in ahead) else "; today as it is is not among them"
    return (
        f"Futures are {usual}, {'equally likely' if even else 'weighed as written'}{today}; each shows at once and then stays.",
        f"Costs are sums over {months} months, undiscounted; owned hosts draw full power and are sold at the end at their residual value.",
        "Until held hosts serve (lead time), and while both fleets run, the month without them is paid.",
        "Recourse is planned again in every future, among pools measured today (to about 2 %, one seed); its hours are not simulated.",
        "Who stays on relays and loses them pays `finance.migration_usd` then.",
        "Recourse rents by the hour and calls relays; offers that are owned or reserved are had by a commitment only.",
        "Longer steps scale what a request occupies; where a TPOT limit binds, a replica loses more than that.",
    )


def exit_code(decision: Decision) -> int:
    """0 where some stage serves everything in every future, else 3."""
    return 0 if any(all(o.served_share >= ALL_SERVED for o in each.outcomes) for each in decision.ranked) else 3
