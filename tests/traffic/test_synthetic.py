"""A synthetic week has the rates, the noise and the lengths that its scenario states."""

from __future__ import annotations

import time

import numpy as np
import pytest

from sim.errors import InputError
from sim.scenario.scenario import ConstantTraffic, Tokens
from sim.traffic import at_rates, demand, hour
from sim.traffic.arrivals import minute_noise
from sim.traffic.lengths import mean_tokens, sample_tokens
from tests.traffic.scenarios import chat, constant, request_class, scenario, uniform, week

S = 10**12


def test_month_has_730_hours_and_the_stated_volume() -> None:
    it = demand(scenario(week(1e6)))
    assert len(it.slices) == 48 and it.slices[14] == "weekday 14" and it.slices[-1] == "weekend 23"
    assert it.weight_h.sum() == pytest.approx(730)
    per_month = 7.5e6 * (5 / 7 + 0.85 * 2 / 7) * 730 / 24
    assert (it.mean_rps.sum(axis=0) * it.weight_h * 3600).sum() == pytest.approx(per_month)
    assert it.mean_rps[:, 30].sum() == pytest.approx(0.85 * it.mean_rps[:, 6].sum())
    assert it.mean_rps[0, 0] / it.mean_rps[:, 0].sum() == pytest.approx(0.7)
    assert it.peak_factor == 1.17


def test_constant_traffic_is_one_slice() -> None:
    it = demand(scenario(ConstantTraffic(30.0)))
    assert it.slices == ("every hour",) and it.weight_h.tolist() == [730.0]
    assert it.mean_rps.sum() == pytest.approx(30.0)


def test_hour_has_the_rate_of_its_slice_and_the_warm_up_that_of_the_hour_before() -> None:
    it = scenario(week(200_000))
    rates = demand(it).mean_rps.sum(axis=0)
    hours, warm, main = 20, [], []
    for seed in range(hours):
        arrival = hour(it, 7, seed).arrival_ps
        assert (np.diff(arrival) >= 0).all() and arrival[0] >= 0 and arrival[-1] < 4200 * S
        warm.append((arrival < 600 * S).sum() / 600)
        main.append((arrival >= 600 * S).sum() / 3600)
    for found, rate, minutes in ((warm, rates[6], 10), (main, rates[7], 60)):
        error = np.sqrt(rate / (60 * minutes * hours) + (0.07 * rate) ** 2 / (minutes * hours))
        assert abs(np.mean(found) - rate) < 4 * error, (np.mean(found), rate, error)


def test_hour_zero_warms_up_at_hour_23_of_its_own_day_type() -> None:
    it = scenario(week(1e6))
    rates = demand(it).mean_rps.sum(axis=0)
    arrival = hour(it, 24, 5).arrival_ps
    assert (arrival < 600 * S).sum() / 600 == pytest.approx(rates[47], rel=0.12)


def test_minute_counts_are_noisier_than_poisson_by_the_stated_noise() -> None:
    it = scenario(ConstantTraffic(50.0, minute_noise_cv=0.2))
    counts = np.concatenate([np.histogram(hour(it, 0, seed, warmup_s=0).arrival_ps, 60, (0, 3600 * S))[0] for seed in range(10)])
    expected = np.sqrt(1 / 3000 + 0.2**2)
    error = expected / np.sqrt(2 * len(counts)) * 1.3  # log-normal tails widen the error of a standard deviation
    assert abs(counts.std() / counts.mean() - expected) < 4 * error


def test_gaps_inside_a_minute_are_exponential() -> None:
    gaps = np.diff(at_rates(scenario(ConstantTraffic(1.0)), [70.0, 30.0], 3, n_requests=40_000, noise=False).arrival_ps)
    assert abs(gaps.std() / gaps.mean() - 1) < 4 / np.sqrt(len(gaps))


def test_minute_noise_has_mean_one() -> None:
    noise = minute_noise(np.random.default_rng(1), 100_000, 0.07)
    assert abs(noise.mean() - 1) < 4 * 0.07 / np.sqrt(len(noise))
    assert noise.std() == pytest.approx(0.07, rel=0.02)


def test_mean_tokens_of_demand_are_those_of_the_hours() -> None:
    it = scenario(week(1e6))
    expected, requests = demand(it), hour(it, 14, 9)
    for index in range(2):
        rows = requests.class_id == index
        for name in ("input_tokens", "output_tokens", "prefix_tokens"):
            values, mean = getattr(requests, name)[rows], getattr(expected, name)[index]
            talks = len(np.unique(requests.session_id[rows])) if index == 0 else rows.sum()  # turns of one conversation are alike
            assert abs(values.mean() - mean) <= 4 * values.std() / np.sqrt(talks) + 0.01, (index, name)


def test_tokens_follow_their_quantiles_and_are_at_least_one() -> None:
    tokens = Tokens((0.0, 0.5, 1.0), (0.2, 100.0, 1000.0), 0.5 * 50.1 + 0.5 * 550.0)
    drawn = sample_tokens(tokens, np.random.default_rng(2).random(200_000))
    assert drawn.min() == 1 and drawn.dtype == np.int32
    assert np.mean(drawn <= 100) == pytest.approx(0.5, abs=0.01)
    assert mean_tokens(tokens) == pytest.approx(tokens.mean, rel=1e-3)


def test_an_hour_repeats_with_its_seed_and_changes_with_another() -> None:
    it = scenario(week())
    assert hour(it, 3, 1).arrival_ps.tobytes() == hour(it, 3, 1).arrival_ps.tobytes()
    assert hour(it, 3, 1).arrival_ps.tobytes() != hour(it, 3, 2).arrival_ps.tobytes()


def test_leaving_out_a_class_does_not_move_the_others() -> None:
    it = scenario(week())
    both, alone = hour(it, 3, 1), hour(it, 3, 1, classes=[1])
    rows = both.class_id == 1
    assert (alone.class_id == 1).all()
    assert alone.arrival_ps.tobytes() == both.arrival_ps[rows].tobytes()
    assert alone.input_tokens.tobytes() == both.input_tokens[rows].tobytes()


def test_classes_arrive_independently_of_each_other() -> None:
    both = hour(scenario(ConstantTraffic(40.0, minute_noise_cv=0.0)), 0, 1, warmup_s=0)
    counts = [np.histogram(both.arrival_ps[both.class_id == c], 3600, (0, 3600 * S))[0] for c in (0, 1)]
    assert abs(np.corrcoef(counts[0], counts[1])[0, 1]) < 4 / np.sqrt(3600)


def test_input_and_output_lengths_are_independent_draws() -> None:
    rows = at_rates(scenario(week(), request_class("one", 1.0)), [10.0], 1, n_requests=50_000)
    assert abs(np.corrcoef(rows.input_tokens, rows.output_tokens)[0, 1]) < 4 / np.sqrt(len(rows))


def test_a_probe_at_another_rate_has_the_same_requests_closer_together() -> None:
    it = scenario(week(), request_class("faq", 0.7), request_class("search", 0.3))
    slow = at_rates(it, [7.0, 3.0], 4, n_requests=5000, noise=False)
    fast = at_rates(it, [14.0, 6.0], 4, n_requests=5000, noise=False)
    n = min(len(slow), len(fast)) - 2  # rounding may move the last ones over the end
    assert (slow.input_tokens[:n] == fast.input_tokens[:n]).all() and (slow.class_id[:n] == fast.class_id[:n]).all()
    assert np.abs(slow.arrival_ps[:n] - 2 * fast.arrival_ps[:n]).max() <= 4


def test_a_longer_probe_starts_with_the_shorter_one() -> None:
    it = scenario(week(), request_class("faq", 0.7), request_class("search", 0.3))
    short, long = at_rates(it, [7.0, 3.0], 4, duration_s=600), at_rates(it, [7.0, 3.0], 4, duration_s=1800)
    n = len(short)
    assert (short.arrival_ps == long.arrival_ps[:n]).all()
    assert (short.output_tokens == long.output_tokens[:n]).all()


def test_a_class_at_rate_zero_is_absent_and_all_at_zero_is_empty() -> None:
    it = scenario(week())
    assert set(at_rates(it, [0.0, 3.0], 1, duration_s=60).class_id.tolist()) == {1}
    assert len(at_rates(it, [0.0, 0.0], 1, n_requests=100)) == 0
    with pytest.raises(ValueError, match="duration_s or n_requests"):
        at_rates(it, [1.0, 1.0], 1)


def test_three_million_requests_take_about_a_second() -> None:
    it = scenario(week(1e6), request_class("a", 0.5, conversation=chat()), request_class("b", 0.5, uniform(1, 99), constant(5)))
    hour(it, 14, 1)
    begin = time.process_time()
    rows = len(hour(it, 14, 2))
    assert rows / (time.process_time() - begin) > 1e6  # measured 10-20 M/s; a shared machine gets room


@pytest.mark.parametrize("chats", [False, True])
def test_traffic_that_no_memory_holds_is_told_before_it_is_made(chats: bool) -> None:
    only = request_class("c", 1.0, conversation=chat() if chats else None)
    with pytest.raises(InputError, match="too many for one simulation"):
        hour(scenario(ConstantTraffic(1e9), only), 0, seed=1)
