"""One training against a year of serving."""

from __future__ import annotations

import math
from typing import Any

import pytest

from optimize.estimate.side_by_side import Comparison, compare_json, estimate_compare, overtaking_users
from sim.catalog.loader import load_catalog
from sim.errors import InputError


def compare(**given: Any) -> Comparison:
    """A comparison from options as typed."""
    names = ("model", "tokens", "users", "requests_per_user", "serve_gpu", "context", "prompt", "answer", "mfu", "adapter_tokens")
    return estimate_compare(**dict.fromkeys(names) | {"gpu": "h100", "weights": "bf16"} | given)


def test_without_options_it_is_a_support_model_of_three_billion() -> None:
    said = compare_json(compare())
    assert (said["model"], said["users"]) == ("llama-3.2-3b", 10_000)
    assert [way["method"] for way in said["ways"]] == ["full", "full", "lora"]
    assert said["ways"][0]["tokens"] == pytest.approx(20 * said["parameters"])


def test_shares_of_training_and_serving_add_up() -> None:
    said = compare_json(compare(users="200k"))
    for way in said["ways"]:
        low = way["training_usd"]["low"]
        assert way["training_share"]["low"] == pytest.approx(low / (low + said["serving"]["usd_per_year"]))
        assert way["training_share"]["high"] + way["serving_share"]["low"] == pytest.approx(1)


def test_hosts_are_paid_all_year_and_carry_the_peak_minute() -> None:
    found = compare(users="100k", serve_gpu="l40s")
    offer = load_catalog().offers[found.offer]
    assert found.serving_usd_per_year == pytest.approx(found.hosts * offer.usd_per_hour * 8760)
    capacity = found.hosts * found.replicas_per_host * found.serving.knee.requests_per_s
    assert found.peak_rps == pytest.approx(100e3 * 7.5 * 0.07 * 1.26 / 3600)
    assert found.peak_rps <= capacity
    assert found.utilisation == pytest.approx(100e3 * 7.5 / 86400 / capacity)


def test_at_the_volume_where_serving_overtakes_both_cost_the_same() -> None:
    found = compare(tokens="9T", serve_gpu="l40s")
    way, offer = found.ways[0], load_catalog().offers[found.offer]
    host_year = offer.usd_per_hour * 8760
    for users, usd in zip(way.overtakes_at_users, way.usd, strict=True):
        assert math.ceil(users / found.users_per_host) * host_year >= usd
        assert math.ceil((users - 1) / found.users_per_host) * host_year < usd
    busy = found.replicas_per_host * found.serving.knee.requests_per_s * 1280 * 8760 * 3600  # tokens that a host makes in a busy year
    assert way.overtakes_at_tokens[0] == pytest.approx(way.usd[0] / host_year * busy)


def test_the_first_host_overtakes_a_training_that_is_cheaper_than_it() -> None:
    assert overtaking_users(1.0, 100.0, 50) == 1
    assert overtaking_users(100.0, 100.0, 50) == 1
    assert overtaking_users(100.1, 100.0, 50) == 51


def test_in_flops_serving_overtakes_at_three_times_the_training_tokens() -> None:
    found = compare(tokens="100B")
    assert found.flops_overtake_tokens == pytest.approx(300e9)
    assert found.flops_overtake_days == pytest.approx(300e9 / (10_000 * 7.5 * 1280))


def test_adapters_make_training_a_thousandth_and_leave_serving_as_it_is() -> None:
    found = compare()
    scratch, tuned, adapters = (way.usd[1] for way in found.ways)
    assert adapters < tuned < scratch / 1000
    assert adapters == pytest.approx(tuned * 4 / 6, rel=0.1)


def test_the_serving_device_is_the_cheapest_that_carries_the_users() -> None:
    few, many = compare(users="1k"), compare(users="10M")
    for found in (few, many):
        for gpu in ("rtx3090", "l40s", "h100"):
            assert found.serving_usd_per_year <= compare(users=str(found.users), serve_gpu=gpu).serving_usd_per_year
    assert few.hosts == 1 < many.hosts


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"users": "1.5"}, "not a whole number of users"),
        ({"serve_gpu": "h100-pcie"}, "no on-demand offer"),
        ({"gpu": "rtx6000ada"}, "no on-demand offer"),
        ({"serve_gpu": "t4", "model": "deepseek-v3.2"}, "nothing to serve on"),
        ({"model": "gpt-9"}, "not in the catalogue"),
    ],
)
def test_what_cannot_be_answered_is_said_in_one_message(given: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said) as raised:
        compare(**given)
    assert len(raised.value.problems) == 1
