"""Reference problem of Mélange (figures of its repository): 30 requests/s in four buckets over A10G and A100."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import numpy as np
import pytest

from optimize.program.solve import solve
from optimize.records import ProgramInput
from tests.optimize.program.checker import violations
from tests.optimize.program.problems import offer, pool, problem
from tests.shared_data import shared_data


def melange() -> tuple[ProgramInput, dict[str, float]]:
    """The example as a program (classes are its length buckets) and its fractional optimum."""
    case = json.loads(shared_data("reference/melange_example.json").read_text())["cases"]["melange_example_head"]
    given = case["input"]
    rates = np.array(given["workload_distribution"]).ravel() * given["total_request_rate"]
    pools = []
    for name, gpu in given["gpu_info"].items():
        load = [1 / rate if rate > 0 else math.inf for rate in np.array(gpu["tputs"]).ravel()]
        pools.append(pool(offer(name, gpu["cost"], elastic=False), load))
    return problem([[rate] for rate in rates], pools), case["continuous_split"]


def test_fractional_split_finds_one_a10g_and_one_a100() -> None:
    given, expected = melange()
    answer = solve(given, gap=1e-6)
    assert violations(given, answer) == []
    hosts = {terms.option.offer.id: int(answer.hosts[p, 0]) for p, terms in enumerate(given.pools)}
    assert hosts == {"A10G": expected["A10G"], "A100-80GB": expected["A100-80GB"]}
    assert answer.cost_usd / 730 == pytest.approx(expected["cost"]) == 4.68


def test_single_types_cost_what_the_reference_says() -> None:
    given, _ = melange()
    costs = {t.option.offer.id: solve(replace(given, pools=(t,))).cost_usd / 730 for t in given.pools}
    assert costs == {"A10G": pytest.approx(12.12), "A100-80GB": pytest.approx(7.34)}


def test_a_stock_of_one_a100_and_no_a10g_leaves_demand_unserved() -> None:
    given, _ = melange()
    a100 = given.pools[1]
    short = replace(given, pools=(replace(a100, option=replace(a100.option, offer=replace(a100.option.offer, stock=1))),))
    answer = solve(short)
    assert violations(short, answer) == []
    assert 0 < answer.unserved.sum() < 30 and answer.hosts.tolist() == [[1]]
