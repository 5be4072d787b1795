"""How close the simulator comes to measured GPUs.

    python -m benchmarks.fidelity POINTS.csv [--log REQUESTS.csv.gz] [--cross-validate] [--write-docs]

Replays every point of POINTS.csv through the kernel and prints median and p90 error by GPU, format, load and source.
`--log` replays a log of single requests run by run. `--cross-validate` fits again without each group and without each GPU (two minutes).
`--write-docs` puts the tables into docs/explanation/fidelity.md.
"""

from __future__ import annotations

import argparse
import csv
import gzip
from collections import defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from sim.calibration.crossvalidate import absolute_errors, by_gpu, by_group, data_sheet, fit, held_out
from sim.calibration.fit import replayable, table
from sim.calibration.points import METRICS, Point, load_points
from sim.calibration.replay import Run
from sim.calibration.validate import Row, replay, validate
from sim.catalog.loader import load_catalog
from sim.catalog.records import Catalog
from sim.engine.deployment import PS, Deployment, EngineLimits
from sim.engine.step_cost import step_cost

DOCS = Path(__file__).resolve().parents[1] / "docs" / "explanation" / "fidelity.md"
SEEDS = 5


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
        lines.append(f"{name[:43]:44}" + "".join(f"{text:>24}" for text in texts))
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
        deployment = Deployment(
            catalog.models[model], catalog.weight_formats[weights], catalog.gpus["l40s"], size, limits, engine="vllm-v0"
        )
        cost = step_cost(deployment, catalog.calibration)
        prompt, output = (np.array([int(row[key]) for row in rows]) for key in ("input_tokens", "output_tokens"))
        ttft = np.array([float(row["ttft_ms"]) / 1e3 for row in rows])
        tpot = (np.array([float(row["e2e_ms"]) / 1e3 for row in rows]) - ttft) / np.maximum(output - 1, 1)
        found = []
        for seed in range(SEEDS):
            arrival = np.cumsum(np.random.default_rng(seed).exponential(1.0 / rate, len(rows)))
            log = replay(Run(deployment, prompt, np.maximum(output, 1), arrival, 0, 0, 0), cost)
            assert log is not None
            wait = (log.first_ps - log.arrival_ps) / PS
            pace = (log.finish_ps - log.first_ps)[output > 1] / (output[output > 1] - 1) / PS
            found.append((wait.mean(), pace.mean(), growth(wait)))
        mean = np.mean(found, axis=0)
        values = (ttft.mean(), mean[0], 1e3 * tpot[output > 1].mean(), 1e3 * mean[1], growth(ttft), mean[2])
        lines.append(f"{model:16}{size:3d}{rate:6.1f}" + "".join(f"{value:17.{3 if k < 2 else 1}f}" for k, value in enumerate(values)))
    return "\n".join(lines)


def growth(ttft: np.ndarray[tuple[int], np.dtype[np.float64]]) -> float:
    """Mean TTFT of the last fifth of a run over that of the first fifth: how a queue has grown."""
    fifth = max(len(ttft) // 5, 1)
    return float(ttft[-fifth:].mean() / ttft[:fifth].mean())


def cross_validation(points: Sequence[Point], catalog: Catalog) -> list[tuple[str, str]]:
    """Titles and tables of held-out errors by group and by GPU, and of the data sheet alone."""
    kept, runs, _ = replayable(points, catalog)
    traces = fit(kept, runs).traces
    parts = [(f"held out by {name}", held_out(kept, runs, traces, fold)) for name, fold in (("group", by_group), ("GPU", by_gpu))]
    parts.append(("data sheet and defaults alone", data_sheet(kept, runs)))
    return [(title, table(kept, absolute_errors(kept, predicted), "")) for title, predicted in parts]


def write_docs(sections: Sequence[tuple[str, str]]) -> None:
    """Replace what stands between the markers of the fidelity page by these tables."""
    text = DOCS.read_text(encoding="utf-8")
    begin, end = "<!-- generated: begin -->", "<!-- generated: end -->"
    body = "\n\n".join(f"### {title}\n\n```text\n{part.strip(chr(10))}\n```" for title, part in sections)
    head, tail = text.split(begin)[0], text.split(end)[1]
    DOCS.write_text(f"{head}{begin}\n{body}\n{end}{tail}", encoding="utf-8")


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.fidelity", description="Simulator against measured GPUs.")
    parser.add_argument("points", type=Path)
    parser.add_argument("--log", type=Path, help="log of single requests, gzipped CSV")
    parser.add_argument("--cross-validate", action="store_true")
    parser.add_argument("--write-docs", action="store_true")
    chosen = parser.parse_args()
    catalog = load_catalog()
    found = validate(chosen.points, catalog)
    reasons: dict[str, int] = defaultdict(int)
    for _, why in found.skipped:
        reasons[why] += 1
    sections = [
        ("By GPU", by(found.rows, lambda row: row.gpu, "GPU")),
        ("By format", by(found.rows, lambda row: row.weights, "format")),
        ("By load", by(found.rows, lambda row: row.load, "load")),
        ("By source", by(found.rows, lambda row: row.source, "source")),
        ("Not replayed", "\n".join(f"{count:4d}  {why}" for why, count in sorted(reasons.items(), key=lambda item: -item[1]))),
    ]
    if chosen.log:
        sections.append(("A log of single requests: L40S, vLLM 0.5.5", replay_log(chosen.log, catalog)))
    if chosen.cross_validate:
        sections = cross_validation(load_points(chosen.points), catalog) + sections
    for title, part in sections:
        print(f"{title}\n{part}\n")
    if chosen.write_docs:
        write_docs(sections)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
