"""Decide under commitment: regret by hand, money of holding and leaving, recourse that follows the future."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import pytest

from optimize.finance.commitment.decision import Decision, Outcome, Ranked, Stage
from optimize.finance.commitment.first_stages import stages
from optimize.finance.commitment.futures import USUAL, futures, main_model
from optimize.finance.commitment.stops import allowance, crossings, exits, stops
from optimize.finance.commitment.weigh import decide, exit_code, rank
from optimize.money.commitment_cost import Held, Timing, horizon_usd
from optimize.report.terminal.render_decision_commitment import render_decision
from optimize.report.write import write_decision
from optimize.tables.decision_tables import decision_json, tables
from sim.errors import InputError
from sim.scenario import load_scenario
from sim.scenario.scenario import Commitment, Future, Scenario

ROOT = Path(__file__).resolve().parents[4]
SMALL = ROOT / "scenarios" / "decide_small.yaml"
MILLION = ROOT / "scenarios" / "million_dau_commitment.yaml"


def stage(name: str, *held: Held, months: float = 10.0, missing: tuple[str, ...] = ()) -> Stage:
    return Stage(Commitment(name), held, Timing(months), 0.0, missing, ())


def outcomes(name: str, *usd: float, served: float = 1.0) -> list[Outcome]:
    return [Outcome(name, f"future {k}", x, x, x, served) for k, x in enumerate(usd)]


TWO = (Future("low", users=0.5), Future("high", users=2.0))


def test_regret_of_two_stages_in_two_futures_is_the_one_of_the_hand() -> None:
    """Buy costs 100 and 100, rent 60 and 180. Best 60 and 100. Regret: buy 40 and 0, rent 0 and 80; expected 100 and 120."""
    ranked = rank([stage("buy"), stage("rent")], TWO, [outcomes("buy", 100, 100), outcomes("rent", 60, 180)])
    assert [each.stage.name for each in ranked] == ["buy", "rent"]
    assert [each.regret for each in ranked] == [(40.0, 0.0), (0.0, 80.0)]
    assert [each.expected_usd for each in ranked] == [100.0, 120.0]
    assert [each.expected_regret_usd for each in ranked] == [20.0, 40.0]


def test_weights_move_the_expected_cost_but_not_the_regret() -> None:
    """Three to one for the low future: buy 100, rent (3 x 60 + 180) / 4 = 90."""
    likely = (replace(TWO[0], weight=3.0), TWO[1])
    ranked = rank([stage("buy"), stage("rent")], likely, [outcomes("buy", 100, 100), outcomes("rent", 60, 180)])
    assert {each.stage.name: each.expected_usd for each in ranked} == pytest.approx({"buy": 100.0, "rent": 90.0})
    assert ranked[0].stage.name == "buy"


def test_a_stage_that_leaves_requests_is_never_the_least_regret() -> None:
    rows = [outcomes("all", 100, 100), [*outcomes("some", 60), *outcomes("some", 60, served=0.9)]]
    ranked = rank([stage("all"), stage("some")], TWO, rows)
    assert ranked[0].stage.name == "all" and ranked[0].regret == (40.0, 0.0)
    assert math.isinf(ranked[1].worst_regret_usd) and math.isinf(ranked[1].expected_usd)


def test_purchase_lead_time_double_running_and_resale_by_hand() -> None:
    """36 months, 6 of lead, 2 of overlap: (6 + 2) x 100 without, 30 x (50 + 10) with; 1000 bought, sold after 30 months."""
    own = Held(purchase_usd=1000.0, month_usd=10.0, residual_36m=0.3)
    resale = 1000.0 * 0.3 ** (30 / 36)
    by_hand = 8 * 100 + 30 * 60 + 1000 - resale
    assert horizon_usd((own,), Timing(36, 6, 2), 50.0, 100.0) == pytest.approx(by_hand)


def test_a_reserved_year_ends_and_the_rest_of_the_horizon_goes_without_it() -> None:
    """24 months: 12 x (50 + 30) in the term, 12 x 100 after it; given up after 3 months, 9 x 30 are still owed."""
    year = Held(month_usd=30.0, term_months=12)
    assert horizon_usd((year,), Timing(24), 50.0, 100.0) == pytest.approx(12 * 80 + 12 * 100)
    assert horizon_usd((year,), Timing(24), 50.0, 100.0, rent=2.0) == pytest.approx(12 * 80 + 12 * 100)  # a contract holds its price
    assert year.exit_usd(3) == pytest.approx(270.0)


def test_a_term_that_outlives_the_horizon_is_paid_to_its_end() -> None:
    assert horizon_usd((Held(month_usd=30.0, term_months=12),), Timing(6), 0.0, 100.0) == pytest.approx(12 * 30)


def test_hosts_held_at_market_rent_follow_it() -> None:
    assert horizon_usd((Held(month_usd=30.0, follows_rent=True),), Timing(10), 0.0, 0.0, rent=1.4) == pytest.approx(10 * 42)


def ranked(
    best: list[float], other: list[float], ahead: tuple[Future, ...], *held: Held, missing: tuple[str, ...] = ()
) -> tuple[Ranked, ...]:
    return rank([stage("one", *held, missing=missing), stage("two")], ahead, [outcomes("one", *best), outcomes("two", *other)])


def test_the_stop_condition_stands_where_the_lead_is_lost() -> None:
    """Lead -10 at half the users, +10 at today's: lost half-way between them on a logarithmic scale, 0.71."""
    ahead = (Future("half", users=0.5), Future("today"), Future("event", api_price=2.0, users=3.0))
    both = ranked([50, 50, 50], [40, 60, 35], ahead, Held(purchase_usd=100.0, residual_36m=0.3))
    first, second = (both[0], both[1]) if both[0].stage.name == "one" else (both[1], both[0])
    (words,) = crossings(first, [second], ahead, "users", "today's users")
    assert "stop one below about 0.71 x today's users" in words and "two is cheaper there" in words
    assert any("stop one if event: two costs $15 less" in line for line in stops((first, second), ahead))


def test_what_leaving_costs_is_the_purchase_not_got_back() -> None:
    both = ranked([50, 50], [60, 60], TWO, Held(purchase_usd=1000.0, residual_36m=0.3))
    (words,) = exits(both[0])
    assert "after 6 months $182" in words and "after 12 months $331" in words  # 1000 x (1 - .3^(1/6)), 1000 x (1 - .3^(1/3))


def test_parts_without_a_figure_get_what_they_may_cost_at_most() -> None:
    both = ranked([50, 50], [60, 60], TWO, Held(purchase_usd=1.0), missing=("staff",))
    assert allowance(both[0], both[1:]) == ["one is right only below $1 a month for staff: above, two is cheaper in the mean"]


@pytest.fixture(scope="module")
def small() -> Scenario:
    return load_scenario(SMALL, [], None)


@pytest.fixture(scope="module")
def decision(small: Scenario, tmp_path_factory: pytest.TempPathFactory) -> Decision:
    return decide(small, jobs=1, cache=tmp_path_factory.mktemp("store"))


def test_the_usual_futures_are_those_that_people_fear() -> None:
    factors = {(f.users, f.api_price, f.gpu_rent, f.step_time, f.retired) for f in USUAL}
    named = [
        {"users": 0.5},
        {"users": 2.0},
        {"api_price": 0.5},
        {"api_price": 1.5},
        {"gpu_rent": 0.6},
        {"gpu_rent": 1.4},
        {"step_time": 1.3},
    ]
    for change in (*named, {"retired": ("main",)}):
        future = replace(Future("x"), **change)  # type: ignore[arg-type]
        assert (future.users, future.api_price, future.gpu_rent, future.step_time, future.retired) in factors


def test_the_main_model_is_the_one_that_most_requests_accept_first(small: Scenario) -> None:
    assert main_model(small) == "llama-3.1-8b"
    assert futures(small)[-1].retired == ("llama-3.1-8b",)


def test_money_of_the_stages_follows_their_terms(small: Scenario) -> None:
    """2 L40S at 8,500 with 0.4 for the host and 0.125 for the network: 26,775; a year of $1.20; lead time as written."""
    buy, reserve, nothing = stages(small)
    assert buy.held[0].purchase_usd == pytest.approx(2 * 8500 * 1.4 * 1.125) and buy.timing == Timing(24.0, 3.0, 1.0)
    assert buy.committed_usd == pytest.approx(26_775 + 2000) and "staff" in buy.open
    assert reserve.committed_usd == pytest.approx(1.2 * 730 * 12 + 2000) and reserve.timing.lead == 0.0
    assert nothing.committed_usd == 2000.0 and not nothing.holds  # whoever moves to own hosts, rented or not, pays the move


def test_every_stage_answers_every_future_and_regret_is_above_the_best(decision: Decision) -> None:
    assert exit_code(decision) == 0
    for k in range(len(decision.futures)):
        best = min(each.outcomes[k].cost_usd for each in decision.ranked)
        for each in decision.ranked:
            assert each.regret[k] == pytest.approx(each.outcomes[k].cost_usd - best)
    worst = {each.stage.name: each.worst_regret_usd for each in decision.ranked}
    assert worst[decision.least_regret] == min(worst.values())


def test_prices_reach_only_those_whom_they_concern(decision: Decision) -> None:
    """Recourse of a month: rents move it where hosts are rented, API prices where relays serve, and neither the other way round."""
    nothing = next(each for each in decision.ranked if not each.stage.holds)
    usd = {each.future: each.with_usd for each in nothing.outcomes}
    assert usd["GPU rents -40 %"] < usd["as today"] < usd["GPU rents +40 %"]
    assert usd["API prices -50 %"] <= usd["as today"] <= usd["API prices +50 %"]
    assert usd["users x0.5"] < usd["as today"] < usd["users x2"]
    assert usd["steps x1.3 longer"] >= usd["as today"]
    assert usd["relays retire the main model"] >= usd["as today"] * (1 - 0.01)


def test_held_hosts_are_free_beside_the_rest(decision: Decision) -> None:
    buy = next(each for each in decision.ranked if each.stage.name.startswith("buy"))
    assert all(each.with_usd <= each.without_usd * (1 + 0.01) for each in buy.outcomes)
    assert any("(held)" in name for name, _ in buy.outcomes[0].used)


def test_an_offer_with_a_term_is_no_recourse(decision: Decision) -> None:
    nothing = next(each for each in decision.ranked if not each.stage.holds)
    assert not any("l40s-reserved" in name for each in nothing.outcomes for name, _ in each.used)


def test_terminal_json_and_csv_say_the_same(decision: Decision, tmp_path: Path) -> None:
    said, text = decision_json(decision), render_decision(decision)
    assert said["least_worst_regret"] == decision.least_regret and decision.least_regret in text
    assert "each rounded by itself" in text, "a regret may be one off the difference of the printed costs"
    stage_rows, outcome_rows, _, _ = tables(decision)
    assert len(outcome_rows.rows) == len(decision.ranked) * len(decision.futures) == len(said["outcomes"])
    months = {row["stage"]: row for row in said["stages"]}
    for each in decision.ranked:
        mean = sum(row["per_month"] * row["weight"] for row in said["outcomes"] if row["stage"] == each.stage.name) / len(decision.futures)
        assert months[each.stage.name]["expected_per_month"] == pytest.approx(mean, abs=0.01)
    write_decision(decision, tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        *(
            "board.html",
            "cash.csv",
            "decision.html",
            "decision.json",
            "decision.xlsx",
            "figures",
            "outcomes.csv",
            "regret.csv",
            "stages.csv",
        )
    ]
    assert (tmp_path / "stages.csv").read_text().count("\n") == len(stage_rows.rows) + 1


def test_a_decision_needs_two_stages_and_prices_that_somebody_stands_behind(tmp_path: Path) -> None:
    text = SMALL.read_text(encoding="utf-8")
    alone = tmp_path / "alone.yaml"
    alone.write_text(text[: text.index("commitments:")])
    with pytest.raises(InputError, match=r"commitments: 0 given, a decision needs two or more; write for example"):
        decide(load_scenario(alone, [], None))
    claimed = tmp_path / "claimed.yaml"
    claimed.write_text(text.replace("hold: {l40s-reserved: 1}", "hold: {aws.g6e.xlarge.reserved_1y: 1}"))
    with pytest.raises(InputError, match=r"its price is only claimed; get a quote"):
        decide(load_scenario(claimed, [], None))


def test_the_decision_of_a_million_users_stands_on_the_plan_of_a_million_users() -> None:
    """Nothing but the offer that is held, money and commitments differs from scenarios/million_dau.yaml."""
    base, more = (load_scenario(ROOT / "scenarios" / name, [], None) for name in ("million_dau.yaml", MILLION.name))
    for name in ("traffic", "request_classes", "relays", "weights", "tensor_parallel", "policy", "engine", "seed"):
        assert getattr(base, name) == getattr(more, name), name
    assert [offer.id for offer in more.offers] == [*(offer.id for offer in base.offers), "aws.g6e.xlarge.reserved_1y"]
    assert len(more.commitments) >= 3


def test_who_loses_his_relays_pays_the_move_then(small: Scenario, tmp_path: Path) -> None:
    """Chat on relays only; they retire its model: own hosts after all, and $2,000 of migration, which is not paid as things are today."""
    apis = replace(
        small, commitments=(Commitment("apis", recourse="relays"), Commitment("free", once_usd=0.0)), futures=(USUAL[0], USUAL[-1])
    )
    found = decide(apis, jobs=1, cache=tmp_path)
    today, retired = next(each for each in found.ranked if each.stage.name == "apis").outcomes
    assert today.cost_usd == pytest.approx(24 * today.without_usd)
    assert retired.cost_usd == pytest.approx(24 * retired.without_usd + 2000)
    assert not any("deepinfra" in name for name, _ in retired.used)
