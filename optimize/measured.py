"""The user's own numbers instead of the simulator's: a CSV of rates that one replica sustains inside the SLO."""

from __future__ import annotations

import csv
import math
from dataclasses import replace
from pathlib import Path

import numpy as np

from optimize.records import Alternative, LoadLevel, PoolOption, PoolTerms, ProgramInput, SloRow
from sim.errors import InputError
from sim.scenario.records import Scenario

COLUMNS = ("offer", "class", "rate_rps")


def measured_terms(scenario: Scenario, slos: tuple[SloRow, ...]) -> tuple[PoolTerms, ...]:
    """One pool per offer from `offer,class,rate_rps[,pool_size]`: a request/s of a class occupies 1 / rate replicas; zero: cannot serve.

    Rates at several pool sizes are for the whole pool; the smallest rate per replica among them is used (safe side).
    """
    if scenario.measured_capacity is None:
        raise ValueError("the scenario has no measured_capacity")
    rates = read_rates(scenario.measured_capacity, scenario)
    classes = [c.name for c in scenario.request_classes]
    answer = []
    for offer in scenario.offers:
        load = np.array([1 / rate if (rate := rates.get((offer.id, name), 0.0)) > 0 else math.inf for name in classes])
        served = tuple(int(c) for c in np.flatnonzero(np.isfinite(load)))
        option = PoolOption(offer.id, offer, None, 1, served)
        answer.append(PoolTerms(option, (LoadLevel(load, np.zeros(len(slos))),), 1.0, 0.0, True))
    return tuple(answer)


def read_rates(path: Path, scenario: Scenario) -> dict[tuple[str, str], float]:
    """(offer, class) -> requests/s per replica; InputError with every bad row."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: cannot be read as UTF-8 text ({error}); write a CSV with columns {','.join(COLUMNS)}") from None
    reader = csv.DictReader(text.splitlines())
    missing = [name for name in COLUMNS if name not in (reader.fieldnames or [])]
    if missing:
        raise InputError(f"{path}:1: column {', '.join(missing)} is missing; the header is offer,class,rate_rps[,pool_size]")
    offers, classes = {o.id for o in scenario.offers}, {c.name for c in scenario.request_classes}
    problems: list[str] = []
    rates: dict[tuple[str, str], float] = {}
    for row in reader:
        where = f"{path}:{reader.line_num}"
        offer, name = (row["offer"] or "").strip(), (row["class"] or "").strip()
        rate, size = number(row["rate_rps"]), number(row.get("pool_size") or "1")
        if offer not in offers:
            problems.append(f'{where}: offer: "{offer}" is not a candidate offer; write one of {", ".join(sorted(offers))}')
        if name not in classes:
            problems.append(f'{where}: class: "{name}" is not a request class; write one of {", ".join(sorted(classes))}')
        if rate is None:
            problems.append(f'{where}: rate_rps: "{row["rate_rps"]}" is not a rate; write requests per second, 0 for cannot serve')
        if size is None or size < 1:
            problems.append(f'{where}: pool_size: "{row.get("pool_size")}" is not a number of replicas; write 1 or more')
        if rate is not None and size:
            rates[offer, name] = min(rates.get((offer, name), math.inf), rate / size)
    if problems:
        raise InputError(problems)
    if not rates:
        raise InputError(f"{path}: has no rows; write at least one offer,class,rate_rps")
    return rates


def number(text: str | None) -> float | None:
    """A finite number >= 0, or None."""
    try:
        value = float(text or "")
    except ValueError:
        return None
    return value if math.isfinite(value) and value >= 0 else None


def measured_alternatives(problem: ProgramInput) -> tuple[Alternative, ...]:
    """The same question with each offer alone, with relays only, and without relays."""
    from optimize.program.solve import solve

    cases = [(f"{t.option.offer.id} only", replace(problem, pools=(t,), relays=())) for t in problem.pools]
    cases.append(("relays only", replace(problem, pools=())))
    cases.append(("own GPUs only", replace(problem, relays=())))
    answer = []
    for name, narrow in cases:
        solution = solve(replace(narrow, budget_usd=math.inf))
        if solution.unserved.sum() > 1e-6 * problem.demand.mean_rps.sum():
            answer.append(Alternative(name, "infeasible", None, "not every class can be served"))
        else:
            status = "within_budget" if solution.cost_usd <= problem.budget_usd else "over_budget"
            answer.append(Alternative(name, status, solution.cost_usd))
    return tuple(answer)
