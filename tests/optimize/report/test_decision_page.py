"""The page, the board's sheet and the workbook of a decision under commitment."""

from __future__ import annotations

import io
from dataclasses import replace
from pathlib import Path

import openpyxl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from optimize.finance.commitment.decision import Decision, Outcome, Stage
from optimize.finance.commitment.weigh import rank
from optimize.money.commitment_cost import Held, Timing, cash_by_month, horizon_usd
from optimize.report.page.decision_page import board_html, decision_html
from optimize.report.terminal.render_decision_commitment import render_decision
from optimize.report.workbook.decision_book import decision_xlsx
from optimize.tables.decision_tables import tables
from sim.scenario import load_scenario
from sim.scenario.scenario import Commitment, Future

ROOT = Path(__file__).resolve().parents[3]
LONG = "reserve twelve hosts of eight H100 for three years at a price that was negotiated"
AHEAD = (
    Future("as today", weight=2.0),
    Future("the vendor retires the main model, and its successor costs three times as much", api_price=3.0),
)


@pytest.fixture(scope="module")
def decision() -> Decision:
    """Two options in two futures; the second one's costs are known in the head."""
    scenario = load_scenario(ROOT / "scenarios" / "decide_small.yaml", [], None)
    own = Held(purchase_usd=24_000.0, month_usd=100.0, residual_36m=0.2)
    chosen = [
        Stage(Commitment(LONG), (own,), Timing(24.0, 3.0, 1.0), 0.0, ("staff",), ()),
        Stage(Commitment("nothing"), (), Timing(24.0), 0.0, (), ()),
    ]
    rows = []
    for stage, months in zip(chosen, ((500.0, 900.0), (2_000.0, 6_000.0)), strict=True):
        outcomes = []
        for future, beside in zip(AHEAD, months, strict=True):
            bare = 2_000.0 if future is AHEAD[0] else 6_000.0
            usd = horizon_usd(stage.held, stage.timing, beside, bare, 0.0, future.gpu_rent)
            outcomes.append(Outcome(stage.name, future.name, beside, bare, usd, 1.0, (("a pool", 1.0),)))
        rows.append(outcomes)
    ranked = rank(chosen, AHEAD, rows)
    name = ranked[0].stage.name
    return Decision(scenario, AHEAD, ranked, name, name, ("stop it above 2 x today's users",), ("an assumption",), ("a warning",), 3, 1.0)


@given(
    st.floats(1, 60), st.floats(0, 12), st.floats(0, 6), st.floats(0, 1e5), st.floats(0, 1e5), st.none() | st.integers(1, 36), st.booleans()
)
@settings(max_examples=200, deadline=None)
def test_cash_by_month_sums_to_the_cost_of_the_horizon(
    months: float, lead: float, overlap: float, beside: float, bare: float, term: int | None, owned: bool
) -> None:
    held = (Held(purchase_usd=5_000.0 * owned, month_usd=70.0, term_months=term, residual_36m=0.3, follows_rent=term is None),)
    for each in (held, ()):
        at = Timing(float(round(months)), min(lead, round(months)), min(overlap, max(0.0, round(months) - lead)))
        cash = cash_by_month(each, at, beside, bare, 500.0, 1.3)
        assert sum(cash) == pytest.approx(horizon_usd(each, at, beside, bare, 500.0, 1.3), rel=1e-9, abs=1e-6)


def test_every_name_stands_whole_on_every_form(decision: Decision) -> None:
    for text in (decision_html(decision), board_html(decision)):
        assert LONG in text and AHEAD[1].name in text and "nothing" in text
    said = " ".join(render_decision(decision).split())
    for word in LONG.split():
        assert word in said


def test_cash_exposure_has_a_row_per_option_and_month_and_its_most_is_above_today(decision: Decision) -> None:
    cash = tables(decision)[3]
    assert len(cash.rows) == 2 * 24
    for row in cash.named():
        assert float(row["so_far_least"] or 0) <= float(row["so_far"] or 0) <= float(row["so_far_most"] or 0)
    last = cash.named()[23]
    assert last["so_far"] == pytest.approx(decision.ranked[0].outcomes[0].cost_usd, abs=0.01)


def test_the_workbook_weighs_the_futures_and_states_todays_results(decision: Decision) -> None:
    content = decision_xlsx(decision)
    live, stored = (openpyxl.load_workbook(io.BytesIO(content), data_only=each) for each in (False, True))
    assert live.sheetnames == ["Decision", "Cost and regret", "First stages", "Cash exposure", "Stages by future", "Notes"]
    assert live["Decision"]["B5"].value.startswith("=SUMPRODUCT(") and live["Cost and regret"]["B2"].value == 2.0
    assert stored["Decision"]["B5"].value == pytest.approx(decision.ranked[0].expected_usd / 24, abs=0.01)
    assert stored["Decision"]["B6"].value == pytest.approx(decision.ranked[0].worst_regret_usd / 24, abs=0.01)
    assert decision_xlsx(decision) == content


def test_an_option_that_leaves_requests_says_so_and_has_no_sum(decision: Decision) -> None:
    short = [[replace(o, served_share=0.9) if k == 1 else o for k, o in enumerate(each.outcomes)] for each in decision.ranked[1:]]
    ranked = rank([each.stage for each in decision.ranked], AHEAD, [list(decision.ranked[0].outcomes), *short])
    some = replace(decision, ranked=ranked)
    assert "unserved" in board_html(some) and "leaves requests unserved" in str(decision_html(some))
    book = openpyxl.load_workbook(io.BytesIO(decision_xlsx(some)))
    assert "leaves requests unserved" in [cell.value for cell in book["Decision"][5]]


def test_same_decision_same_bytes(decision: Decision) -> None:
    assert decision_html(decision) == decision_html(decision) and board_html(decision) == board_html(decision)
