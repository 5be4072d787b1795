"""Every program that is solved is a PuLP problem; its text is readable and any solver finds the same optimum in it."""

from __future__ import annotations

import re
import subprocess
from dataclasses import replace
from pathlib import Path

import highspy
import pulp
import pytest

from benchmarks.named_packages import traced
from optimize.explain.duals import relaxation
from optimize.program import solve as solve_module
from optimize.program.fluid import fluid_bound_usd
from optimize.program.gap import gap_parts
from optimize.program.lp_file import whole_model, write_lp
from optimize.program.routes import pool_routes
from optimize.program.rows.build import build
from optimize.program.rows.model import View
from optimize.program.solve import solve
from optimize.program.solver import run
from optimize.records import ProgramInput
from tests.optimize.program.problems import offer, pool, problem, relay
from tests.optimize.program.random_problems import random_problem
from tests.optimize.program.test_solve import two_offers

EXACT = 1e-7


@pytest.mark.parametrize("small", [solve_module.SMALL, -1], ids=["whole", "in_stages"])
def test_each_run_of_the_solver_is_the_solution_of_one_pulp_problem(small: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(solve_module, "SMALL", small)
    with traced() as trace:
        for seed in range(6):
            given = random_problem(seed)
            answer = solve(given)
            solve(replace(given, budget_usd=max(sum(terms.committed_usd for terms in given.relays), 0.8 * answer.cost_usd)))
            fluid_bound_usd(given)
            gap_parts(given, answer, 0.03)
            relaxation(given)
    assert trace.agrees and trace.runs > 30
    assert all(prob.objective is not None and prob.constraints() for prob in trace.problems if prob.variables())


def test_a_row_and_a_variable_have_names_that_say_what_they_are() -> None:
    given = replace(two_offers(), class_names=("chat", "long mails"))
    model = build(given, View((0, 1), budget_usd=9000.0, penalty_usd=1.0), pool_routes(given))
    rows = {row.name for row in model.prob.constraints()}
    columns = {variable.name for variable in model.columns}
    hour = given.demand.slices[1]
    assert {f"demand(long_mails,{hour})", f"miss(chat.ttft.p95,{hour})", "budget"} <= rows
    assert {f"z(long_mails,{hour})", f"y(remote,chat,{hour})"} <= columns
    assert len(rows) == len(model.rows) and len(columns) == len(model.columns)


def test_names_that_read_the_same_are_told_apart_and_none_is_too_long() -> None:
    long = "a" * 90
    pools = [pool(offer(name, 1.0 + k), [0.5, 0.4]) for k, name in enumerate(("g/x", "g-x", long + "1", long + "2", "Größe 7"))]
    relays = [relay(name, [1e-4, 2e-4]) for name in ("r 1", "r-1")]
    given = replace(problem([[3.0], [2.0]], pools, relays), class_names=("mail (long)", "mail [long]"))
    model = whole_model(replace(given, n_plus_one=True), all_served=True)
    names = [variable.name for variable in model.columns]
    assert len(set(names)) == len(names) and all(len(name) <= 100 and re.fullmatch(r"[A-Za-z0-9_.,()~]+", name) for name in names)


def cbc_optimum(path: Path) -> float:
    """What CBC finds in an LP file, by its command line."""
    out = path.with_suffix(".txt")
    command = [pulp.apis.PULP_CBC_CMD.pulp_cbc_path, str(path), "ratioGap", "0", "solve", "solution", str(out)]
    subprocess.run(command, check=True, capture_output=True, timeout=60)
    return float(out.read_text().splitlines()[0].rsplit(" ", 1)[1])


def highs_optimum(path: Path) -> float:
    """What HiGHS finds in an LP file."""
    highs = highspy.Highs()  # type: ignore[no-untyped-call]
    highs.setOptionValue("output_flag", False)
    assert highs.readModel(str(path)) == highspy.HighsStatus.kOk
    highs.setOptionValue("mip_rel_gap", 0.0)
    highs.run()
    return float(highs.getInfo().objective_function_value)


def written() -> list[ProgramInput]:
    """Programs that are solved hour by hour and at once, with all served and without."""
    return [two_offers(), *(random_problem(seed) for seed in (1, 4, 7, 11, 18))]


@pytest.mark.parametrize("given", written(), ids=lambda given: f"{len(given.pools)}_pools_{len(given.relays)}_relays")
def test_other_solvers_find_the_same_optimum_in_the_file(given: ProgramInput, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    answer = solve(given, gap=EXACT)
    path = tmp_path / "plan.lp"
    write_lp(given, answer, path)
    if answer.unserved.any():
        assert "z(" in path.read_text()
    else:
        want = answer.cost_usd - given.fixed_usd
        assert cbc_optimum(path) == pytest.approx(want, rel=1e-5)
        assert highs_optimum(path) == pytest.approx(want, rel=1e-5)


def test_the_whole_problem_holds_the_rows_of_every_hour_that_is_solved_apart() -> None:
    given = replace(two_offers(), pools=two_offers().pools[:1], budget_usd=float("inf"))
    with traced() as trace:
        assert "by hour" in solve(given).solver
    apart = {row.name: str(row) for prob in trace.problems for row in prob.constraints()}
    together = {row.name: str(row) for row in whole_model(given, all_served=False).prob.constraints()}
    assert apart == together


@pytest.mark.parametrize("seed", range(8))
def test_cbc_and_highs_agree_on_relaxations(seed: int) -> None:
    given = random_problem(seed)
    view = View(tuple(range(len(given.demand.slices))), penalty_usd=1.0, month=True)
    one, two = (run(build(each, view, pool_routes(each)), 0.0, 0, relax=True) for each in (given, replace(given, solver="cbc")))
    assert two.objective == pytest.approx(one.objective, rel=1e-6, abs=1e-6)
