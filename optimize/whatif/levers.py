"""Levers, each planned again and ranked by what it saves; and rules of thumb compared with the simulator."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from optimize.market.relay_terms import may_serve
from optimize.money import relay_request_usd, requests_per_month, to_currency
from optimize.money.amounts import scaled_usd, share_of
from optimize.tables.columns import Column, Table, Value
from optimize.whatif.ask import Question, cache_of
from optimize.whatif.factors import users
from optimize.whatif.lever_changes import WAIT_SHARE, Lever, levers_of
from optimize.whatif.rules_of_thumb import rule_jobs, rule_table
from optimize.whatif.run_jobs import Where, run_all
from optimize.whatif.study import Answer, Outcome
from optimize.whatif.task import Task
from sim.catalog.facts import Relay
from sim.errors import InputError
from sim.plural import counted
from sim.scenario.scenario import RequestClass, Scenario
from sim.scenario.schema.fields import MOST
from sim.traffic import demand as demand_of

LEVERS = (
    Column("lever", "str", "", "what is done"),
    Column("per_month", "float", "money", "cost of a month of the plan made with it; empty where there is none"),
    Column("saving", "float", "money", "today's cost minus that; negative: it costs more"),
    Column("saving_share", "float", "share", "part of today's cost"),
    Column("status", "str", "", "met, missed ...; not here: the scenario has nothing to pull it on"),
    Column("price", "str", "", "what it asks in return, or why it cannot be pulled"),
    Column("answer", "str", "", "the plan in a few words"),
)


def levers(question: Question, where: Where) -> Answer:
    """Every lever alone, against the scenario as it is; the budget binds nowhere."""
    source = question.source()
    scenario = source.load(())
    if scenario.measured_capacity is not None:
        raise InputError(f"{scenario.path}: candidates.measured_capacity: levers need the simulator's engine; leave it out for --levers")
    found = [*levers_of(scenario), batch_lever(scenario)]
    pulled = [lever for lever in found if lever.scenario is not None]
    where.tell(f"{counted(len(pulled), 'lever')}, and the scenario as it is")
    tasks = [task_of(scenario, where, keep_fleet=True), *(task_of(lever.scenario, where) for lever in pulled if lever.scenario is not None)]
    ran = run_all(tasks, where)
    base = ran.outcomes[0]
    if base is None or "plan" not in base.row or base.status not in ("met", "missed"):
        if ran.interrupted:
            return Answer("levers", scenario, (), (Table("levers", "Levers", LEVERS, ()),), (), ran.unfinished)
        raise InputError(
            f"{scenario.path}: there is no plan of the scenario as it is to compare with: {base.row.get('note') if base else ''}"
        )
    table = lever_table(scenario, found, dict(zip([lever.name for lever in pulled], ran.outcomes[1:], strict=True)), base)
    jobs = [] if ran.interrupted else rule_jobs(scenario, base.row["plan"])
    measured = run_all([job for _, job in jobs], where)
    rules = rule_table([name for name, _ in jobs], measured.outcomes)
    facts = {
        "base_per_month": base.row["per_month"],
        "base_answer": base.row["answer"],
        "rules_measured_on": jobs[0][1].deployment.id if jobs else "",
    }
    unfinished = ran.unfinished + measured.unfinished
    return Answer(
        "levers", scenario, (), (table, *rules), notes_of(table, scenario, base, facts["rules_measured_on"]), unfinished, facts=facts
    )


def task_of(scenario: Scenario, where: Where, keep_fleet: bool = False) -> Task:
    """The scenario without a budget."""
    return Task(replace(scenario, budget=replace(scenario.budget, per_month=MOST)), (), cache_of(where), keep_fleet)


def batch_lever(scenario: Scenario) -> Lever:
    """A share of every class that has a relay with a batch tier is answered there within a day; the rest is planned again.

    Approximation: the share is the same in every class; prompts of batches find nothing in a cache.
    """
    name = f"batch API for {WAIT_SHARE:.0%} of requests"
    demand = demand_of(scenario)
    usd, kept = 0.0, []
    for c, each in enumerate(scenario.request_classes):
        prices = [
            batch_usd(scenario, each, relay, demand.input_tokens[c], demand.output_tokens[c]) for relay in scenario.catalog.relays.values()
        ]
        known = [price for price in prices if price is not None]
        part = WAIT_SHARE if known else 0.0
        if known:
            usd += scaled_usd(min(known), part, requests_per_month(demand.mean_rps[c], demand.weight_h))
        kept.append(each.share * (1 - part))
    if sum(kept) > 1 - 1e-9:
        return Lever(name, "no relay of these models lists a batch tier", None)
    total = sum(kept)
    classes = tuple(replace(each, share=share / total) for each, share in zip(scenario.request_classes, kept, strict=True))

    return Lever(name, "that part waits up to a day", users(replace(scenario, request_classes=classes), total), usd)


def batch_usd(scenario: Scenario, each: RequestClass, relay: object, inputs: float, outputs: float) -> float | None:
    """USD of a request of the class at the batch tier of a relay of the catalogue; None where it has none, or may not serve the class."""

    assert isinstance(relay, Relay)
    prices = relay.usd_per_mtok_batch_input, relay.usd_per_mtok_batch_output
    if prices[0] is None or prices[1] is None or relay.grade == "claimed" or not may_serve(relay, each):
        return None
    cheap = replace(relay, usd_per_mtok_input=prices[0], usd_per_mtok_output=prices[1], usd_per_mtok_cached=None)
    factor_in, factor_out = each.factors(relay.model)
    return float(relay_request_usd(cheap, inputs * factor_in, 0.0, outputs * factor_out))


def lever_table(scenario: Scenario, found: Sequence[Lever], outcomes: dict[str, Outcome | None], base: Outcome) -> Table:
    """The levers by falling saving; those that cannot be pulled last, with the reason."""
    today = float(base.row["per_month"])
    rows: list[tuple[Value, ...]] = []
    for lever in found:
        outcome = outcomes.get(lever.name)
        if lever.scenario is None:
            rows.append((lever.name, None, None, None, "not here", lever.price, ""))
        elif outcome is not None and outcome.status in ("met", "missed"):
            extra = to_currency(lever.extra_usd, scenario.catalog.fx_usd.get(scenario.budget.currency, 1.0))
            cost = round(float(outcome.row["per_month"]) + extra, 2)
            share = round(share_of(today - cost, today), 6)
            rows.append((lever.name, cost, round(today - cost, 2), share, outcome.status, lever.price, str(outcome.row["answer"])))
        elif outcome is not None:
            rows.append((lever.name, None, None, None, outcome.status, str(outcome.row.get("note") or lever.price), ""))
    rows.sort(key=lambda row: (row[2] is None, -float(str(row[2] or 0)), str(row[0])))
    return Table("levers", "Levers, each alone, by what they save", LEVERS, tuple(rows))


def notes_of(table: Table, scenario: Scenario, base: Outcome, measured_on: str) -> tuple[str, ...]:
    """What today's plan is, and how to read savings."""
    words = [f"as it is: {base.row['per_month']:,.0f} {scenario.budget.currency} a month ({base.row['answer']})"]
    if base.row["own_share"] == 0:
        words.append("the plan has no own GPUs: levers of the engine save nothing unless they bring own GPUs below the relays")
    nothing = [str(row["lever"]) for row in table.named() if row["saving"] is not None and abs(float(str(row["saving"]))) < 0.005]
    if nothing:
        words.append(f"saves nothing here: {', '.join(nothing)}")
    words.append("savings do not add up: each is against the plan as it is")
    if measured_on:
        words.append(f"rules of thumb are measured on one replica of {measured_on}, at the scenario's promises")
    return tuple(words)
