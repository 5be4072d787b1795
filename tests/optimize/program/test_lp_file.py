"""The program as a file: another reader of it finds the cost of the plan."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import highspy
import pytest

from optimize.program.lp_file import whole_model, write_lp
from optimize.program.solve import solve
from optimize.records import ProgramInput
from tests.optimize.program.problems import offer, pool, problem, relay


def given(budget: float = math.inf) -> ProgramInput:
    pools = [pool(offer("elastic", 2.0), [0.25, math.inf]), pool(offer("monthly", 1.0, elastic=False, stock=2), [0.4, 0.5])]
    return replace(problem([[4.0, 8.0], [1.0, 1.0]], pools, [relay("r", [3e-4, math.inf], rpm=300.0)], budget=budget), fixed_usd=70.0)


def least_usd(file: Path) -> float:
    """What HiGHS finds in the file."""
    highs = highspy.Highs()
    highs.setOptionValue("output_flag", False)
    highs.readModel(str(file))
    highs.run()
    return float(highs.getInfo().objective_function_value)


def test_the_file_holds_the_program_whose_optimum_is_the_plan(tmp_path: Path) -> None:
    answer = solve(given(), gap=1e-7)
    write_lp(given(), answer, tmp_path / "a.lp")
    assert least_usd(tmp_path / "a.lp") == pytest.approx(answer.cost_usd - 70.0, rel=1e-5)
    head = (tmp_path / "a.lp").read_text(encoding="utf-8").splitlines()[:5]
    assert all(line.startswith("\\ ") for line in head)
    assert f"Cost {answer.cost_usd:.2f} USD a month, bound {answer.model_bound_usd:.2f}." in head[1]
    assert "Of the cost, 70.00 USD are fixed" in head[2]


def test_the_file_holds_the_budget_and_what_is_left_out_costs_a_penalty(tmp_path: Path) -> None:
    free = solve(given(), gap=1e-7)
    poor = given(0.6 * free.cost_usd)
    answer = solve(poor, gap=1e-7)
    assert answer.unserved.any()
    write_lp(poor, answer, tmp_path / "b.lp")
    assert least_usd(tmp_path / "b.lp") > answer.cost_usd
    rows = {key[0] for key in whole_model(poor, all_served=False).rows}
    assert "budget" in rows and "budget" not in {key[0] for key in whole_model(given(), all_served=True).rows}
