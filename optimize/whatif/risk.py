"""Uncertain inputs: which fixed plan still holds, at what cost, and which is the cheapest that holds in nine cases of ten."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from optimize.tables.columns import Column, Table, Value
from optimize.whatif.ask import Question, cache_of
from optimize.whatif.ranges import Range, ranges_of
from optimize.whatif.run_jobs import Ran, Where, run_all
from optimize.whatif.sample import hypercube
from optimize.whatif.scenarios import Source
from optimize.whatif.study import Answer, Outcome
from optimize.whatif.task import Task
from optimize.whatif.uncertain_draws import Draw
from sim.errors import InputError
from sim.plural import counted
from sim.scenario.scenario import Scenario
from sim.scenario.schema.fields import MOST
from sim.traffic import demand as demand_of

WANTED = 0.9
SIZES = (0.5, 0.75, 0.9, 0.97)  # quantiles of the drawn load for which plans are made, next to the one for today's
RISK = (
    Column("plan", "str", "", "the load that the plan was made for, times today's"),
    Column("answer", "str", "", "that plan in a few words"),
    Column("planned_per_month", "float", "money", "what it costs if everything comes out as written"),
    Column("held_share", "float", "share", "part of the draws in which every promise holds"),
    Column("held_low", "float", "share", "lower end of its 95 % interval (Wilson)"),
    Column("held_high", "float", "share", "upper end"),
    Column("in_budget_share", "float", "share", "part of the draws that stay inside the budget"),
    Column("cost_p10", "float", "money", "cost of a month that one draw in ten stays below"),
    Column("cost_p50", "float", "money", "median cost"),
    Column("cost_p90", "float", "money", "cost that nine draws in ten stay below"),
    Column("attainment_p10", "float", "share", "attainment of the tightest promise: one draw in ten is below"),
    Column("attainment_p50", "float", "share", "its median"),
    Column("attainment_p90", "float", "share", "nine draws in ten are below"),
    Column("chosen", "bool", "", "the cheapest of these plans that holds with 90 %"),
)
RESULTS = (
    Column("plan", "str", "", "as in the table of plans"),
    Column("per_month", "float", "money", "cost of a month under this draw"),
    Column("attainment", "float", "share", "attainment of the tightest promise"),
    Column("margin", "float", "share", "that minus its quantile"),
    Column("held", "bool", "", "every promise holds in the simulated hours"),
)


def uncertain(question: Question, texts: Sequence[str], samples: int, where: Where) -> Answer:
    """`samples` draws of all uncertain inputs, and the plans made for several loads simulated under each of them."""
    source = question.source()
    scenario = source.load(())
    if scenario.measured_capacity is not None:
        raise InputError(f"{scenario.path}: candidates.measured_capacity: there is no engine to simulate; leave it out for --uncertain")
    ranges = ranges_of(source, scenario, texts)
    drawn = draw_all(ranges, samples, scenario.seed)
    points = [loaded(source, ranges, row) for row in drawn]
    loads = plan_loads(scenario, points)
    where.tell(
        f"{counted(len(loads), 'plan')}, for {', '.join(f'{load:g}' for load in loads)} times today's load; "
        f"{samples} draws of {counted(len(ranges), 'input')}"
    )
    planned = run_all([made_for(scenario, load, where) for load in loads], where)
    plans = [(load, each) for load, each in zip(loads, planned.outcomes, strict=True) if each is not None and "plan" in each.row]
    usable = different([(load, each) for load, each in plans if each.status in ("met", "missed")])
    if not usable and not planned.interrupted:
        notes = "; ".join(dict.fromkeys(str(each.row.get("note") or each.status) for each in planned.outcomes if each is not None))
        raise InputError(f"{scenario.path}: there is no plan at any of these loads: {notes}")
    if planned.interrupted:
        return Answer("uncertain", scenario, (), (risk_table(scenario, [], []),), (), planned.unfinished + samples)
    fleets = tuple(each.row["plan"] for _, each in usable)
    jobs = [Draw(k, each, factors, fleets, dict(factors).get("gpu_prices", 1.0)) for k, (each, factors) in enumerate(points)]
    ran = run_all(jobs, where)
    tables = (risk_table(scenario, usable, rows_of(ran)), draw_table(ranges, drawn, usable, ran))
    return Answer("uncertain", scenario, (), tables, notes_of(tables[0], scenario, samples), ran.unfinished, failures(ran))


def draw_all(ranges: Sequence[Range], samples: int, seed: int) -> npt.NDArray[np.float64]:
    """[samples, ranges] values of a Latin hypercube, triangular in the logarithm with the peak at what the scenario says.

    Inputs are drawn independently of each other: an assumption.
    """
    shares = hypercube(samples, len(ranges), seed, "whatif draws")
    return np.array([[value_at(each, float(share)) for each, share in zip(ranges, row, strict=True)] for row in shares])


def value_at(each: Range, share: float) -> float:
    """The value of an input below which `share` of its law lies. Six significant digits.

    >>> value_at(Range("factor.users", 0.5, 2.0, 1.0, ""), 0.5)
    1.0
    """
    inside = each.today is not None and each.low <= each.today <= each.high
    low, high = math.log(each.low), math.log(each.high)
    peak = math.log(each.today) if inside and each.today else (low + high) / 2
    split = (peak - low) / (high - low)
    if share < split:
        value = low + math.sqrt(share * (high - low) * (peak - low))
    else:
        value = high - math.sqrt((1 - share) * (high - low) * (high - peak))
    return float(f"{math.exp(value):.6g}")


def loaded(source: Source, ranges: Sequence[Range], values: Sequence[float]) -> tuple[Scenario, tuple[tuple[str, float], ...]]:
    """The scenario and the factors of one draw."""
    levels = [each.level(float(value)) for each, value in zip(ranges, values, strict=True)]
    return source.load(levels), tuple(factor for level in levels for factor in level.factors)


def plan_loads(scenario: Scenario, points: Sequence[tuple[Scenario, tuple[tuple[str, float], ...]]]) -> list[float]:
    """1, and quantiles of the work that the draws bring, times today's: requests x answer length x step time, in steps of 5 %."""
    today = float(demand_of(scenario).mean_rps.sum())
    work = []
    for each, factors in points:
        named = dict(factors)
        more = named.get("users", 1.0) * named.get("output_tokens", 1.0) * named.get("step_time", 1.0)
        work.append(float(demand_of(each).mean_rps.sum()) / today * more)
    found = {1.0, *(max(0.05, round(20 * float(np.quantile(work, q))) / 20) for q in SIZES)}
    return sorted(found)


def made_for(scenario: Scenario, load: float, where: Where) -> Task:
    """The plan for `load` times today's requests; the budget binds nowhere and is compared with."""
    return Task(replace(scenario, budget=replace(scenario.budget, per_month=MOST)), (("users", load),), cache_of(where), keep_fleet=True)


def different(plans: Sequence[tuple[float, Outcome]]) -> list[tuple[float, Outcome]]:
    """The plans without those that buy the same as an earlier one."""
    bought: list[object] = []
    kept = []
    for load, each in plans:
        what = [each.row["plan"][name] for name in ("fleet", "routing")]
        if what not in bought:
            bought.append(what)
            kept.append((load, each))
    return kept


def rows_of(ran: Ran) -> list[list[dict[str, float]]]:
    """Per finished draw the results of every plan."""
    return [each.row["plans"] for each in ran.outcomes if each is not None and "plans" in each.row]


def failures(ran: Ran) -> int:
    """Draws that came to no answer."""
    return sum(each is not None and "plans" not in each.row for each in ran.outcomes)


def name_of(load: float) -> str:
    """The name of a candidate plan."""
    return "for today's load" if load == 1 else f"for {load:g} times the load"


def risk_table(scenario: Scenario, plans: Sequence[tuple[float, Outcome]], results: Sequence[Sequence[dict[str, float]]]) -> Table:
    """A row per plan; the cheapest by median cost that holds in 90 % of the draws is chosen."""
    rows: list[list[Value]] = []
    for k, (load, planned) in enumerate(plans):
        if not results:
            break
        cost, attained = (np.array([row[k][name] for row in results]) for name in ("per_month", "attainment"))
        held = sum(bool(row[k]["held"]) for row in results)
        low, high = wilson(held, len(results))
        inside = float(np.mean(cost <= scenario.budget.per_month))
        quantiles = [round(float(np.quantile(cost, q)), 2) for q in (0.1, 0.5, 0.9)]
        quantiles += [round(float(np.quantile(attained, q)), 6) for q in (0.1, 0.5, 0.9)]
        share = round(held / len(results), 6)
        answer, month = str(planned.row["answer"]), float(planned.row["per_month"])
        rows.append([name_of(load), answer, month, share, low, high, inside, *quantiles, False])
    good = [row for row in rows if float(str(row[3])) >= WANTED]
    if good:
        min(good, key=lambda row: float(str(row[8])))[-1] = True
    return Table("risk", "Plans under uncertain inputs", RISK, tuple(tuple(row) for row in rows))


def wilson(held: int, draws: int) -> tuple[float, float]:
    """95 % interval of a share. Source: Wilson 1927.

    >>> wilson(9, 10)
    (0.59585, 0.982124)
    """
    z, p = 1.959964, held / draws
    middle, width = p + z * z / (2 * draws), z * math.sqrt(p * (1 - p) / draws + z * z / (4 * draws * draws))
    whole = 1 + z * z / draws
    return round((middle - width) / whole, 6), round((middle + width) / whole, 6)


def draw_table(ranges: Sequence[Range], drawn: npt.NDArray[np.float64], plans: Sequence[tuple[float, Outcome]], ran: Ran) -> Table:
    """A row per draw and plan, with the drawn inputs."""
    columns = (Column("draw", "int", "", "number of the draw, from 1"), *(Column(each.key, "float", "", "drawn input") for each in ranges))
    rows: list[tuple[Value, ...]] = []
    for k, outcome in enumerate(ran.outcomes):
        if outcome is None or "plans" not in outcome.row:
            continue
        for (load, _), result in zip(plans, outcome.row["plans"], strict=True):
            found = [result[name] for name in ("per_month", "attainment", "margin", "held")]
            rows.append((k + 1, *(float(value) for value in drawn[k]), name_of(load), *found))
    return Table("draws", "Draws", (*columns, *RESULTS), tuple(rows))


def notes_of(table: Table, scenario: Scenario, samples: int) -> tuple[str, ...]:
    """The answer in words, and what it leaves out."""
    currency, words = scenario.budget.currency, []
    if table.rows:
        name, *_ = table.rows[0]
        held, least, most = (float(str(value)) for value in table.rows[0][3:6])
        words.append(f"the plan {name} holds in {held:.0%} of {samples} draws ({least:.0%} to {most:.0%})")
    chosen = next((row for row in table.rows if row[-1]), None)
    if chosen is None:
        words.append("none of these plans holds with 90 %: promises, relays or ranges are the reason, not the size of the fleet alone")
    else:
        low, middle, high = (f"{float(str(value)):,.0f}" for value in chosen[7:10])
        words.append(
            f"the cheapest of them that holds with 90 % is the plan {chosen[0]} ({chosen[1]}): {middle} {currency} a month in the median, "
            f"{low} to {high} from P10 to P90"
        )
    words.append("plans stay as they are under every draw: no host is added and no traffic moves; inputs are drawn independently")
    words.append("a draw is one seed of the busiest hours: more --samples narrow the shares")
    return tuple(words)
