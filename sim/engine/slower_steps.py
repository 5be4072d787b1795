"""A calibration row whose steps take a factor longer: what the simulator says if its step cost is wrong by that factor."""

from __future__ import annotations

from dataclasses import replace

from sim.catalog.facts import CalibrationRow
from sim.engine.physics import COEFFICIENTS
from sim.engine.step_cost import coefficients_of

SHARES_OF_PEAK = tuple(name for name in COEFFICIENTS if name.endswith("_efficiency"))
SECONDS = tuple(name for name in COEFFICIENTS if name.endswith("_s") and name != "request_s")  # of a step


def longer_steps(row: CalibrationRow, factor: float, first_s: float = 0.0) -> CalibrationRow:
    """`row` with every step `factor` times as long, and `first_s` more before a request reaches its queue; never less than nothing there.

    >>> row = CalibrationRow("l4", "vllm-v1", "bf16", {"step_s": 0.001}, 0, {}, None)
    >>> round(longer_steps(row, 1.5).coefficients["step_s"], 6)
    0.0015
    """
    values = coefficients_of(row)
    values |= {name: values[name] / factor for name in SHARES_OF_PEAK}
    values |= {name: values[name] * factor for name in SECONDS}
    values["request_s"] = max(values["request_s"] + first_s, 1e-9)
    return replace(row, coefficients=values)
