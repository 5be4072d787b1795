"""A replayed log keeps its rates, pairs of lengths and sessions at every scale."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from sim.errors import InputError
from sim.scenario.scenario import LogTraffic
from sim.traffic import at_rates, demand, hour
from sim.traffic.replay import load_replay
from tests.shared_data import shared_data
from tests.traffic.scenarios import request_class, scenario

S = 10**12


def log_file(tmp_path: Path, hours: float = 3.0, rate: float = 2.0, columns: str = "", cell: str = "") -> Path:
    rng = np.random.default_rng(1)
    n = int(hours * 3600 * rate)
    arrival = np.sort(rng.random(n)) * hours * 3600
    path = tmp_path / "log.csv"
    rows = [f"{a:.6f},{i + 1},{2 * (i + 1)}{cell.format(i=i)}" for i, a in enumerate(arrival)]
    path.write_text("\n".join(["arrival_s,input_tokens,output_tokens" + columns, *rows]) + "\n")
    return path


def test_slices_of_a_log_weigh_the_same_and_hold_all_its_requests(tmp_path: Path) -> None:
    it = demand(scenario(LogTraffic(log_file(tmp_path), 2.0)))
    assert it.slices == ("log hour 0", "log hour 1", "log hour 2")
    assert it.weight_h.tolist() == pytest.approx([730 / 3] * 3)
    assert (it.mean_rps.sum(axis=0) * it.weight_h).sum() / 730 == pytest.approx(4.0, rel=1e-3)


def test_a_short_log_is_one_slice(tmp_path: Path) -> None:
    it = demand(scenario(LogTraffic(log_file(tmp_path, hours=0.3))))
    assert it.slices == ("log hour 0",) and it.mean_rps.sum() == pytest.approx(2.0, rel=0.01)


def test_an_hour_at_scale_one_is_the_log_itself(tmp_path: Path) -> None:
    it = scenario(LogTraffic(log_file(tmp_path)))
    log = load_replay(it)
    rows = hour(it, 1, 1)
    start = log.slice_s - 600
    inside = (log.log.arrival_s >= start) & (log.log.arrival_s < start + 4200)
    assert rows.input_tokens.tolist() == log.log.input_tokens[inside].tolist()
    assert np.abs(rows.arrival_ps / S - (log.log.arrival_s[inside] - start)).max() < 1e-6


@pytest.mark.parametrize("factor", [0.3, 2.0, 3.4])
def test_thinning_and_superposition_give_the_stated_rate_and_keep_pairs(tmp_path: Path, factor: float) -> None:
    it = scenario(LogTraffic(log_file(tmp_path, rate=5.0)))
    rows = hour(it, 0, 1, rate_scale=factor)
    assert abs(len(rows) - 21_000 * factor) < 4 * np.sqrt(21_000 * factor)
    assert (rows.output_tokens == 2 * rows.input_tokens).all()
    assert (np.diff(rows.arrival_ps) >= 0).all() and rows.arrival_ps[-1] < 4200 * S


def test_past_its_end_the_log_starts_again(tmp_path: Path) -> None:
    rows = hour(scenario(LogTraffic(log_file(tmp_path, hours=0.2))), 0, 1)
    assert len(rows) == pytest.approx(8400, rel=0.02)


def test_sessions_stay_whole_when_thinned_and_apart_when_copied(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    rows = [f"{s * 20 + 4.75 * turn + 0.25},{100 + 60 * turn},50,s{s}" for s in range(180) for turn in range(3)]
    path.write_text("\n".join(["arrival_s,input_tokens,output_tokens,session_id", *rows]) + "\n")
    it = scenario(LogTraffic(path))
    half = hour(it, 0, 1, rate_scale=0.5, warmup_s=0, duration_s=3500)
    sizes = np.bincount(half.session_id)
    assert set(sizes[sizes > 0].tolist()) == {3} and 0 < (sizes > 0).sum() < 175
    double = hour(it, 0, 1, rate_scale=2.0, warmup_s=0, duration_s=3500)
    assert np.bincount(double.session_id).max() == 3 and len(np.unique(double.session_id)) > 340


def test_the_class_column_decides_and_unknown_classes_are_refused(tmp_path: Path) -> None:
    it = scenario(LogTraffic(log_file(tmp_path, columns=",class", cell=",faq")))
    assert set(hour(it, 0, 1).class_id.tolist()) == {1}
    with pytest.raises(InputError, match="class 'fag' is no request class of the scenario; write faq"):
        demand(scenario(LogTraffic(log_file(tmp_path, hours=2.9, columns=",class", cell=",fag"))))


def test_without_a_class_column_the_shares_decide(tmp_path: Path) -> None:
    it = scenario(LogTraffic(log_file(tmp_path, rate=5.0)))
    rates = demand(it).mean_rps.sum(axis=1)
    assert abs(rates[0] / rates.sum() - 0.7) < 4 * np.sqrt(0.7 * 0.3 / 54_000)


def test_a_probe_draws_pairs_of_the_class_from_the_log(tmp_path: Path) -> None:
    it = scenario(LogTraffic(log_file(tmp_path)))
    rows = at_rates(it, [5.0, 2.0], 1, n_requests=5000)
    assert (rows.output_tokens == 2 * rows.input_tokens).all()
    own = load_replay(it).log.input_tokens[load_replay(it).rows_of(1)]
    assert np.isin(rows.input_tokens[rows.class_id == 1], own).all()


def test_a_poisson_log_has_hardly_any_minute_noise(tmp_path: Path) -> None:
    it = load_replay(scenario(LogTraffic(log_file(tmp_path, rate=20.0))))
    assert it.minute_noise_cv < 0.02 and 1.0 <= it.peak_factor < 1.15


def test_a_log_of_one_request_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "one.csv"
    path.write_text("arrival_s,input_tokens,output_tokens\n0,5,5\n")
    with pytest.raises(InputError, match="two requests at different times"):
        demand(scenario(LogTraffic(path)))


def test_a_scale_that_no_memory_holds_is_told_before_the_copies_are_made(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="too many for one simulation"):
        hour(scenario(LogTraffic(log_file(tmp_path), scale=1e9)), 0, seed=1)


def test_times_in_nanoseconds_are_told_and_not_replayed_as_seconds(tmp_path: Path) -> None:
    log = tmp_path / "ns.csv"
    log.write_text("arrival_s,input_tokens,output_tokens\n0,5,5\n3.6e12,5,5\n")
    with pytest.raises(InputError, match=r"span 41,666,667 days.*nanoseconds"):
        load_replay(scenario(LogTraffic(log)))


def test_the_azure_trace_replays_at_its_own_rate() -> None:
    it = scenario(LogTraffic(shared_data("traces/azure_llm_2023_conv.csv.gz")), request_class("all", 1.0))
    numbers = demand(it)
    assert numbers.mean_rps.sum() == pytest.approx(19_366 / 3502, rel=1e-3)
    assert numbers.input_tokens[0] == pytest.approx(1154.7, abs=0.1)
