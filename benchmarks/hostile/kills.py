"""kill -9 at random moments, then the same command again: same bytes, no half-written file.

    python -m benchmarks.hostile.kills [--moments 50] [--only optimize,whatif_2] [--first 0]

Each command runs once undisturbed; its results are the truth. Then, for each moment, an empty cache and an empty results folder: the
command and all its processes are killed; every results file that stands there has the bytes of the truth; the command runs again to its
end, and stdout and all files have the bytes of the truth. `dask` kills a worker of a cluster while the command goes on; it needs the
extra `cluster`. Exit code 1 where anything differs.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
OF_THE_RUN = ("cpu_s", "peak_mb", "worker")
SLOWLY = ["--set", "traffic.rate_rps=0.2"]  # few requests: the kernel's loading and the reports are most of the time
POINTS = ["whatif", "scenarios/melange.yaml", "--vary", "traffic.rate_rps=5:80:log8", "--out", "OUT"]
COMMANDS = {
    "optimize": ["optimize", "scenarios/two_offers.yaml", *SLOWLY, "--jobs", "2", "--out", "OUT"],
    "measured": ["optimize", "scenarios/melange.yaml", "--out", "OUT"],
    "whatif_1": [*POINTS, "--jobs", "1"],
    "whatif_2": [*POINTS, "--jobs", "2"],
    "simulate": ["simulate", "scenarios/two_offers.yaml", *SLOWLY, "--fleet", "aws.g6e.xlarge/llama-3.1-8b/fp8=1", "--out", "OUT"],
    "dask": [*POINTS, "--cluster", "CLUSTER"],
}


def started(words: Sequence[str], place: Path, cluster: str = "") -> subprocess.Popen[bytes]:
    """The command in a process group of its own, with cache and results below `place`."""
    told = [word.replace("OUT", str(place / "out")).replace("CLUSTER", cluster) for word in words]
    there = os.environ | {"SERVEMIX_CACHE_DIR": str(place / "cache"), "PYTHONPATH": str(ROOT)}
    with (place / "stderr").open("ab") as err:
        run = [sys.executable, str(ROOT / "cli.py"), *told]
        return subprocess.Popen(run, cwd=ROOT, env=there, stdout=subprocess.PIPE, stderr=err, start_new_session=True)


def bytes_in(folder: Path) -> dict[str, str]:
    """Digest of every file below, by its name."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): hashlib.sha256(_lasting(path)).hexdigest() for path in files}


def _lasting(path: Path) -> bytes:
    """The bytes of a file; of a point of a grid without the process that worked it out, its time and its memory."""
    raw = path.read_bytes()
    if path.parent.name != "points":
        return raw
    try:
        point = json.loads(raw)
    except ValueError:
        return raw  # half a file: differs from every whole one
    return json.dumps({key: value for key, value in point.items() if key not in OF_THE_RUN}, sort_keys=True).encode()


def answer_of(run: subprocess.Popen[bytes], place: Path) -> tuple[int, bytes]:
    """Exit code and stdout, the place's own path taken out."""
    said = run.communicate(timeout=1800)[0]
    return run.returncode, said.replace(str(place).encode(), b"PLACE")


def killed(words: Sequence[str], place: Path, after_s: float) -> bool:
    """Whether the command still ran when it was killed with all its processes."""
    run = started(words, place)
    try:
        run.wait(after_s)
    except subprocess.TimeoutExpired:
        os.killpg(run.pid, signal.SIGKILL)
        run.communicate()
        return True
    run.communicate()
    return False


def faults_of(words: Sequence[str], truth: tuple[tuple[int, bytes], dict[str, str]], after_s: float) -> tuple[bool, list[str]]:
    """Whether the kill came before the end, and what differed then or after the second run."""
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        in_time = killed(words, place, after_s)
        half = [f"{file} is not whole" for file, digest in bytes_in(place / "out").items() if truth[1].get(file) != digest]
        again = answer_of(started(words, place), place)
        found = bytes_in(place / "out")
        differs = [f"{file} differs" for file in sorted({*found, *truth[1]}) if found.get(file) != truth[1].get(file)]
        said = (place / "stderr").read_text(encoding="utf-8", errors="replace")
        return in_time, [
            *half,
            *differs,
            *([] if again == truth[0] else [f"exit code {again[0]}, or another answer"]),
            *([said[-1500:]] if "Traceback" in said else []),
        ]


def play(name: str, moments: int, first: int) -> bool:
    """Kills one command at so many moments; prints a line, and every fault with its moment."""
    words = COMMANDS[name]
    with tempfile.TemporaryDirectory() as folder:
        answer_of(started(words, Path(folder)), Path(folder))  # compiles the kernel: no kill should wait for it
    with tempfile.TemporaryDirectory() as folder:
        place, began_s = Path(folder), time.monotonic()
        truth = answer_of(started(words, place), place), bytes_in(place / "out")
        length_s = time.monotonic() - began_s
    in_time = wrong = 0
    for number in range(first, first + moments):
        after_s = random.Random(f"{name} {number}").uniform(0.05, 1.0) * length_s
        while_running, faults = faults_of(words, truth, after_s)
        in_time += while_running
        wrong += bool(faults)
        for fault in faults:
            print(f"{name} {number} at {after_s:.2f} s: {fault}", flush=True)
    files = f"{len(truth[1])} files"
    print(f"{name}: killed at {in_time} of {moments} moments within {length_s:.1f} s, {files}, {wrong} with a fault", flush=True)
    return not wrong


@contextmanager
def cluster(place: Path) -> Iterator[tuple[str, list[subprocess.Popen[bytes]]]]:
    """Address of a Dask scheduler on this machine, and its two workers."""
    address = f"tcp://127.0.0.1:{random.randrange(20_000, 40_000)}"
    how: dict[str, Any] = {"env": os.environ | {"PYTHONPATH": str(ROOT), "SERVEMIX_CACHE_DIR": str(place / "cache")}, "cwd": ROOT}
    how |= {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    scheduler = [sys.executable, "-m", "distributed.cli.dask_scheduler", "--port", address.split(":")[-1], "--no-dashboard"]
    worker = [sys.executable, "-m", "distributed.cli.dask_worker", address, "--nthreads", "1", "--no-dashboard", "--no-nanny"]
    ran = [subprocess.Popen(words, **how) for words in (scheduler, worker, worker)]
    try:
        time.sleep(15)
        yield address, ran[1:]
    finally:
        for each in ran:
            each.kill()
            each.wait()


def play_dask(moments: int, first: int) -> bool:
    """A worker dies while the command runs on the other one; the results are those of one process."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        began_s = time.monotonic()
        code, _ = answer_of(started(COMMANDS["whatif_1"], place), place)
        truth, length_s = bytes_in(place / "out"), time.monotonic() - began_s
    wrong = 0
    for number in range(first, first + moments):
        with tempfile.TemporaryDirectory() as folder:
            place = Path(folder)
            with cluster(place) as (address, workers):
                run = started(COMMANDS["dask"], place, address)
                time.sleep(random.Random(f"dask {number}").uniform(0.2, 1.0) * length_s)
                workers[number % 2].kill()
                found = answer_of(run, place)[0], bytes_in(place / "out")
            differs = [file for file in sorted({*found[1], *truth}) if found[1].get(file) != truth.get(file)]
            if found[0] != code or differs:
                wrong += 1
                print(f"dask {number}: exit code {found[0]}, {', '.join(differs)}: {(place / 'stderr').read_text()[-800:]}", flush=True)
    print(f"dask: a worker killed in {moments} runs, {len(truth)} files, {wrong} with a fault", flush=True)
    return not wrong


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--moments", type=int, default=50)
    parser.add_argument("--only", default=",".join(name for name in COMMANDS if name != "dask"), help=", ".join(COMMANDS))
    parser.add_argument("--first", type=int, default=0, metavar="NUMBER")
    given = parser.parse_args()
    if shutil.disk_usage(tempfile.gettempdir()).free < 2**28:
        sys.exit("no space for results")
    fine = [
        play_dask(given.moments, given.first) if name == "dask" else play(name, given.moments, given.first)
        for name in given.only.split(",")
    ]
    sys.exit(0 if all(fine) else 1)


if __name__ == "__main__":
    main()
