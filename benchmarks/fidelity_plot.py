"""Predicted against measured as one picture."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from sim.calibration.crossvalidate import unsaturated
from sim.calibration.points import METRICS, Point
from sim.calibration.trace import measured_table

UNITS = {"throughput": "output tokens/s", "tpot": "TPOT, s", "ttft": "TTFT, s (unsaturated)"}


def parity_plot(points: Sequence[Point], predicted: npt.NDArray[np.float64], path: Path) -> None:
    """Writes a PNG: a panel per metric, a dot per value that the fit has not seen, a colour per GPU; lines at +/-25 %."""
    from matplotlib.figure import Figure

    measured = measured_table(points)
    measured[[not unsaturated(point) for point in points], METRICS.index("ttft")] = np.nan
    gpus = sorted({point.gpu for point in points})
    figure = Figure(figsize=(12, 4.4), dpi=90, layout="constrained")
    panels = figure.subplots(1, len(METRICS))
    for k, (metric, panel) in enumerate(zip(METRICS, panels, strict=True)):
        for colour, gpu in enumerate(gpus):
            here = np.array([point.gpu == gpu for point in points]) & np.isfinite(measured[:, k]) & np.isfinite(predicted[:, k])
            panel.plot(measured[here, k], predicted[here, k], ".", ms=4, alpha=0.6, color=f"C{colour % 10}", label=gpu)
        low, high = np.nanmin(measured[:, k]) * 0.7, np.nanmax(measured[:, k]) * 1.4
        for factor, style in ((1.0, "-"), (1.25, ":"), (0.75, ":")):
            panel.plot([low, high], [factor * low, factor * high], style, color="0.4", lw=0.8)
        panel.set(xscale="log", yscale="log", xlim=(low, high), ylim=(low, high), xlabel=f"measured {UNITS[metric]}")
    panels[0].set_ylabel("predicted, held out by group")
    panels[0].legend(fontsize=7, ncols=2, frameon=False)
    figure.savefig(path, metadata={"Software": None})
