"""The answers of kernel and oracle to one case, and the first entry in which they differ."""

from __future__ import annotations

from sim.fleet.clients import simulate_turns
from sim.fleet.simulate import simulate
from tests.fuzz.random_cases import Case
from tests.oracle.engine import THE_RULES, Rules
from tests.oracle.fleet import OracleLog, simulate_plainly

Answer = dict[str, list[int]]
COLUMNS = ("arrival_ps", "first_ps", "finish_ps", "status", "target", "replica", "preemptions", "cached_tokens")


def kernel_answer(case: Case, event_per_arrival: bool) -> Answer:
    if case.turns is not None:
        result = simulate_turns(case.fleet, case.requests, case.turns, seed=0, end_ps=case.end_ps)
    else:
        result = simulate(case.fleet, case.requests, seed=0, end_ps=case.end_ps, event_per_arrival=event_per_arrival)
    answer: Answer = {name: getattr(result.log, name).tolist() for name in COLUMNS}
    for name in ("steps", "preemptions", "computed_tokens", "cached_tokens"):
        answer[f"{name} of targets"] = [getattr(stats, name) for stats in result.targets]
    return answer


def oracle_log(case: Case, rules: Rules = THE_RULES) -> OracleLog:
    return simulate_plainly(case.fleet, case.requests, case.end_ps, rules, case.turns)


def oracle_answer(case: Case, rules: Rules = THE_RULES) -> Answer:
    log = oracle_log(case, rules)
    answer: Answer = {name: getattr(log, name) for name in COLUMNS}
    answer["steps of targets"] = log.steps
    answer["preemptions of targets"] = log.target_preemptions
    answer["computed_tokens of targets"] = log.computed_tokens
    answer["cached_tokens of targets"] = log.target_cached_tokens
    return answer


def difference(kernel: Answer, oracle: Answer) -> str:
    """The first entry in which the answers differ; empty when they agree."""
    for name, expected in oracle.items():
        for at, (mine, theirs) in enumerate(zip(kernel[name], expected, strict=True)):
            if mine != theirs:
                return f"{name}[{at}]: kernel {mine}, oracle {theirs}"
    return ""


def differences(cases: dict[str, Case]) -> list[str]:
    """One line for each case on which kernel and oracle differ; every other one runs without an event per arrival."""
    found = []
    for number, (name, case) in enumerate(cases.items()):
        text = difference(kernel_answer(case, event_per_arrival=number % 2 == 0), oracle_answer(case))
        if text:
            found.append(f"{name}: {text}")
    return found
