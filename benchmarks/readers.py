"""How fast logs are read, in rows per CPU second: `python -m benchmarks.readers [ROWS]`."""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from sim.traffic.readers import read_log
from tests.traffic.log_samples import SAMPLES, Sample


def write_rows(sample: Sample, path: Path, count: int) -> None:
    """`count` requests in the format of `sample`, a hundred a second."""
    rng = np.random.default_rng(1)
    times = np.round(np.cumsum(rng.exponential(0.01, count)), 4)
    inputs, outputs = rng.integers(600, 4000, count), rng.integers(1, 500, count)
    with path.open("w") as text:
        if sample.header:
            text.write(sample.header + "\n")
        for k, (t, i, o) in enumerate(zip(times.tolist(), inputs.tolist(), outputs.tolist(), strict=True)):
            text.write(sample.row(t, i, o, k) + "\n")


def timed(sample: Sample, path: Path, count: int) -> tuple[float, int]:
    """Rows per CPU second, and rows that were kept."""
    write_rows(sample, path, count)
    begin = time.process_time()
    kept = read_log(path).kept
    return count / (time.process_time() - begin), kept


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    print(f"{'format':28} {'kind':5} rows per CPU second ({count:,} rows)")
    with tempfile.TemporaryDirectory() as folder:
        for sample in SAMPLES:
            rate, kept = timed(sample, Path(folder) / "log", count)
            print(f"{sample.name:28} {'CSV' if sample.header else 'JSON':5} {rate:12,.0f}  {kept:,} kept")


if __name__ == "__main__":
    main()
