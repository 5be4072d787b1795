"""How close the simulator comes to measured GPUs that the fit has not seen.

    python -m benchmarks.fidelity POINTS.csv [MORE.csv ...] [--log REQUESTS.csv.gz] [--write-docs]

Fits again without each group of points (source x GPU x model x format x tensor parallel) and without each GPU, and prints the errors of
what was left out: medians and 90th percentiles by goal, release, GPU, format, load and source, and the signs. `--catalogue` adds the
replay of every point under the catalogue's rows, which have seen it: smaller errors, not to be quoted. `--log` replays a log of single
requests. `--write-docs` puts tables and the parity plot into docs/explanation/. Points of quality C are read and not used.
"""

from __future__ import annotations

import argparse
import csv
import gzip
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from benchmarks.fidelity_plot import parity_plot
from sim.calibration.crossvalidate import absolute_errors, asked_only, by_gpu, by_group, fit, held_out
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
GOALS = (("throughput", 0.07, 0.24), ("tpot", 0.085, 0.30), ("ttft", 0.17, None))
CORE_GOALS = (("throughput", 0.06, 0.16), ("tpot", 0.07, 0.22), ("ttft", 0.14, None))
CORE_ENGINES = ("vllm-v1", "vllm-0.12", "vllm-0.14", "trt-llm", "trt-llm-1")
CORE_GPUS = ("h100", "h200", "a100-40", "a100-80", "l40s", "b200")
Sections = list[tuple[str, str]]
Floats = npt.NDArray[np.float64]


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


def directions(points: Sequence[Point], predicted: Floats) -> str:
    """Signed median error by release, GPU and format: below zero the simulator says less throughput or faster answers than measured."""
    signed = predicted / measured_table(points) - 1.0
    signed[np.isnan(absolute_errors(points, predicted))] = np.nan
    names = [f"{p.engine}, {p.gpu}, {p.weights}" for p in points]
    lines = [f"{'':34}" + "".join(f"{metric:>16}" for metric in METRICS)]
    for name in sorted(set(names)):
        chosen = np.array([each == name for each in names])
        cells = []
        for k in range(len(METRICS)):
            values = signed[chosen, k][np.isfinite(signed[chosen, k])]
            cells.append(f"{len(values):5d} {np.median(values):+8.1%}" if len(values) else "")
        lines.append((f"{name:34}" + "".join(f"{cell:>16}" for cell in cells)).rstrip())
    return "\n".join(lines)


def in_core(point: Point) -> bool:
    """Whether the point is of an engine and card that most plans rest on: vLLM V1 or TensorRT-LLM on a card of a data centre."""
    return point.engine in CORE_ENGINES and point.gpu in CORE_GPUS


def tables(points: Sequence[Point], unseen: Floats, strange: Floats) -> Sections:
    """Titles and tables of predictions by fits without the point's group (`unseen`) and without its GPU (`strange`)."""
    errors = absolute_errors(points, unseen)
    core = [i for i, point in enumerate(points) if in_core(point)]
    strict = errors.copy()
    strict[[asked_only(point) for point in points], METRICS.index("throughput")] = np.nan
    return [
        ("Against the goals, held out by group", _goals(errors, core)),
        ("The same, without throughput of open runs that served what came", _goals(strict, core)),
        ("Held out by group, by engine release", table(points, errors, "", lambda point: point.engine)),
        ("Held out by group, by GPU", table(points, errors, "")),
        ("Held out by group, by source", table(points, errors, "", lambda point: point.source)),
        ("Held out by group, by load", table(points, errors, "", lambda point: point.load)),
        ("Held out by group, by format", table(points, errors, "", lambda point: point.weights)),
        ("Held out by group, signed: in which direction", directions(points, unseen)),
        ("Held out by GPU: cards without a point", table(points, absolute_errors(points, strange), "")),
    ]


def _goals(errors: Floats, core: list[int]) -> str:
    return f"all points\n{goals(errors)}\n\nvLLM V1 and TensorRT-LLM on H100, H200, A100, L40S, B200\n{goals(errors[core], CORE_GOALS)}"


def cross_validation(points: Sequence[Point], catalog: Catalog, plot: Path | None) -> Sections:
    """The tables of a cross-validation of these points; its plot where asked for."""
    kept, runs, _ = replayable([point for point in points if point.fits], catalog)
    traces = fit(kept, runs).traces
    unseen, strange = held_out(kept, runs, traces, by_group), held_out(kept, runs, traces, by_gpu)
    if plot is not None:
        parity_plot(kept, unseen, plot)
    return tables(kept, unseen, strange)


def goals(errors: Floats, wanted: tuple[tuple[str, float, float | None], ...] = GOALS) -> str:
    """Median and p90 by metric, and what they should be."""
    lines = []
    for metric, middle, high in wanted:
        values = errors[:, METRICS.index(metric)]
        values = values[np.isfinite(values)]
        found, far = np.quantile(values, 0.5), np.quantile(values, 0.9)
        tail = f" (goal {high:.0%})" if high else ""
        lines.append(f"{metric:12}{len(values):5d} values   median {found:6.1%} (goal {middle:.1%})   p90 {far:6.1%}{tail}")
    return "\n".join(lines)


def catalogue_tables(path: Path, catalog: Catalog) -> Sections:
    """Errors of the catalogue's rows on points that they have seen, and which points were not replayed."""
    found = validate(path, catalog)
    reasons = Counter(why for _, why in found.skipped)
    return [
        (f"Catalogue, by GPU: {path.name}", by(found.rows, lambda row: row.gpu, "GPU")),
        (f"Catalogue, by source: {path.name}", by(found.rows, lambda row: row.source, "source")),
        (
            f"Not replayed: {len(found.skipped)} points of {path.name}",
            "\n".join(f"{count:4d}  {why}" for why, count in sorted(reasons.items(), key=lambda item: (-item[1], item[0]))),
        ),
    ]


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
    parser.add_argument("points", type=Path, nargs="+")
    parser.add_argument("--log", type=Path, help="log of single requests, gzipped CSV")
    parser.add_argument("--cross-validate", action="store_true", help="is always done")
    parser.add_argument("--catalogue", action="store_true", help="also the errors of rows that have seen the points")
    parser.add_argument("--write-docs", action="store_true")
    chosen = parser.parse_args()
    catalog = load_catalog()
    points = [point for path in chosen.points for point in load_points(path)]
    sections = cross_validation(points, catalog, DOCS / "fidelity-parity.png" if chosen.write_docs else None)
    if chosen.log:
        sections.append(("A log of single requests: L40S, vLLM 0.5.5", replay_log(chosen.log, catalog)))
    for title, part in sections:
        print(f"{title}\n{part}\n")
    if chosen.write_docs:
        write_docs(sections)
    for path in chosen.points if chosen.catalogue else ():
        for title, part in catalogue_tables(path, catalog):
            print(f"{title}\n{part}\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
