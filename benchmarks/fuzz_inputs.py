"""Mutated logs and benchmark files: no traceback, and no silent loss of more than 1 % of the rows.

    python -m benchmarks.fuzz_inputs [--files 5000] [--seed 1]

Everything happens in this process, on small files of every format that is read. A file may be refused with one message; a file that is read
must account for its rows: those that are lost beyond 1 % are named in the summary or the notes, which `new`, `check` and a plan print.
"""

from __future__ import annotations

import argparse
import gzip
import json
import tempfile
import time
import traceback
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

from sim.calibration.readers.read_benchmark import read_benchmark
from sim.errors import InputError
from sim.traffic.readers import read_any
from tests.traffic.log_samples import SAMPLES
from tests.traffic.test_readers_fuzz import EXPORTS, damaged

ROWS = [(1.5 + 2.25 * k, 900 + k, 5 + k % 9) for k in range(300)]
LOST = 0.01
WORDS: tuple[Any, ...] = (None, "", "NULL", -1, 1e400, float("nan"), "12ms", [], {}, True, 10**30, "\u2028")
CHATS = [{"conversations": [{"from": "human", "value": "x" * 40}, {"from": "gpt", "value": "y" * 80}]} for _ in range(300)]
TURNS = [{"session_id": f"s{k // 3}", "delay": 500, "input_length": 90 + k, "output_length": 9} for k in range(300)]


def log_texts() -> list[str]:
    """A file of every log and export format."""
    lines = ["\n".join(map(json.dumps, rows)) + "\n" for rows in (CHATS, TURNS)]
    return [*(sample.text(ROWS) for sample in SAMPLES), *EXPORTS, *lines]


def benchmark_texts() -> list[str]:
    """A file of every benchmark format."""
    point = {"tp": 1, "conc": 8, "isl": 100, "osl": 50, "output_tput_per_gpu": 500.0, "median_ttft": 0.2, "median_tpot": 0.01}
    vllm = {
        "completed": 40, "total_input_tokens": 20_000, "total_output_tokens": 8_000, "request_rate": 2.0, "output_throughput": 300.0,
        "request_throughput": 2.0, "duration": 20.0, "mean_ttft_ms": 90.0, "mean_tpot_ms": 12.0, "max_concurrency": 8,
    }  # fmt: skip
    spread = {"mean": 100.0, "percentiles": {"p50": 90.0, "p95": 150.0}, "min": 10.0, "max": 200.0, "count": 40}
    names = ("prompt_token_count", "output_token_count", "inter_token_latency_ms", "time_to_first_token_ms", "output_tokens_per_second")
    metrics: dict[str, Any] = {name: {"successful": spread} for name in names} | {"request_totals": {"successful": 40}}
    guide = {"benchmarks": [{"metrics": metrics, "config": {"strategy": {"type_": "concurrent", "streams": 8}}}]}
    record = {
        "metadata": {"request_start_ns": 10**18, "benchmark_phase": "profiling"},
        "metrics": {
            "time_to_first_token": {"value": 90.0, "unit": "ms"}, "request_latency": {"value": 900.0, "unit": "ms"},
            "input_sequence_length": {"value": 500, "unit": "tokens"}, "output_sequence_length": {"value": 90, "unit": "tokens"},
        },
    }  # fmt: skip
    return [*map(json.dumps, (point, vllm, guide)), "\n".join([json.dumps(record)] * 30)]


def changed(text: str, rng: np.random.Generator) -> bytes:
    """One value of a JSON file, or one place of its bytes, is something else."""
    try:
        value = json.loads(text)
    except ValueError:
        return damaged(text, rng)
    if rng.random() < 0.4:
        return damaged(text, rng)
    holder, steps = value, 0
    while isinstance(holder, dict | list) and holder and steps < 8:
        keys = list(holder) if isinstance(holder, dict) else list(range(len(holder)))
        key = keys[int(rng.integers(len(keys)))]
        below = holder[key]
        if not isinstance(below, dict | list) or rng.random() < 0.25:
            if isinstance(holder, dict) and rng.random() < 0.3:
                del holder[key]
            else:
                holder[key] = WORDS[int(rng.integers(len(WORDS)))]
            break
        holder, steps = below, steps + 1
    return json.dumps(value).encode("utf-8", "backslashreplace")


def rows_in(data: bytes) -> int:
    """Lines of a file of lines that hold something, without a header; 0 where a document is one line."""
    plain = gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data
    lines = [line for line in plain.split(b"\n") if line.strip()]
    return len(lines) - (0 if plain.lstrip()[:1] in (b"{", b"[") else 1) if len(lines) > 100 else 0


def fault_of(path: Path, data: bytes, benchmark: bool) -> tuple[str, str]:
    """("", outcome) of a file that is answered well, else the fault and its trace."""
    path.write_bytes(data)
    try:
        if benchmark:
            read_benchmark(path, 8)
            return "", "read"
        found = read_any(path)
    except InputError:
        return "", "refused"
    except Exception as error:  # what is looked for
        return type(error).__name__, traceback.format_exc()
    said, rows = " ".join([found.summary(), *found.notes]), rows_in(data)
    if found.read - found.kept != sum(found.dropped.values()):
        return "rows not accounted for", said
    if rows and found.read < (1 - LOST) * rows and "quoted cells" not in said:
        return f"{rows - found.read} of {rows} rows lost in silence", said
    return "", "read"


def main() -> None:
    """Runs the files and prints outcomes; exit code 1 where there is a fault."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", type=int, default=5000)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    texts = [(text, False) for text in log_texts()] + [(text, True) for text in benchmark_texts()] * 3
    rng, outcomes, faults = np.random.default_rng(given.seed), Counter[str](), 0
    start_s = time.process_time()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "file.json"
        for k in range(given.files):
            text, benchmark = texts[k % len(texts)]
            data = changed(text, rng) if text[:1] in "{[" else damaged(text, rng)
            fault, told = fault_of(path, data, benchmark)
            outcomes["fault" if fault else told] += 1
            if fault:
                faults += 1
                print(f"file {k} ({'benchmark' if benchmark else 'log'}): {fault}\n{told}")
    print(f"{given.files} files of {len(texts)} kinds, seed {given.seed}: {dict(outcomes)}, {time.process_time() - start_s:.1f} CPU s")
    raise SystemExit(1 if faults else 0)


if __name__ == "__main__":
    main()
