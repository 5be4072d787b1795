"""Hours that follow each other as one run: rates change at the edges, sessions do not end there."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from sim.engine.deployment import PS
from sim.scenario import load_scenario
from sim.traffic import demand, slice_length_s, stretch

SCENARIOS = Path(__file__).resolve().parents[2] / "scenarios"


def test_rates_of_a_stretch_are_those_of_its_hours() -> None:
    scenario = load_scenario(SCENARIOS / "support_bot.yaml", ["traffic.daily_active_users=20000", "traffic.minute_noise_cv=0"], None)
    rates = demand(scenario).mean_rps.sum(axis=0)
    requests = stretch(scenario, (23, 0, 1, 2), (1200.0, 3600.0, 3600.0, 3600.0), seed=3, warmup_s=600.0)
    edges = np.array([0.0, 1800.0, 5400.0, 9000.0, 12600.0])
    counts = np.histogram(requests.arrival_ps / PS, edges)[0]
    expected = rates[[23, 0, 1, 2]] * np.diff(edges)
    assert (np.abs(counts - expected) < 6 * np.sqrt(expected) + 1).all()  # turns of a conversation come together, more than Poisson
    assert requests.arrival_ps.max() < 12600 * PS


def test_sessions_go_on_across_the_full_hour() -> None:
    scenario = load_scenario(SCENARIOS / "million_dau.yaml", ["traffic.daily_active_users=20000"], None)
    requests = stretch(scenario, (10, 11), (1200.0, 1200.0), seed=3, warmup_s=600.0)
    before = requests.arrival_ps < 1800 * PS
    talks = requests.session_id >= 0
    assert len(np.intersect1d(requests.session_id[before & talks], requests.session_id[~before & talks])) > 100


def test_a_stretch_of_a_log_is_the_log_over_its_slices() -> None:
    scenario = load_scenario(SCENARIOS / "trace_replay.yaml", None or (), None)
    length_s = slice_length_s(scenario)
    rates = demand(scenario).mean_rps.sum(axis=0)
    last = len(rates) - 1
    requests = stretch(scenario, (last, 0), (length_s, length_s), seed=3, warmup_s=0.0)  # the log starts again after its end
    count = int(np.count_nonzero(requests.arrival_ps < length_s * PS))
    assert count == pytest.approx(rates[last] * length_s, rel=0.02)
    assert len(requests) - count == pytest.approx(rates[0] * length_s, rel=0.02)
