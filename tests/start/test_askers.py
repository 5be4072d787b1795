"""Situations as people tell them, each planned without conversion by hand."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from optimize.money.owned_price import with_owned_prices
from optimize.search.demand_rounds import demand_notes
from sim.errors import InputError
from sim.scenario.scenario import ConstantTraffic, SyntheticTraffic
from sim.start.answers import Answers, check, place, span
from sim.start.own_offer import owned_offers
from sim.traffic import demand
from tests.start.from_answers import CATALOG, made


def test_three_hundred_employees_at_four_requests_a_minute_have_office_hours(tmp_path: Path) -> None:
    scenario = made(
        tmp_path, concurrent=300, every_s=15, day_shape="office", input_tokens=4000, output_tokens=400, models=("llama-3.3-70b",)
    )
    assert isinstance(scenario.traffic, SyntheticTraffic)
    rates = demand(scenario).mean_rps[0]
    assert float(rates.max()) == pytest.approx(20) and float(rates.min()) < 2


def test_a_nightly_job_comes_again_every_day_of_the_month(tmp_path: Path) -> None:
    every = span("--every", "day")
    scenario = made(tmp_path, job=2e6, deadline_s=8 * 3600, every_s=every, input_tokens=1500, output_tokens=200, models=("qwen2.5-7b",))
    found = demand(scenario)
    assert isinstance(scenario.traffic, ConstantTraffic) and scenario.traffic.job is not None
    assert scenario.traffic.busy_h == pytest.approx(8 * 730 / 24) and scenario.traffic.job.runs == pytest.approx(730 / 24)
    assert float((found.mean_rps @ found.weight_h).sum() * 3600) == pytest.approx(2e6 * 730 / 24)
    assert np.isclose(found.mean_rps.max(), 2e6 / 8 / 3600)


def test_a_job_that_begins_again_before_its_deadline_is_told(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"n\.yaml \(not written\).*comes again every 12 h, before its deadline of 24 h"):
        made(tmp_path, job=2e6, deadline_s=86_400, every_s=43_200, models=("qwen2.5-7b",))
    assert not (tmp_path / "n.yaml").exists()


def test_europe_is_a_region_however_it_is_written(tmp_path: Path) -> None:
    scenario = made(tmp_path, users=20_000, region=place("EU"), models=("llama-3.3-70b",))
    assert scenario.request_classes[0].data_residency == ("eu",) and place("Europe") == "eu"


def test_hosts_that_one_has_stand_beside_what_may_be_bought_and_cost_their_running(tmp_path: Path) -> None:
    scenario = made(tmp_path, users=5000, owned=owned_offers(["2xa100-80", "2 x a100-80"], CATALOG), models=("llama-3.1-8b",))
    mine = next(offer for offer in with_owned_prices(scenario).offers if offer.term == "owned")
    assert (mine.gpu, mine.gpus, mine.stock, mine.capex_usd) == ("a100-80", 2, 2, 0)
    assert 0 < mine.usd_per_hour < 1 and len(scenario.offers) > 3


def test_a_card_of_several_kinds_is_asked_about() -> None:
    with pytest.raises(InputError, match="is it a100-40 or a100-80 or a100-pcie"):
        owned_offers(["2xa100"], CATALOG)


@pytest.mark.parametrize(
    ("answers", "words"),
    [
        ({"users": 5, "day_shape": "offce"}, "nearest: office"),
        ({"rate_rps": 5, "day_shape": "office"}, "the same in every hour"),
        ({"users": 5, "every_s": 9}, "write --concurrent N or --job N"),
    ],
)
def test_answers_that_do_not_fit_are_told(answers: dict[str, object], words: str) -> None:
    with pytest.raises(InputError, match=words):
        check(Answers("n", **answers), {"USD"})  # type: ignore[arg-type]


def test_the_notes_of_a_job_that_comes_again_name_its_runs(tmp_path: Path) -> None:
    scenario = made(tmp_path, job=2e6, deadline_s=8 * 3600, every_s=86_400, models=("qwen2.5-7b",))

    class Seen:
        def __init__(self) -> None:
            self.scenario = scenario

    (words,) = demand_notes(Seen(), None)  # type: ignore[arg-type]
    assert "30.4 times a month" in words and "in 8 h of at most 8 h" in words
