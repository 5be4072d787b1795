"""How close the simulator comes to measured GPUs.

    python -m benchmarks.fidelity POINTS.csv [--log REQUESTS.csv.gz] [--cross-validate] [--write-docs]

Replays every point of POINTS.csv through the simulator and prints median and p90 error by GPU, format, load and source.
`--log` replays a log of single requests run by run. `--cross-validate` fits again without each group and without each GPU (three minutes).
`--write-docs` puts tables and the parity plot into docs/explanation/.
"""

from __future__ import annotations

import argparse
import csv
import gzip
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from benchmarks.fidelity_plot import parity_plot
from sim.calibration.crossvalidate import absolute_errors, by_gpu, by_group, data_sheet, fit, held_out
from sim.calibration.fit import replayable, table
from sim.calibration.points import METRICS, Point, load_points
from sim.calibration.replay_log import Latencies, replay_poisson
from sim.calibration.trace import measured_table
from sim.calibration.validate_points import Row, validate
from sim.catalog.facts import Catalog
from sim.catalog.loader import load_catalog
from sim.engine.deployment import Deployment, EngineLimits
from sim.engine.step_cost import step_cost

DOCS = Path(__file__).resolve().parents[1] / "docs" / "explanation"
SEEDS = range(5)
GOALS = (("throughput", 0.10, 0.25), ("tpot", 0.13, 0.30), ("ttft", 0.25, None))
Sections = list[tuple[str, str]]


def by(rows: Sequence[Row], key: Callable[[Row], str], title: str) -> str:
    """Values, median and p90 of |error| per metric for each value of `key`, as text."""
    cells: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for row in rows:
        if not row.queueing:
            for name in ("all", key(row)):
                cells[name][row.metric].append(abs(row.error))
    lines = [f"{title:44}" + "".join(f"{metric:>24}" for metric in METRICS)]
    for name in sorted(cells, key=lambda name: (name != "all", name)):
        values = (cells[name].get(metric, []) for metric in METRICS)
        texts = (f"{len(v):5d} {np.quantile(v, 0.5):7.1%} {np.quantile(v, 0.9):7.1%}" if v else "" for v in values)
        lines.append((f"{name[:43]:44}" + "".join(f"{text:>24}" for text in texts)).rstrip())
    return "\n".join(lines)


def replay_log(path: Path, catalog: Catalog) -> str:
    """A log of single requests (L40S, vLLM 0.5.5) run by run: lengths as logged, Poisson arrivals at the stated rate over five seeds."""
    runs: dict[tuple[str, str, int, float], list[dict[str, str]]] = defaultdict(list)
    with gzip.open(path, "rt", newline="") as file:
        for row in csv.DictReader(file):
            runs[row["model"], row["weights"], int(row["tp"]), float(row["rate_rps"])].append(row)
    names = ("TTFT s", "simulated", "TPOT ms", "simulated", "last/first TTFT", "simulated")
    lines = [f"{'model':16}{'tp':>3}{'rps':>6}" + "".join(f"{name:>17}" for name in names)]
    for (model, weights, size, rate), rows in sorted(runs.items()):
        limits = EngineLimits(256, 512)  # what vLLM 0.5.5 does with a model of 131,072 tokens
        one = Deployment(catalog.models[model], catalog.weight_formats[weights], catalog.gpus["l40s"], size, limits, engine="vllm-0.5")
        prompt, output = (np.array([int(row[key]) for row in rows]) for key in ("input_tokens", "output_tokens"))
        ttft, e2e = (np.array([float(row[key]) / 1e3 for row in rows]) for key in ("ttft_ms", "e2e_ms"))
        measured = Latencies.of(ttft, e2e, output).summary()
        found = replay_poisson(one, step_cost(one, catalog.calibration), prompt, output, rate, SEEDS)
        cells = [f"{of['ttft_mean']:17.3f}" for of in (measured, found)] + [f"{1e3 * of['tpot_mean']:17.1f}" for of in (measured, found)]
        cells += [f"{of['ttft_growth']:17.1f}" for of in (measured, found)]
        lines.append(f"{model:16}{size:3d}{rate:6.1f}" + "".join(cells))
    return "\n".join(lines)


def directions(points: Sequence[Point], predicted: np.ndarray[tuple[int, int], np.dtype[np.float64]]) -> str:
    """Signed median error by GPU and format: below zero the simulator says less (throughput) or faster (latencies) than was measured."""
    signed = predicted / measured_table(points) - 1.0
    signed[np.isnan(absolute_errors(points, predicted))] = np.nan
    lines = [f"{'':24}" + "".join(f"{metric:>16}" for metric in METRICS)]
    for name in sorted({f"{p.gpu}, {p.weights}" for p in points}):
        chosen = np.array([f"{p.gpu}, {p.weights}" == name for p in points])
        cells = []
        for k in range(len(METRICS)):
            values = signed[chosen, k][np.isfinite(signed[chosen, k])]
            cells.append(f"{len(values):5d} {np.median(values):+8.1%}" if len(values) else "")
        lines.append((f"{name:24}" + "".join(f"{cell:>16}" for cell in cells)).rstrip())
    return "\n".join(lines)


def cross_validation(points: Sequence[Point], catalog: Catalog, plot: Path | None) -> Sections:
    """Titles and tables of held-out errors by group and by GPU, and of the data sheet alone; the plot of the first where asked for."""
    kept, runs, _ = replayable(points, catalog)
    traces = fit(kept, runs).traces
    unseen, strange, alone = held_out(kept, runs, traces, by_group), held_out(kept, runs, traces, by_gpu), data_sheet(kept, runs, traces)
    if plot is not None:
        parity_plot(kept, unseen, plot)
    errors = absolute_errors(kept, unseen)
    return [
        ("Against the goals, held out by group", goals(errors)),
        ("Held out by group, by GPU", table(kept, errors, "")),
        ("Held out by group, by source", table(kept, errors, "", lambda point: point.source)),
        ("Held out by group, by load", table(kept, errors, "", lambda point: point.load)),
        ("Held out by group, by format", table(kept, errors, "", lambda point: point.weights)),
        ("Held out by group, signed: in which direction", directions(kept, unseen)),
        ("Held out by GPU: cards without a point", table(kept, absolute_errors(kept, strange), "")),
        ("Data sheet and defaults alone: not calibrated", table(kept, absolute_errors(kept, alone), "")),
    ]


def goals(errors: np.ndarray[tuple[int, int], np.dtype[np.float64]]) -> str:
    """Median and p90 by metric beside what they should be."""
    lines = []
    for metric, middle, high in GOALS:
        values = errors[:, METRICS.index(metric)]
        values = values[np.isfinite(values)]
        found, far = np.quantile(values, 0.5), np.quantile(values, 0.9)
        tail = f" (goal {high:.0%})" if high else ""
        lines.append(f"{metric:12}{len(values):5d} values   median {found:6.1%} (goal {middle:.0%})   p90 {far:6.1%}{tail}")
    return "\n".join(lines)


def write_docs(sections: Sections) -> None:
    """Replace what stands between the markers of the fidelity page by these tables."""
    page = DOCS / "fidelity.md"
    text = page.read_text(encoding="utf-8")
    begin, end = "<!-- generated: begin -->", "<!-- generated: end -->"
    body = "\n\n".join(f"### {title}\n\n```text\n{part.strip(chr(10))}\n```" for title, part in sections)
    head, tail = text.split(begin)[0], text.split(end)[1]
    page.write_text(f"{head}{begin}\n{body}\n{end}{tail}", encoding="utf-8")


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.fidelity", description="Simulator against measured GPUs.")
    parser.add_argument("points", type=Path)
    parser.add_argument("--log", type=Path, help="log of single requests, gzipped CSV")
    parser.add_argument("--cross-validate", action="store_true")
    parser.add_argument("--write-docs", action="store_true")
    chosen = parser.parse_args()
    catalog = load_catalog()
    sections: Sections = []
    points = load_points(chosen.points)
    if chosen.cross_validate:
        sections += cross_validation(points, catalog, DOCS / "fidelity-parity.png" if chosen.write_docs else None)
    found = validate(chosen.points, catalog)
    reasons = Counter(why for _, why in found.skipped)
    excluded = sum(count for why, count in reasons.items() if why.startswith("excluded"))
    sections += [
        ("Catalogue, by GPU", by(found.rows, lambda row: row.gpu, "GPU")),
        ("Catalogue, by source", by(found.rows, lambda row: row.source, "source")),
        ("Catalogue, by format", by(found.rows, lambda row: row.weights, "format")),
        ("Catalogue, by load", by(found.rows, lambda row: row.load, "load")),
        (
            f"Not replayed: {len(found.skipped)} of {len(points)} points, {excluded} of them by choice ({excluded / len(points):.1%})",
            "\n".join(f"{count:4d}  {why}" for why, count in sorted(reasons.items(), key=lambda item: (-item[1], item[0]))),
        ),
    ]
    if chosen.log:
        sections.append(("A log of single requests: L40S, vLLM 0.5.5", replay_log(chosen.log, catalog)))
    for title, part in sections:
        print(f"{title}\n{part}\n")
    if chosen.write_docs:
        write_docs(sections)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
