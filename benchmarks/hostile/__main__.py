"""Mutated files and words through the commands that read them.

    python -m benchmarks.hostile [--only scenarios,logs] [--share 0.01] [--first 0]

Each input is a good one with a few bytes, words or values changed; a command of this process reads it, in forked processes of 250
cases. Exit code 1 where a command ended with a traceback or an exit code that no file should cause, took more than 20 CPU seconds,
or where a process held more than 1 GB.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from pathlib import Path

from benchmarks.hostile.play import play
from benchmarks.hostile.subjects import KINDS, a_plan, small_scenarios
from sim.engine.warm import warm_up


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default=",".join(KINDS), metavar="KIND,...", help=", ".join(KINDS))
    parser.add_argument("--share", type=float, default=1.0, help="of the counts")
    parser.add_argument("--first", type=int, default=0, metavar="NUMBER")
    given = parser.parse_args()
    fine = True
    with tempfile.TemporaryDirectory() as place:
        os.environ["SERVEMIX_CACHE_DIR"] = str(Path(place) / "cache")
        os.chdir(place)
        warm_up(print)  # else the first case that simulates compiles the kernel, which takes as long as a case may
        small_scenarios()
        a_plan()
        for kind in given.only.split(","):
            make, count = KINDS[kind]
            found = play(kind, make, range(given.first, given.first + max(1, round(count * given.share))))
            print(found.line(), flush=True)
            fine &= found.fine
    sys.exit(0 if fine else 1)


if __name__ == "__main__":
    main()
