"""The step cost of a deployment: the best calibration row in the formulas of `physics`, as tables for the kernel."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from sim.catalog.facts import CalibrationRow
from sim.engine import physics
from sim.engine.deployment import PS, Deployment, StepCost
from sim.engine.memory import sequence_blocks
from sim.engine.release import lineage


def coefficients_of(row: CalibrationRow | None) -> dict[str, float]:
    """Coefficients of `row`, completed by `physics.COEFFICIENTS`."""
    return {**physics.defaults(), **(row.coefficients if row is not None else {})}


def best_row(deployment: Deployment, calibration: tuple[CalibrationRow, ...] | None) -> CalibrationRow | None:
    """The row that fits best: this GPU and format, this GPU, this format, any; this engine release, one that it grew from, or any.

    Of two rows of one rank that of the nearer release wins, then the one with more points.
    """
    ranks = {
        (deployment.gpu.id, deployment.weights.id): 3,
        (deployment.gpu.id, "*"): 2,
        ("*", deployment.weights.id): 1,
        ("*", "*"): 0,
    }
    near = {name: -distance for distance, name in enumerate((*lineage(deployment.engine), "*"))}
    rows = [row for row in calibration or () if row.engine in near and (row.gpu, row.weights) in ranks]
    return max(rows, key=lambda r: (ranks[r.gpu, r.weights], near[r.engine], r.points), default=None)


def _ps(seconds: physics.Number) -> npt.NDArray[np.int64]:
    return np.maximum(np.rint(np.asarray(seconds, dtype=np.float64) * PS), 0).astype(np.int64)


def tabulate(deployment: Deployment, coefficients: Mapping[str, float], calibrated: bool, error: Mapping[str, float]) -> StepCost:
    """The step cost of `deployment` under `coefficients` as the integer tables that the kernel reads."""
    shape, limits = physics.shape_of(deployment), deployment.limits
    tokens = np.arange(limits.max_num_batched_tokens + 1, dtype=np.float64)
    decodes = np.arange(limits.max_num_seqs + 1, dtype=np.float64)
    return StepCost(
        base_ps=_ps(physics.base_seconds(shape, coefficients, tokens)),
        context_ps=_ps(physics.context_seconds(shape, coefficients, decodes)),
        sequence_ps=int(_ps(physics.sequence_seconds(shape, coefficients))),
        pair_ps=int(_ps(physics.pair_seconds(shape, coefficients))),
        prefill_context_ps=int(_ps(physics.prefill_context_seconds(shape, coefficients))),
        request_ps=int(_ps(coefficients["request_s"])),
        calibrated=calibrated,
        error=dict(error),
        sequence_blocks=sequence_blocks(deployment),
    )


def step_cost(deployment: Deployment, calibration: tuple[CalibrationRow, ...] | None) -> StepCost:
    """The step cost of `deployment` from the best row of `calibration`, or from the data sheet alone.

    `calibrated` is false where no measured point of this GPU stands behind them; `error` then is the fallback's.
    """
    row = best_row(deployment, calibration)
    calibrated = row is not None and row.points > 0 and row.gpu != "*"
    return tabulate(deployment, coefficients_of(row), calibrated, row.error if row is not None else {})
