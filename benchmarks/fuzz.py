"""Kernel and plain engine on random cases that no test has run, until the CPU time is spent; says what the cases held.

    python -m benchmarks.fuzz [--cpu-minutes 10] [--first 1000000] [--requests 150]

Each number is four cases: a plain one, one with prefix caches and conversations, one with clients who wait for their answers, one with
priorities. Every other number runs without an event per arrival. Exit code 1 where kernel and oracle differ in one integer.
"""

from __future__ import annotations

import argparse
import itertools
import sys
import time
from collections import Counter
from collections.abc import Iterator

from tests.fuzz.answers import difference, kernel_answer, oracle_answer
from tests.fuzz.random_cases import Case, random_case
from tests.fuzz.random_conversations import caching_case, priority_case, waiting_case

KINDS = {"plain": random_case, "prefix cache": caching_case, "waiting clients": waiting_case, "priorities": priority_case}


def cases(first: int, most_requests: int) -> Iterator[tuple[str, int, Case]]:
    """Kind, number and case, without end."""
    for number in itertools.count(first):
        for kind, make in KINDS.items():
            yield kind, number, make(number, most_requests)


def compare(kind: str, number: int, case: Case, seen: Counter[str]) -> str:
    """Where the answers to `case` differ, empty if nowhere; `seen` counts what it held."""
    oracle = oracle_answer(case)
    seen["cases"] += 1
    seen[kind] += 1
    seen["requests"] += len(case.requests)
    seen["preemptions"] += sum(oracle["preemptions"])
    seen["cached tokens"] += sum(oracle["cached_tokens of targets"])
    seen["steps"] += sum(oracle["steps of targets"])
    return difference(kernel_answer(case, event_per_arrival=number % 2 == 0), oracle)


def main() -> None:
    """Compare, print the differences as they come, and at the end what was compared."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cpu-minutes", type=float, default=10.0)
    parser.add_argument("--first", type=int, default=1_000_000, metavar="NUMBER")
    parser.add_argument("--requests", type=int, default=150, metavar="MOST", help="at most so many in a case")
    arguments = parser.parse_args()
    seen: Counter[str] = Counter()
    differences, end_s = 0, time.process_time() + 60 * arguments.cpu_minutes
    for kind, number, case in cases(arguments.first, arguments.requests):
        if time.process_time() >= end_s:
            break
        if text := compare(kind, number, case, seen):
            differences += 1
            print(f"{kind} {number}: {text}", flush=True)
    print(", ".join(f"{count:,} {name}" for name, count in seen.items()) + f"; {differences} differences")
    sys.exit(1 if differences else 0)


if __name__ == "__main__":
    main()
