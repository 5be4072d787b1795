"""Evaluations of answers, read against a plan: who was evaluated, what an accepted answer costs, and what the verdict leaves open."""

from __future__ import annotations

from collections.abc import Sequence

from optimize.explain.attribution import attribution
from optimize.money import accepted_usd, requests_per_month
from optimize.program.rows.escalations import answered_shares
from optimize.records import CostLine, ProgramInput, ProgramSolution
from optimize.result import ClassQuality, ModelQuality, Quality
from sim.scenario.scenario import Scenario

UNKNOWN = "answer quality not evaluated"
LEAST_SHARE = 1e-6  # below it a share is solver dust


def quality_of(
    scenario: Scenario, problem: ProgramInput, solution: ProgramSolution, lines: Sequence[CostLine], routing: str = ""
) -> Quality | None:
    """What is known of the answers of a plan; None where no class lets more than one model answer, and nothing is routed.

    A class that names one model has chosen it, whatever its answers are worth; only where the program chooses does a verdict on
    latency and cost alone say too little.
    """
    if scenario.routing is None and all(len(each.models) < 2 for each in scenario.request_classes):
        return None
    usd = attribution(problem, solution, lines, None).usd.sum(axis=1)
    classes = tuple(class_quality(scenario, problem, solution, c, float(usd[c])) for c in range(len(scenario.request_classes)))
    return Quality(classes, verdict(scenario, classes), routing)


def class_quality(scenario: Scenario, problem: ProgramInput, solution: ProgramSolution, c: int, usd: float) -> ClassQuality:
    """Models of the answers that count, by share, with what evaluations say of each; `usd` a month is what the class costs."""
    name, weight_h = scenario.request_classes[c].name, problem.demand.weight_h
    asked = requests_per_month(problem.demand.mean_rps[c], weight_h)
    given = answers(problem, solution, c)
    total = sum(given.values())
    rows = []
    for model, count in sorted(given.items(), key=lambda item: (-item[1], item[0])):
        row = scenario.routing.evaluated(name, model) if scenario.routing else None
        share = count / total if total > 0 else 0.0
        if share > LEAST_SHARE:
            known = (None, None, 0) if row is None else (row.accepted_share, row.least_accepted, row.n)
            rows.append(ModelQuality(model, share, *known))
    if not rows or any(row.accepted is None for row in rows) or asked <= 0:
        return ClassQuality(name, tuple(rows), None, None)
    accepted = sum(row.share * (row.accepted or 0.0) for row in rows)
    return ClassQuality(name, tuple(rows), accepted, accepted_usd(usd, total, accepted))


def answers(problem: ProgramInput, solution: ProgramSolution, c: int) -> dict[str, float]:
    """Requests a month of class `c` by the model whose answer counts; what was answered in vain is not in it."""
    own, remote = answered_shares(problem)
    weight_h = problem.demand.weight_h
    found: dict[str, float] = {}
    for p, terms in enumerate(problem.pools):
        if terms.option.deployment is not None and solution.pool_flow[p, c].any():
            model = terms.option.deployment.model.id
            found[model] = found.get(model, 0.0) + requests_per_month(solution.pool_flow[p, c], weight_h) * float(own[p, c])
    for a, sold in enumerate(problem.relays):
        if solution.relay_flow[a, c].any():
            model = sold.relay.model
            found[model] = found.get(model, 0.0) + requests_per_month(solution.relay_flow[a, c], weight_h) * float(remote[a, c])
    return found


def verdict(scenario: Scenario, classes: Sequence[ClassQuality]) -> str:
    """What the verdict must add: empty where every class with a choice of models was evaluated.

    >>> one = ClassQuality("faq", (ModelQuality("a", 1.0),), None, None)
    >>> from types import SimpleNamespace as S
    >>> chat, faq = S(name="chat", models=("a",)), S(name="faq", models=("a", "b"))
    >>> verdict(S(request_classes=(faq,), routing=None), [one]), verdict(S(request_classes=(chat,), routing=None), [one])
    ('answer quality not evaluated', '')
    """
    choice = {each.name for each in scenario.request_classes if len(each.models) > 1} | set(
        scenario.routing.narrowed if scenario.routing else ()
    )
    unknown = [each.name for each in classes if each.name in choice and any(row.accepted is None for row in each.models)]
    if not unknown:
        return ""
    return UNKNOWN if len(unknown) == len(choice) else f"{UNKNOWN} for {', '.join(unknown)}"
