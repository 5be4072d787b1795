"""The first screen of every kind of answer is short, and answers the five questions that a manager asks."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from optimize.records import Alternative
from optimize.report.terminal.render_plan import render, sections_named
from optimize.result import Plan
from optimize.tables.bill_lines import bill_of
from optimize.tables.recommendation import BY_API, SELF_HOSTED, recommendation, to_do
from optimize.tables.short_names import names_of
from sim.errors import InputError
from tests.docs.test_first_screens import answers as answered
from tests.optimize.report import plan_fixture

MOST_LINES, MOST_COLUMNS = 40, 100


def with_rivals(plan: Plan) -> Plan:
    rivals = (Alternative(BY_API, "infeasible", None, "records may not leave own GPUs"), Alternative(SELF_HOSTED, "met", 44_120.0))
    return replace(plan, alternatives=(*plan.alternatives, *rivals))


def missed(plan: Plan) -> Plan:
    assert plan.verification is not None
    first = replace(plan.verification.verdicts[0], attainment=0.9, met=False)
    proof = replace(plan.verification, verdicts=(first, *plan.verification.verdicts[1:]), met=False)
    return replace(plan, verification=proof, status="missed")


def answers() -> dict[str, Plan]:
    whole = with_rivals(plan_fixture.plan())
    short = plan_fixture.over_budget()
    return {
        "met": whole,
        "missed": missed(whole),
        "over budget": short,
        "no plan": replace(short, status="infeasible"),
        "unverified": replace(whole, status="unverified", verification=None),
    }


@pytest.mark.parametrize("name", answers())
def test_at_most_forty_lines_of_a_hundred_columns(name: str) -> None:
    plan = answers()[name]
    wordy = replace(plan, warnings=("a long warning " * 40,) * 9, lines=plan.lines * 3)
    for each in (plan, wordy):
        lines = render(each, colour=False, show=()).splitlines()
        assert len(lines) <= MOST_LINES
        assert max(map(len, lines)) <= MOST_COLUMNS


@pytest.mark.parametrize("name", answers())
def test_the_screen_answers_five_questions_in_every_status(name: str) -> None:
    said = answered(render(answers()[name], colour=False, show=()))
    assert [question for question, yes in said.items() if not yes] == []


def test_a_plan_without_flips_says_that_none_were_examined() -> None:
    plan = replace(plan_fixture.plan(), flips=())
    assert recommendation(plan, bill_of(plan))[-1].startswith("What would change this: prices and volumes were not examined")


def test_five_questions_are_answered_in_the_first_paragraph() -> None:
    said = " ".join(recommendation(with_rivals(plan_fixture.plan()), bill_of(plan_fixture.plan())))
    assert "Rent 2 to 10 H100 by the hour from Neo for llama-3.1-70b" in said  # what to buy
    assert "reserve 4 L40S for one year at AWS" in said and "all reasoning requests from Lab (thinker)" in said
    assert "$38,783 a month, $1,217 below the budget" in said  # what it costs
    assert "Every promise held" in said  # whether the promise is kept, and on what evidence
    assert "By API wherever allowed: no such plan keeps every promise." in said  # what else there is
    assert "Self-hosted wherever possible: +14 %." in said
    assert "What would change this: h100 leaves the plan above about $3.31 per GPU-hour" in said


def test_an_answer_that_is_no_plan_says_so_before_what_comes_closest() -> None:
    short = plan_fixture.over_budget()
    first, second, *_ = recommendation(short, bill_of(short))
    assert first.startswith("No plan fits the budget.") and second.startswith("The closest found: rent 2 to 10 H100")


def test_a_plan_that_buys_nothing_says_so() -> None:
    plan = plan_fixture.plan()
    none = replace(
        plan.solution,
        hosts=np.zeros_like(plan.solution.hosts),
        billed=np.zeros_like(plan.solution.billed),
        pool_flow=np.zeros_like(plan.solution.pool_flow),
        relay_flow=np.zeros_like(plan.solution.relay_flow),
    )
    assert to_do(replace(plan, solution=none)) == "There is nothing to buy."


def test_missed_promises_come_first_and_are_marked() -> None:
    text = render(missed(plan_fixture.plan()), colour=False, show=())
    shown = [line for line in text.splitlines() if line.endswith((" met", " MISSED"))]
    assert shown[0].endswith("MISSED") and all(line.endswith(" met") for line in shown[1:])


def test_two_pools_of_one_name_are_told_apart_by_their_ids() -> None:
    plan = plan_fixture.plan()
    first = plan.program.pools[0]
    twin = replace(first, option=replace(first.option, id=first.option.id + "-twin"))
    program = replace(plan.program, pools=(first, twin))
    doubled = replace(plan, program=program, lines=(*plan.lines, replace(plan.lines[0], name=twin.option.id)))
    names = names_of(doubled)
    assert names[first.option.id] == first.option.id and names[twin.option.id] == twin.option.id


def test_sections_are_named_and_a_wrong_name_lists_the_right_ones() -> None:
    plan = plan_fixture.plan()
    alone = render(plan, colour=False, show=())
    some = render(plan, colour=False, show=sections_named("fleet, warnings"))
    assert "Fleet by hour" in some and "Fleet by hour" not in alone and "Monthly cost" not in some
    with pytest.raises(InputError, match='--show: there is no section "flet"; write cost, fleet, '):
        sections_named("flet")


def test_long_names_cost_rows_and_never_lines() -> None:
    plan = with_rivals(plan_fixture.plan())
    names = tuple(f"{name} of a service with a very long name" for name in plan.program.class_names)
    long = replace(plan, program=replace(plan.program, class_names=names), lines=plan.lines * 2)
    lines = render(long, colour=False, show=()).splitlines()
    assert len(lines) <= MOST_LINES and lines[-1].startswith("More:")


def test_a_long_description_wraps_at_the_width_of_the_first_screen() -> None:
    plan = plan_fixture.plan()
    long = replace(plan, scenario=replace(plan.scenario, description="words of a description " * 9))
    assert max(map(len, render(long, colour=False, show=()).splitlines())) <= MOST_COLUMNS


def test_a_host_without_a_seller_is_not_rented_from_itself() -> None:
    plan = plan_fixture.plan()
    first = plan.program.pools[0]
    named = replace(first.option.offer, id="H100", provider="H100")
    pools = (replace(first, option=replace(first.option, offer=named)), *plan.program.pools[1:])
    said = to_do(replace(plan, program=replace(plan.program, pools=pools)))
    assert said.startswith("Rent 2 to 10 H100 by the hour for llama-3.1-70b;") and "from H100" not in said
