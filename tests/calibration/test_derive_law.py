"""The law of the simulator's error: what its scales and correlations say, and what a file must hold."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from sim.calibration.derive_law import (
    Residuals,
    correlations,
    covered,
    law_of,
    law_text,
    ranks,
    read_residuals,
    residuals_text,
    scales_of,
    standardised,
)
from sim.calibration.doubt import SCORES, doubt_of, probability_at, score_of
from sim.calibration.intervals import LEVELS, shares
from sim.calibration.points import METRICS
from sim.catalog.error_law import ANY, ErrorLaw, law_from
from sim.catalog.facts import CalibrationRow, Source
from sim.catalog.loader import _json, load_catalog


def drawn(groups: int, points: int, parts: tuple[float, float, float, float], scale: float = 0.1, seed: int = 1) -> Residuals:
    """`groups` groups of `points` points on two cards; deviations of what all share, a kind shares, a group shares, and of a point."""
    rng = np.random.default_rng(seed)
    gpu = [("h100", "l4")[g % 2] for g in range(groups) for _ in range(points)]
    shared, kind = rng.normal(0, parts[0]), {name: rng.normal(0, parts[1]) for name in ("h100", "l4")}
    own = np.repeat(rng.normal(0, parts[2], groups), points)
    slow = np.array([shared + kind[name] for name in gpu]) + own + rng.normal(0, parts[3], groups * points)
    group = tuple(f"g{g}" for g in range(groups) for _ in range(points))
    table = scale * np.repeat(slow[:, None], len(METRICS), axis=1)
    return Residuals(table, tuple(gpu), ("vllm-v1",) * len(gpu), ("fp8",) * len(gpu), group, 0.1)


def test_a_scale_is_half_of_the_interval_that_holds_four_errors_in_five() -> None:
    found = drawn(200, 2, (0.0, 0.0, 0.0, 1.0))
    scale = {(row.gpu, row.engine): row.scales["tpot"] for row in scales_of(found, found)}
    assert scale["h100", "vllm-v1"] == pytest.approx(0.1 * 1.2816, rel=0.15)


def test_a_cell_of_one_group_lies_near_the_wider_cell() -> None:
    many, one = drawn(80, 2, (0.0, 0.0, 0.0, 1.0)), drawn(1, 3, (0.0, 0.0, 0.0, 1.0), scale=5.0)
    both = Residuals(
        np.concatenate([many.slow, one.slow]),
        (*many.gpu, *("a10",) * 3),
        (*many.engine, *one.engine),
        (*many.weights, *one.weights),
        (*many.group, *("new",) * 3),
        0.1,
    )
    scale = {(row.gpu, row.engine): row.scales["tpot"] for row in scales_of(both, both)}
    own = float(np.quantile(np.abs(one.slow[:, 1]), 0.8))
    assert scale["h100", ANY] < scale["a10", ANY] < own / 2


def test_what_groups_share_is_found_again() -> None:
    found = drawn(300, 4, (0.0, 0.0, 0.8, 0.6))
    z = standardised(found, scales_of(found, found))
    assert correlations(found, ranks(z))["same_deployment"] == pytest.approx(0.64, abs=0.08)


def test_intervals_of_a_law_hold_what_they_say_on_groups_that_it_has_not_seen() -> None:
    found = drawn(300, 2, (0.0, 0.0, 0.3, 1.0))
    placed = [value for _, value in covered(found, found)]
    inside = {(row.metric, row.level): row.inside for row in shares(placed, lambda _: "all")}
    assert all(inside["tpot", level] == pytest.approx(level, abs=0.06) for level in LEVELS)


def test_a_law_reads_as_it_was_written() -> None:
    found = drawn(40, 2, (0.1, 0.1, 0.5, 0.5))
    law = law_of(found, found, {"title": "t", "date": "2026-12-01", "note": ""})
    raw = _json(law_text(law))
    assert raw is not None and law_from(raw) == law


def test_errors_read_as_they_were_written(tmp_path: Path) -> None:
    found = drawn(10, 2, (0.1, 0.1, 0.5, 0.5))
    file = tmp_path / "errors.csv"
    file.write_text(residuals_text(found, found))
    again, strange = read_residuals(file)
    assert np.allclose(again.slow, found.slow, atol=1e-4) and again.group == found.group and strange.gpu == found.gpu


def shipped() -> ErrorLaw:
    law = load_catalog().error_law
    assert law is not None
    return law


def test_the_catalogue_has_a_law_for_every_card_that_it_has_points_of() -> None:
    law, rows = shipped(), load_catalog().calibration
    known = {row.gpu for row in law.scales}
    assert {row.gpu for row in rows if row.points > 0 and row.gpu != ANY} <= known


def test_a_card_without_points_is_less_sure_than_most() -> None:
    law = shipped()
    assert law.scale("t4", "vllm-v1", "tpot") == law.scale(ANY, ANY, "tpot") > law.scale("h200", "vllm-v1", "tpot")


def test_an_own_calibration_narrows_the_law_and_never_below_repeated_runs() -> None:
    law = shipped()
    row = CalibrationRow("h100", "vllm-0.14", "fp8", {}, 6, {"tpot_p90": 0.04, "ttft_p90": 0.0}, Source("own", "2026-12-01"))
    spreads = doubt_of(law, row).spreads
    assert spreads["tpot"].scale == pytest.approx(0.04 * 1.2816 / 1.645)
    assert spreads["tpot"].scale < law.scale("h100", "vllm-v1", "tpot")
    assert spreads["ttft"].scale == 0.026


def test_an_interval_of_throughput_is_that_of_slowness_upside_down() -> None:
    doubt = doubt_of(shipped(), load_catalog().calibration[0])
    low, high = doubt.interval("throughput", 100.0, 0.8)
    assert low < 100.0 < high and doubt.slow(0.8)[0] > 0 > doubt.slow(0.1)[0]


def test_scores_and_probabilities_are_inverse() -> None:
    assert all(score_of(probability_at(z)) == pytest.approx(z) for z in (*SCORES, 0.1, 1.0))


def test_a_file_that_is_no_law_is_refused() -> None:
    with pytest.raises(ValueError, match="rising numbers"):
        law_from({"quantiles": {"tpot": [1, 2]}})
