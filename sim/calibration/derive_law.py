"""The law of the simulator's error, from predictions of points that the fit has not seen.

    python -m sim.calibration.derive_law POINTS.csv [MORE.csv ...] --residuals benchmarks/held_out.csv \\
        --out sim/catalog/error_law.yaml

`slow` is how much slower reality is than the simulation, as a logarithm: of measured / predicted for TPOT and TTFT, of predicted /
measured for throughput. Its law for a card and an engine is `scale` x a quantile function that all of them share. Scales of cells with
few groups of points lie near those of wider cells. The derivation: docs/explanation/confidence.md.
"""

from __future__ import annotations

import argparse
import csv
import io
import json
import math
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from pathlib import Path
from zlib import crc32

import numpy as np
import numpy.typing as npt

from sim.calibration.crossvalidate import FOLDS, absolute_errors, asked_only, by_gpu, by_group, fit, held_out
from sim.calibration.fit import replayable
from sim.calibration.intervals import LEVELS, Placed
from sim.calibration.points import METRICS, Point, load_points
from sim.calibration.rows_file import write_whole
from sim.calibration.trace import measured_table
from sim.catalog.error_law import ANY, PROBABILITIES, ErrorLaw, ErrorScale, RelaySpread
from sim.catalog.loader import load_catalog
from sim.engine.release import lineage
from sim.named_files import read_text

Floats = npt.NDArray[np.float64]
PRIOR_GROUPS = 4.0  # groups of points that the wider cell counts for
MIDDLE = 0.8  # a scale is half of the central interval that holds this share
LEAST_SCALE = 0.01
RELAYS = RelaySpread(0.38, 0.38, 0.10)  # deviations: steady hosts in the llmperf leaderboard's raw data, 2023; probed: an assumption
FEWEST_PAIRS = 30
HEADER = """# How much slower reality may be than the simulation: derived in docs/explanation/confidence.md.
# Written by `python -m sim.calibration.derive_law`; do not edit.
"""


@dataclass(frozen=True)
class Residuals:
    """What the law is drawn from: `slow` [points, METRICS], NaN where nothing is compared, and what each point belongs to."""

    slow: Floats
    gpu: tuple[str, ...]
    engine: tuple[str, ...]  # the first release of its line
    weights: tuple[str, ...]
    group: tuple[str, ...]
    first_token_s: float  # median of what was measured

    def part(self, chosen: Sequence[bool] | npt.NDArray[np.bool_]) -> Residuals:
        """Those of the points `chosen`."""
        kept = np.flatnonzero(np.asarray(chosen)).tolist()
        gpu, engine, weights, group = (tuple(values[i] for i in kept) for values in (self.gpu, self.engine, self.weights, self.group))
        return Residuals(self.slow[kept], gpu, engine, weights, group, self.first_token_s)


def family(engine: str) -> str:
    """The first release of an engine's line: vLLM V1, TensorRT-LLM ...

    >>> family("vllm-0.14")
    'vllm-v1'
    """
    return lineage(engine)[-1]


def residuals(points: Sequence[Point], weights: Sequence[str], predicted: Floats) -> Residuals:
    """Signed log errors of predictions [points, METRICS]; throughput of open runs that served what came says nothing and is left out."""
    with np.errstate(invalid="ignore", divide="ignore"):
        slow = np.log(measured_table(points) / predicted)
    slow[:, METRICS.index("throughput")] *= -1.0
    slow[~np.isfinite(absolute_errors(points, predicted))] = np.nan
    slow[[asked_only(point) for point in points], METRICS.index("throughput")] = np.nan
    waits = measured_table(points)[np.isfinite(slow[:, METRICS.index("ttft")]), METRICS.index("ttft")]
    return Residuals(
        slow,
        tuple(point.gpu for point in points),
        tuple(family(point.engine) for point in points),
        tuple(weights),
        tuple(point.group for point in points),
        round(float(np.median(waits)), 4) if len(waits) else 0.0,
    )


def scale_of(values: Floats, groups: int, wider: float | None) -> float:
    """Half of the interval around zero that holds MIDDLE of `values`, drawn towards that of the wider cell."""
    own = float(np.quantile(np.abs(values), MIDDLE)) if len(values) else LEAST_SCALE
    own = max(own, LEAST_SCALE)
    if wider is None:
        return own
    return math.exp((groups * math.log(own) + PRIOR_GROUPS * math.log(wider)) / (groups + PRIOR_GROUPS))


def scales_of(found: Residuals, strange: Residuals) -> tuple[ErrorScale, ...]:
    """A row per card, per card and engine line; the first for every card, the second for cards without a point (from `strange`)."""
    rows: list[ErrorScale] = []

    def row(gpu: str, engine: str, of: Residuals, wider: ErrorScale | None) -> ErrorScale:
        cells = {}
        for k, metric in enumerate(METRICS):
            known = np.isfinite(of.slow[:, k])
            groups = len({name for name, yes in zip(of.group, known, strict=True) if yes})
            cells[metric] = round(scale_of(of.slow[known, k], groups, wider.scales[metric] if wider else None), 4)
        rows.append(ErrorScale(gpu, engine, len(set(of.group)), cells))
        return rows[-1]

    wide = row("all", ANY, found, None)
    row(ANY, ANY, strange, None)
    for gpu in sorted(set(found.gpu)):
        of_gpu = found.part([name == gpu for name in found.gpu])
        whole = row(gpu, ANY, of_gpu, wide)
        for engine in sorted(set(of_gpu.engine)):
            row(gpu, engine, of_gpu.part([name == engine for name in of_gpu.engine]), whole)
    return tuple(rows)


def standardised(found: Residuals, scales: Sequence[ErrorScale]) -> Floats:
    """[points, METRICS] `slow` in scales of its cell."""
    table = {(row.gpu, row.engine): row.scales for row in scales}
    own = [table[key] if (key := (g, e)) in table else table["all", ANY] for g, e in zip(found.gpu, found.engine, strict=True)]
    return np.asarray(found.slow / np.array([[cell[metric] for metric in METRICS] for cell in own]))


def ranks(z: Floats) -> Floats:
    """Normal scores of each column: what correlation is measured on, whatever the tails."""
    from scipy.special import ndtri

    scores = np.full_like(z, np.nan)
    for k in range(z.shape[1]):
        known = np.flatnonzero(np.isfinite(z[:, k]))
        order = np.argsort(np.argsort(z[known, k], kind="stable"), kind="stable")
        scores[known, k] = ndtri((order + 0.5) / len(known))
    return scores


def step_scores(scores: Floats) -> Floats:
    """[points] the score of a step: of TPOT where it was measured, else of throughput."""
    return np.where(np.isfinite(scores[:, 1]), scores[:, 1], scores[:, 0])


def correlations(found: Residuals, scores: Floats) -> dict[str, float]:
    """How much of the error of a step is shared: by one deployment in several runs, by deployments of one kind, by those of any kind.

    Means over groups first, so that a source with a hundred runs counts once per group; the covariance of group means of one kind over
    the variance of a score, and likewise between kinds. Never below 0.
    """
    step = step_scores(scores)
    members: dict[tuple[tuple[str, str, str], str], list[float]] = {}
    for key, value in zip(zip(found.gpu, found.engine, found.weights, found.group, strict=True), step, strict=True):
        if math.isfinite(value):
            members.setdefault((key[:3], key[3]), []).append(float(value))
    means = {key: math.fsum(values) / len(values) for key, values in members.items()}
    within = [(v - means[key]) ** 2 * len(values) / (len(values) - 1) for key, values in members.items() if len(values) > 1 for v in values]
    own = 1.0 - (math.fsum(within) / len(within) if within else 0.0)
    pairs: dict[bool, list[float]] = {True: [], False: []}
    for (a, x), (b, y) in combinations(sorted(means.items()), 2):
        if a[1] != b[1]:
            pairs[a[0] == b[0]].append(x * y)
    shared = {same: math.fsum(p) / len(p) if len(p) >= FEWEST_PAIRS else 0.0 for same, p in pairs.items()}
    both = np.isfinite(step) & np.isfinite(scores[:, 2])
    first = float(np.corrcoef(step[both], scores[both, 2])[0, 1]) if both.sum() > 2 else 0.0
    other = within_limits(shared[False], 0.0, 0.95)
    kind = within_limits(shared[True], other, 0.97)
    known = {"other_kind": other, "same_kind": kind, "same_deployment": within_limits(own, kind, 0.99)}
    return known | {"first_token": within_limits(first, 0.0, 0.99)}


def within_limits(value: float, low: float, high: float) -> float:
    """`value`, or the nearer of the two ends, to a thousandth.

    >>> within_limits(-0.2, 0.0, 0.95)
    0.0
    """
    return round(min(max(value, low), high), 3)


def law_of(found: Residuals, strange: Residuals, source: dict[str, str]) -> ErrorLaw:
    """The law that these errors show."""
    scales = scales_of(found, strange)
    z = standardised(found, scales)
    quantiles = {metric: tuple(round(float(v), 4) for v in np.nanquantile(z[:, k], PROBABILITIES)) for k, metric in enumerate(METRICS)}
    return ErrorLaw(quantiles, scales, correlations(found, ranks(z)), RELAYS, found.first_token_s, source)


COLUMNS = ("gpu", "engine", "weights", "group", *(f"{name}_{metric}" for name in ("group", "gpu") for metric in METRICS))


def residuals_text(unseen: Residuals, strange: Residuals) -> str:
    """A line per point: what it belongs to, its log errors without its group and without its card; then the median TTFT."""
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow((*COLUMNS, unseen.first_token_s))
    for i in range(len(unseen.gpu)):
        values = (*unseen.slow[i], *strange.slow[i])
        writer.writerow(
            (unseen.gpu[i], unseen.engine[i], unseen.weights[i], unseen.group[i], *("" if np.isnan(v) else f"{v:.4f}" for v in values))
        )
    return buffer.getvalue()


def read_residuals(path: Path) -> tuple[Residuals, Residuals]:
    """The errors without the group and without the card that `residuals_text` wrote."""
    head, *rows = list(csv.reader(io.StringIO(read_text(path, "a table of errors"), newline="")))
    gpu, engine, weights, group = (tuple(row[k] for row in rows) for k in range(4))
    table = np.array([[float(cell) if cell else np.nan for cell in row[4:]] for row in rows])
    size, first_s = len(METRICS), float(head[-1])
    unseen, strange = (Residuals(part, gpu, engine, weights, group, first_s) for part in (table[:, :size], table[:, size:]))
    return unseen, strange


def covered(found: Residuals, strange: Residuals, levels: Sequence[float] = LEVELS) -> list[tuple[int, Placed]]:
    """(point, value with its intervals) of every value, by a law drawn from the groups of other folds: nothing has seen it twice."""
    folds = np.array([crc32(name.encode()) % FOLDS for name in found.group])
    answer = []
    for fold in sorted(set(folds.tolist())):
        law = law_of(found.part(folds != fold), strange.part(folds != fold), {})
        for i in np.flatnonzero(folds == fold).tolist():
            for k, metric in enumerate(METRICS):
                if np.isfinite(found.slow[i, k]):
                    ends = [
                        tuple(law.slow(found.gpu[i], found.engine[i], metric, p) for p in ((1 - level) / 2, (1 + level) / 2))
                        for level in levels
                    ]
                    answer.append((i, Placed(metric, float(found.slow[i, k]), tuple((low, high) for low, high in ends))))
    return answer


def law_text(law: ErrorLaw) -> str:
    """The file of a law."""
    said = asdict(law)
    rows = ",\n".join("  " + json.dumps(row) for row in said.pop("scales"))
    rest = ",\n".join(f' "{name}": {json.dumps(value)}' for name, value in said.items())
    return f'{HEADER}{{{rest},\n "scales": [\n{rows}\n]}}\n'


def _derived(paths: Sequence[Path]) -> tuple[Residuals, Residuals]:
    """The errors of all points by fits without their group, and without their card."""
    listed = [point for path in paths for point in load_points(path)]
    points, runs, skipped = replayable([point for point in listed if point.fits], load_catalog())
    print(f"{len(points)} points replayed, {len(skipped)} skipped", file=sys.stderr)
    traces, weights = fit(points, runs).traces, [run.deployment.weights.id for run in runs]
    unseen, strange = (residuals(points, weights, held_out(points, runs, traces, fold)) for fold in (by_group, by_gpu))
    return unseen, strange


def main(arguments: Sequence[str] | None = None) -> int:
    """Fit, predict what was left out, write the law."""
    parser = argparse.ArgumentParser(prog="python -m sim.calibration.derive_law", description="The law of the simulator's error.")
    parser.add_argument("points", type=Path, nargs="*", help="CSV of measured points")
    parser.add_argument("--residuals", type=Path, help="CSV of errors: read where no points are given, else written")
    parser.add_argument("--out", type=Path, required=True, help="error_law.yaml to write")
    parser.add_argument("--date", default="2026-12-01", help="date of the derivation, written to the file")
    chosen = parser.parse_args(arguments)
    if chosen.points:
        unseen, strange = _derived(chosen.points)
        if chosen.residuals is not None:
            write_whole(residuals_text(unseen, strange), chosen.residuals)
    elif chosen.residuals is not None:
        unseen, strange = read_residuals(chosen.residuals)
    else:
        parser.error("write files of measured points, or --residuals FILE")
    title = f"errors of {len(unseen.gpu)} published serving measurements, each predicted by a fit without its group"
    source = {"title": title, "date": chosen.date, "note": "derived in docs/explanation/confidence.md"}
    write_whole(law_text(law_of(unseen, strange, source)), chosen.out)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
