"""One input at a time: each at its low and its high end, all others as written; the widest first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from optimize.tables.columns import Column, Table, Value
from optimize.whatif.ask import Question, cache_of
from optimize.whatif.ranges import Range, ranges_of
from optimize.whatif.run_jobs import Ran, Where, run_all
from optimize.whatif.scenarios import Source
from optimize.whatif.study import Answer, Outcome
from optimize.whatif.task import Task
from sim.errors import InputError
from sim.plural import counted
from sim.scenario.scenario import Scenario
from sim.scenario.schema.fields import MOST

TORNADO = (
    Column("input", "str", "", "key of the scenario, or a factor on all that it names"),
    Column("today", "float", "", "as the scenario says; empty where the key is not written"),
    Column("low", "float", "", "low end"),
    Column("high", "float", "", "high end"),
    Column("low_per_month", "float", "money", "cost of a month of the plan made for the low end; empty where there is none"),
    Column("high_per_month", "float", "money", "the same for the high end"),
    Column("span", "float", "money", "distance between dearest and cheapest of low end, today and high end"),
    Column("low_answer", "str", "", "that plan in a few words"),
    Column("high_answer", "str", "", "the same for the high end"),
    Column("note", "str", "", "ends that are over budget, or have no plan"),
    Column("source", "str", "", "where the range comes from"),
)


def one_at_a_time(question: Question, texts: Sequence[str], where: Where) -> Answer:
    """The inputs by how far they move the cost of the plan. Every point is planned again; the budget binds nowhere and is compared with."""
    source = question.source()
    scenario = source.load(())
    ranges = ranges_of(source, scenario, texts)
    where.tell(f"{counted(len(ranges), 'input')} at two ends, and the scenario as it is: {2 * len(ranges) + 1} points")
    tasks = [task_of(scenario, (), where)]
    for each in ranges:
        tasks += [end_task(source, each, value, where) for value in (each.low, each.high)]
    ran = run_all(tasks, where)
    base = ran.outcomes[0]
    if base is None or base.row.get("per_month") is None:
        why = "interrupted" if base is None else base.row.get("note", base.status)
        if ran.interrupted:
            return Answer("one_at_a_time", scenario, (), (tornado_table(scenario, [], ran, 0.0),), (), ran.unfinished)
        raise InputError(f"{scenario.path}: there is no plan of the scenario as it is to compare with: {why}")
    table = tornado_table(scenario, ranges, ran, float(base.row["per_month"]))
    facts = {"base_per_month": base.row["per_month"], "base_answer": base.row["answer"]}
    return Answer("one_at_a_time", scenario, (), (table,), notes_of(table, scenario, base), ran.unfinished, facts=facts)


def end_task(source: Source, each: Range, value: float, where: Where) -> Task:
    """The point at one end of one input."""
    level = each.level(value)
    return task_of(source.load((level,)), level.factors, where)


def task_of(scenario: Scenario, factors: tuple[tuple[str, float], ...], where: Where) -> Task:
    """A point without a budget: what serving everything costs."""
    return Task(replace(scenario, budget=replace(scenario.budget, per_month=MOST)), factors, cache_of(where))


def tornado_table(scenario: Scenario, ranges: Sequence[Range], ran: Ran, today: float) -> Table:
    """A row per input whose ends were both reached, the widest first."""
    rows: list[tuple[Value, ...]] = []
    for k, each in enumerate(ranges):
        low, high = ran.outcomes[1 + 2 * k], ran.outcomes[2 + 2 * k]
        if low is None or high is None:
            continue
        costs = [cost_of(outcome) for outcome in (low, high)]
        known = [cost for cost in (*costs, today) if cost is not None]
        note = "; ".join(filter(None, (said(end, outcome, scenario) for end, outcome in (("low", low), ("high", high)))))
        answers = [str(outcome.row.get("answer", "")) for outcome in (low, high)]
        rows.append((each.key, each.today, each.low, each.high, *costs, round(max(known) - min(known), 2), *answers, note, each.source))
    rows.sort(key=lambda row: (-float(str(row[6])), str(row[0])))
    return Table("tornado", "One input at a time, the widest first", TORNADO, tuple(rows))


def cost_of(outcome: Outcome) -> float | None:
    """Cost of a month, where everything is served."""
    served = outcome.status in ("met", "missed", "unverified")
    return float(outcome.row["per_month"]) if served else None


def said(end: str, outcome: Outcome, scenario: Scenario) -> str:
    """What is to be said of one end; empty where it is met inside the budget."""
    cost = cost_of(outcome)
    if cost is None:
        return f"{end}: {outcome.row.get('note') or outcome.status}"
    if outcome.status == "missed":
        return f"{end}: best plan still misses"
    return f"{end}: over budget" if cost > scenario.budget.per_month else ""


def notes_of(table: Table, scenario: Scenario, base: Outcome) -> tuple[str, ...]:
    """The first three in words, and what the table does not show."""
    currency = scenario.budget.currency
    words = [f"as it is: {base.row['per_month']:,.0f} {currency} a month ({base.row['answer']}), budget {scenario.budget.per_month:,.0f}"]
    for row in table.rows[:3]:
        name, _, low, high, at_low, at_high, span, low_answer, high_answer, *_ = row
        ends_ = [f"{value:,.0f}" if isinstance(value, float) else "no plan" for value in (at_low, at_high)]
        change = f"; the plan changes from {low_answer} to {high_answer}" if low_answer != high_answer else ""
        words.append(f"{name} from {low:g} to {high:g}: {ends_[0]} to {ends_[1]}, a span of {span:,.0f}{change}")
    words.append("inputs move alone here: two at a time can do more than the sum of their bars (see --uncertain)")
    return tuple(words)
