"""Charges: quantity x price explains every line, and a fixed fleet can be repriced."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from optimize.money.bill import cost_lines, plan_cost_usd
from optimize.money.charges import OTHER, charges
from optimize.money.token_prices import relay_request_usd
from optimize.program.solve import solve
from optimize.records import CostLine, ProgramInput, ProgramSolution
from tests.optimize.program.problems import offer, pool, problem, relay
from tests.optimize.repriced_plan import repriced


@pytest.fixture(scope="module")
def solved() -> tuple[ProgramInput, ProgramSolution]:
    remote = relay("remote", [np.inf, 1e-4])
    row = replace(remote.relay, usd_per_mtok_input=1.0, usd_per_mtok_cached=0.25, usd_per_mtok_output=4.0)
    given = problem([[1.0, 4.0], [2.0, 2.0]], [pool(offer("monthly", 1.0, elastic=False), [0.5, np.inf])], [remote], hours=(500.0, 230.0))
    size = given.demand.input_tokens[1], given.demand.output_tokens[1]
    usd = np.array([np.inf, relay_request_usd(row, size[0], 0.4 * size[0], size[1])])
    given = replace(given, relays=(replace(given.relays[0], relay=row, usd_per_request=usd),), fixed_usd=10.0)
    return given, solve(given, gap=1e-6)


def test_charges_sum_to_their_lines_and_name_nothing_else(solved: tuple[ProgramInput, ProgramSolution]) -> None:
    lines = cost_lines(*solved)
    found = charges(*solved, lines)
    for line in lines:
        assert sum(c.usd for c in found if c.line == line.name) == pytest.approx(line.per_month_usd, rel=1e-9)
    assert OTHER not in {c.item for c in found}
    assert {c.item for c in found if c.kind == "relay"} == {"input tokens", "cached tokens", "output tokens"}


def test_cached_tokens_are_those_that_the_price_of_a_request_holds(solved: tuple[ProgramInput, ProgramSolution]) -> None:
    quantity = {c.item: c.quantity for c in charges(*solved, cost_lines(*solved)) if c.kind == "relay"}
    assert quantity["cached tokens"] / (quantity["cached tokens"] + quantity["input tokens"]) == pytest.approx(0.4)


def test_a_request_at_the_full_price_holds_no_cached_tokens(solved: tuple[ProgramInput, ProgramSolution]) -> None:
    given, answer = solved
    sold = given.relays[0]
    size = given.demand.input_tokens[1], given.demand.output_tokens[1]
    full = replace(sold, usd_per_request=np.array([np.inf, relay_request_usd(sold.relay, size[0], 0.0, size[1])]))
    priced = replace(given, relays=(full,))
    assert {c.item for c in charges(priced, answer, cost_lines(priced, answer)) if c.kind == "relay"} == {"input tokens", "output tokens"}


def test_a_line_that_quantity_times_price_does_not_explain_says_so(solved: tuple[ProgramInput, ProgramSolution]) -> None:
    lines = [replace(line, per_month_usd=line.per_month_usd + 5.0) for line in cost_lines(*solved)]
    odd = [*lines, CostLine("all GPUs", "gpu", 7.0)]
    found = charges(*solved, odd)
    assert sum(c.usd for c in found) == pytest.approx(sum(line.per_month_usd for line in odd))
    assert [c.usd for c in found if c.item == OTHER] == pytest.approx([5.0, 5.0])


def test_repricing_gives_the_bill_of_the_same_fleet_at_other_prices(solved: tuple[ProgramInput, ProgramSolution]) -> None:
    given, answer = solved
    dearer = replace(given.pools[0].option.offer, usd_per_hour=3.5)
    again = replace(given, pools=(replace(given.pools[0], option=replace(given.pools[0].option, offer=dearer)),))
    found = repriced(charges(given, answer, cost_lines(given, answer)), [dearer], [given.relays[0].relay])
    assert sum(c.usd for c in found) == pytest.approx(plan_cost_usd(again, answer), rel=1e-12)
