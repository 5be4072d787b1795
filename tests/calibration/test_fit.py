"""The fit finds what made the data, and does not follow what nothing shows."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from sim.calibration.crossvalidate import by_group, fit
from sim.calibration.fit_parameters import CEILING, bend, coefficients_for, design_of
from sim.calibration.points import Point
from sim.calibration.replay_points import Run, run_of
from sim.calibration.trace import trace_of
from sim.catalog.loader import load_catalog
from sim.engine.physics import COEFFICIENTS, base_seconds, defaults, shape_of

TRUE = {"step_s": 4e-3, "sequence_s": 2e-5, "bandwidth_efficiency": 0.72}


def point(index: int, in_flight: int, entering: int) -> Point:
    return Point(
        f"t{index}", "l40s", 1, 1, "llama-3.1-8b", "bf16", 2, "vllm-v1", "0.15", "fixed_concurrency", 4 * in_flight, float(entering),
        60.0, "fixed", in_flight, None, {"throughput": 1.0}, {"tpot": "mean", "ttft": "mean"}, "A", f"source {index}", "",
    )  # fmt: skip


def data() -> tuple[list[Point], list[Run]]:
    points, runs = [], []
    for index, (flying, entering) in enumerate([(1, 64), (4, 200), (16, 64), (16, 700), (64, 64), (64, 300), (128, 150), (2, 1500)]):
        one = point(index, flying, entering)
        run = run_of(one, load_catalog())
        assert not isinstance(run, str)
        trace = trace_of(one, run, {**defaults(), **TRUE})
        assert trace is not None
        points.append(replace(one, measured=dict(trace.direct)))
        runs.append(run)
    return points, runs


def test_step_times_of_known_coefficients_are_recovered_within_four_percent() -> None:
    points, runs = data()
    found = fit(points, runs)
    fitted = coefficients_for(runs[0].deployment, found.parameters, found.theta)
    shape, tokens = shape_of(runs[0].deployment), np.array([1.0, 16.0, 64.0, 128.0])
    true = np.asarray(base_seconds(shape, {**defaults(), **TRUE}, tokens))
    assert np.asarray(base_seconds(shape, fitted, tokens)) == pytest.approx(true, rel=0.04)


def test_a_factor_that_no_point_has_seen_stays_at_one() -> None:
    points, runs = data()
    found = fit(points, runs)
    seen = {parameter.scope for parameter in found.parameters}
    assert ("gpu", "l40s") in seen and ("link", "l40s") not in seen and ("engine", "trt-llm") not in seen
    other = replace(runs[0].deployment, gpu=load_catalog().gpus["h100"])
    same = coefficients_for(other, found.parameters, found.theta)
    assert same["allreduce_latency_s"] == pytest.approx(COEFFICIENTS["allreduce_latency_s"][0], rel=1e-6)


@pytest.mark.parametrize("name", sorted(CEILING))
def test_no_share_of_a_peak_passes_its_ceiling(name: str) -> None:
    values = bend(name, np.linspace(-2, 2, 41))
    assert (np.diff(values) > 0).all() and values.max() <= CEILING[name]
    assert bend(name, np.zeros(1))[0] == pytest.approx(defaults()[name])


def test_points_of_one_group_share_a_fold_and_each_point_moves_its_own_parameters() -> None:
    points, runs = data()
    assert len({by_group(replace(p, source="one")) for p in points}) == 1
    design = design_of([run.deployment for run in runs])
    assert all(len(members) == len(runs) for members in design.members)
