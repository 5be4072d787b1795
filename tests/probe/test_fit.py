"""A fitted law is the law that the values came from; where none fits, the values speak for themselves."""

from __future__ import annotations

import numpy as np
import pytest

from sim.catalog.relay_records import Law
from sim.probe.attempts import OK, THROTTLED, Attempt, Prompt, Reply
from sim.probe.fit_latency import fit_latency, fit_law, ks_distance
from sim.relay.law import draw, law_quantiles


@pytest.mark.parametrize(
    "law",
    [
        Law("lognormal", (0.4, 0.5)),
        Law("loglogistic", (0.4, 0.2)),
        Law("lognormal_pareto", (0.4, 0.2, 0.9, 1.5)),
        Law("shifted_lognormal", (0.3, 0.1, 0.8)),
    ],
)
def test_quantiles_of_the_fit_are_those_of_the_truth_tail_included(law: Law) -> None:
    values = draw(law, np.random.default_rng(2), 2000)
    fitted = fit_law(values)
    for q in (0.5, 0.9, 0.95, 0.99):
        at = np.array([q])
        assert law_quantiles(fitted, at)[0] == pytest.approx(law_quantiles(law, at)[0], rel=0.15 if q == 0.99 else 0.06), (fitted.family, q)
    assert fitted.samples == 2000 and fitted.ks < 0.03


def test_two_speeds_fit_no_family_and_stay_empirical() -> None:
    rng = np.random.default_rng(3)
    values = np.concatenate([0.1 * np.exp(0.1 * rng.standard_normal(600)), 2.0 * np.exp(0.1 * rng.standard_normal(400))])
    fitted = fit_law(values)
    assert fitted.family == "empirical" and fitted.points[0][1] == values.min() and fitted.points[-1][1] == values.max()
    again = draw(fitted, rng, 20_000)
    assert np.mean(again < 1.0) == pytest.approx(0.6, abs=0.02)


def test_the_distance_is_that_of_scipy() -> None:
    from scipy.stats import kstest, lognorm

    values = np.sort(np.random.default_rng(4).lognormal(-1.0, 0.4, 300))
    ours = ks_distance(Law("lognormal", (float(np.exp(-1.0)), 0.5)), values)
    assert ours == pytest.approx(kstest(values, lognorm(0.5, scale=np.exp(-1.0)).cdf).statistic, abs=1e-3)


def test_a_few_values_are_fitted_and_say_that_they_are_few() -> None:
    assert fit_law([0.2, 0.3, 0.25]).samples == 3


def attempts(level: str, in_flight: int, ttft_s: np.ndarray, tokens: np.ndarray) -> list[Attempt]:  # type: ignore[type-arg]
    found = []
    for k, (t, n) in enumerate(zip(ttft_s.tolist(), tokens.tolist(), strict=True)):
        reply = Reply(OK, 200, t, t + 0.18, 1.0, n, 10, pieces=10)
        found.append(Attempt(k, 1, level, in_flight, 0.1 * k, Prompt("", n, 10, n), reply))
    return found


def test_prompt_length_and_load_are_taken_out_before_the_law() -> None:
    rng = np.random.default_rng(6)
    size = 400
    tokens = rng.choice([200, 2000, 6000], size)
    noise = 0.3 * np.exp(0.2 * rng.standard_normal((2, size)))
    slow = attempts("concurrency 16", 16, 2.0 * noise[1] + 1e-4 * tokens, tokens)
    found = fit_latency(attempts("concurrency 1", 1, noise[0] + 1e-4 * tokens, tokens) + slow)
    assert found is not None
    assert found.ttft_s_per_input_token == pytest.approx(1e-4, rel=0.1)
    assert [point.in_flight for point in found.load] == [1, 16]
    assert found.load[1].ttft == pytest.approx(2.0, rel=0.1) and found.load[1].tpot == pytest.approx(1.0, abs=0.01)
    assert law_quantiles(found.ttft, np.array([0.5, 0.95])) == pytest.approx([0.3, 0.3 * np.exp(0.2 * 1.645)], rel=0.06)


def test_prompts_of_one_length_have_no_slope_and_failed_calls_no_latency() -> None:
    tokens = np.full(50, 300)
    good = attempts("rate 1", 1, np.random.default_rng(7).uniform(0.1, 0.2, 50), tokens)
    bad = [Attempt(99, 1, "rate 1", 1, 0.0, good[0].prompt, Reply(THROTTLED, 429, ended_s=9.0))] * 30
    found = fit_latency(good + bad)
    assert found is not None and found.ttft_s_per_input_token == 0.0 and found.load == () and found.ttft.samples == 50
    assert fit_latency(bad) is None
