"""Mutated scenarios, logs, benchmark files and plans through their readers: counts what was read, refused, slow, and what ended otherwise.

    python -m benchmarks.hostile [--scenarios 20000] [--logs 10000] [--benchmarks 5000] [--plans 2000] [--first 0]

Each input is a good one with a few bytes, words or values changed. Exit code 1 where a reader raised anything but an InputError, or took
more than 20 seconds.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from optimize.simulate.saved_plan import read_plan
from sim.calibration.readers.read_benchmark import read_benchmark
from sim.errors import InputError
from sim.scenario.read.load import load_scenario
from sim.traffic.readers.read import read_any

ROOT = Path(__file__).resolve().parents[1]
SLOW_S = 20.0
WORDS = (
    *("", "0", "-1", "1e999", "nan", ".inf", "9" * 40, "9" * 5000, "null", "true", "[]", "{}", "[x]", "{a: b}", "&a [*a]"),
    *('"', "'", "\n", "\r", "\t", "\0", "\ud800", "é", "=1+1", "../../etc/passwd", "/dev/zero", "x" * 300, "- " * 40),
    *("2026-13-45", "1e-300", "!!python/name:os.system"),
)  # fmt: skip
LOG = "arrival_s,input_tokens,output_tokens\n" + "".join(f"{k / 3:.3f},{100 + k},{20 + k % 7}\n" for k in range(40))
LITELLM = "".join(
    json.dumps({"startTime": f"2026-11-30T10:00:{k:02d}Z", "endTime": f"2026-11-30T10:01:{k:02d}Z", "model": "gpt-4.1",
                "prompt_tokens": 9 + k, "completion_tokens": 5, "total_tokens": 14 + k, "spend": 0.01}) + "\n"
    for k in range(20)
)  # fmt: skip
RESULT = json.dumps({
    "completed": 3, "total_input_tokens": 30, "total_output_tokens": 12, "output_throughput": 5.0, "mean_ttft_ms": 30.0,
    "mean_tpot_ms": 9.0, "request_rate": "inf", "max_concurrency": 2, "input_lens": [10, 10, 10], "output_lens": [4, 4, 4],
    "ttfts": [0.1, 0.1, 0.1],
    "itls": [[0.01, 0.01, 0.01]] * 3, "start_times": [0.0, 0.1, 0.2], "errors": ["", "", ""],
})  # fmt: skip
PLAN = json.dumps(
    {"schema": "servemix.plan/1", "scenario": "a", "status": "met", "cost": {"per_month": 1.5, "lines": []}, "fleet": [], "relays": []}
)


def mutated(text: str, rng: random.Random) -> bytes:
    """`text` with one to four changes: a word in place of a piece, a piece twice, gone, or moved, or single bytes."""
    for _ in range(rng.randint(1, 4)):
        at, length = rng.randrange(len(text) + 1), rng.choice((1, 2, 5, 20, 200))
        piece = text[at : at + length]
        change = rng.choice(("word", "twice", "gone", "moved", "value"))
        if change == "value":  # what stands behind a colon or comma
            at = max(text.find(mark, at) for mark in ":,") + 1
            end = min([end for mark in ",\n}]" if (end := text.find(mark, at)) >= 0] or [len(text)])
            text = text[:at] + " " + rng.choice(WORDS) + text[end:]
        elif change == "word":
            text = text[:at] + rng.choice(WORDS) + text[at + length :]
        elif change == "twice":
            text = text[:at] + piece * rng.choice((2, 3, 50)) + text[at + length :]
        else:
            rest = text[:at] + text[at + length :]
            there = rng.randrange(len(rest) + 1) if change == "moved" else 0
            text = rest[:there] + piece + rest[there:] if change == "moved" else rest
    raw = bytearray(text.encode("utf-8", "surrogatepass"))
    if raw and rng.random() < 0.2:
        raw[rng.randrange(len(raw))] = rng.randrange(256)
    return bytes(raw)


def play(name: str, goods: list[tuple[str, str]], read: Callable[[Path], object], count: int, first: int, folder: Path) -> int:
    """Reads `count` mutations; prints a line of counts, and each fault with its number. The number of faults."""
    seen: Counter[str] = Counter()
    slowest_s = 0.0
    for number in range(first, first + count):
        rng = random.Random(f"{name} {number}")
        suffix, good = rng.choice(goods)
        path = folder / f"{name}{suffix}"
        path.write_bytes(mutated(good, rng))
        started_s = time.perf_counter()
        try:
            read(path)
            seen["read"] += 1
        except InputError:
            seen["refused"] += 1
        except Exception:
            seen["faults"] += 1
            print(f"{name} {number}: {traceback.format_exc(limit=-2)}", flush=True)
        took_s = time.perf_counter() - started_s
        slowest_s = max(slowest_s, took_s)
        seen["slow"] += took_s > SLOW_S
    print(
        f"{name}: {count:,} inputs, {seen['read']:,} read, {seen['refused']:,} refused, {seen['faults']} faults, slowest {slowest_s:.2f} s",
        flush=True,
    )
    return seen["faults"] + seen["slow"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, count in (("scenarios", 20_000), ("logs", 10_000), ("benchmarks", 5_000), ("plans", 2_000)):
        parser.add_argument(f"--{name}", type=int, default=count)
    parser.add_argument("--first", type=int, default=0, metavar="NUMBER")
    given = parser.parse_args()
    scenarios = [
        (".yaml", path.read_text(encoding="utf-8")) for path in sorted((ROOT / "scenarios").glob("*.yaml")) if path.stat().st_size < 4000
    ]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        faults = play("scenarios", scenarios, load_scenario, given.scenarios, given.first, folder)
        faults += play("logs", [(".csv", LOG), (".jsonl", LITELLM)], read_any, given.logs, given.first, folder)
        faults += play("benchmarks", [(".json", RESULT)], read_benchmark, given.benchmarks, given.first, folder)
        faults += play("plans", [(".json", PLAN)], read_plan, given.plans, given.first, folder)
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
