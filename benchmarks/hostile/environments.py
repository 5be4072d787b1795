"""Every command where the terminal, the code page, the disk or the cache is not what it should be: the exit code stays as documented.

    python -m benchmarks.hostile.environments [--verbs compare,check] [--only ascii,full_disk]

Exit code 1 where a command ended with another code than it should, a traceback, or, where only the look of the world changed, with
another answer. The verbs are those of the program; a test fails where one has no line here.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
NOWHERE = "/proc/nowhere/cache"  # a folder that not even root can make
FLEET = "aws.g6e.xlarge/llama-3.1-8b/fp8=1"
SLOWLY = "--set traffic.rate_rps=0.2"
POINTS = "scenarios/measured/l4_qwen2.5-7b.csv"
METRICS = "scenarios/metrics"
VERBS = {  # words of each verb; A is a results folder, OUT what the verb writes
    "optimize": "scenarios/melange.yaml",
    "simulate": f"scenarios/two_offers.yaml {SLOWLY} --fleet {FLEET}",
    "whatif": "scenarios/melange.yaml --vary traffic.rate_rps=5,80 --jobs 1",
    "decide": "scenarios/melange.yaml",
    "new": "mine --from-bill 42000 --model gpt-4.1 --users 1e6 --out OUT/mine.yaml --force",
    "check": "scenarios/two_offers.yaml",
    "compare": "A A",
    "rerun": "A --jobs 1",
    "deploy": "A/plan.json --out OUT",
    "track": f"A/plan.json --begin {METRICS}_begin.txt --end {METRICS}_end.txt --until 2026-12-01T12:00",
    "explain": "A/plan.json --why-not h100",
    "validate": POINTS,
    "calibrate": f"{POINTS} --gpu l4 --model qwen2.5-7b",
    "probe": "--from-log scenarios/gateway_calls.csv",
    "catalog show": "gpus",
    "catalog refresh": "--on 2026-11-30",
    "estimate training": "--params 7e9 --tokens 1e11",
    "estimate serving": "--model llama-3.1-8b --gpu l4",
    "estimate compare": "--model llama-3.2-3b --users 10000",
    "estimate rules": "",
}
WRITES = {  # what makes a verb write, where it does not in any case
    **dict.fromkeys(("optimize", "simulate", "whatif", "probe"), "--out OUT"),
    "calibrate": "--out OUT/calibration.yaml",
    **dict.fromkeys(("new", "deploy"), ""),
}


@dataclass(frozen=True)
class World:
    """Where a command runs. `same`: its answer is that of the plain world; `code`: its exit code from the plain one's."""

    variables: dict[str, str] = field(default_factory=dict)
    redirected: str = ""
    same: bool = False
    code: Callable[[int], int] = lambda plain: plain
    writes: bool = False
    file_bytes: int | None = None


WORLDS = {
    "lang_c": World({"LANG": "C", "LC_ALL": "C"}),
    "ascii": World({"PYTHONIOENCODING": "ascii"}),
    "cp1252": World({"PYTHONIOENCODING": "cp1252"}),
    "width_40": World({"COLUMNS": "40"}),
    "width_200": World({"COLUMNS": "200"}),
    "no_cache": World({"SERVEMIX_CACHE_DIR": NOWHERE}, same=True),
    "closed_stdout": World(redirected=">&-"),
    "closed_stderr": World(redirected="2>&-", same=True),
    "full_stdout": World(redirected=">/dev/full", code=lambda plain: 2),  # an answer that cannot be written, whatever it says
    "full_stderr": World(redirected="2>/dev/full", same=True),
    "full_disk": World(writes=True, file_bytes=512, code=lambda plain: 2),
}


def ran(verb: str, world: World, place: Path) -> subprocess.CompletedProcess[bytes]:
    """The verb, in that world; `place` holds the results folder A."""
    out = tempfile.mkdtemp(dir=place)
    words = f"{verb} {VERBS[verb]} {WRITES.get(verb, '') if world.writes else ''}".replace("OUT", out)
    words = " ".join(str(place / word) if word == "A" or word.startswith("A/") else word for word in words.split())
    there = os.environ | {"SERVEMIX_CACHE_DIR": str(place / "cache"), "PYTHONPATH": str(ROOT)} | world.variables

    def limit() -> None:
        if world.file_bytes is not None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (world.file_bytes, world.file_bytes))

    how: dict[str, Any] = {"cwd": ROOT, "env": there, "capture_output": True, "timeout": 900, "preexec_fn": limit}
    found = subprocess.run(["sh", "-c", f'exec "{sys.executable}" cli.py {words} {world.redirected}'], check=False, **how)
    found.stdout = found.stdout.replace(out.encode(), b"OUT")
    return found


def faults_of(verb: str, name: str, place: Path, plain: subprocess.CompletedProcess[bytes]) -> list[str]:
    """What a verb did wrong in the world of that name."""
    world = WORLDS[name]
    found = ran(verb, world, place)
    wanted = world.code(plain.returncode)
    said = found.stderr.decode(errors="replace")
    faults = [] if found.returncode == wanted else [f"exit code {found.returncode}, not {wanted}: {said[-800:]}"]
    if b"Traceback" in found.stderr + found.stdout or b"Exception ignored" in found.stderr:
        faults.append(said[-1500:])
    if world.same and found.stdout != plain.stdout:
        faults.append("another answer")
    return faults


def verbs_of_the_program() -> list[str]:
    """Every verb, those of groups with their group."""
    import typer.main

    import cli

    top: Any = typer.main.get_command(cli.app)
    found = []
    for name, verb in top.commands.items():
        inner = getattr(verb, "commands", None)
        found += [name] if inner is None else [f"{name} {each}" for each in inner]
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--verbs", default=",".join(verb for verb in verbs_of_the_program()))
    parser.add_argument("--only", default=",".join(WORLDS), help=", ".join(WORLDS))
    given = parser.parse_args()
    runs = wrong = 0
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        made = [sys.executable, "cli.py", "optimize", "scenarios/two_offers.yaml", "--quiet", "--out", str(place / "A")]
        subprocess.run(made, cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
        for verb in given.verbs.split(","):
            plain = ran(verb, World(), place)
            for name in given.only.split(","):
                if WORLDS[name].writes and verb not in WRITES:
                    continue
                faults = faults_of(verb, name, place, plain)
                runs, wrong = runs + 1, wrong + bool(faults)
                for fault in faults:
                    print(f"{verb}, {name}: {fault}", flush=True)
            print(f"{verb}: exit {plain.returncode}", flush=True)
    print(f"{runs} runs of {len(given.verbs.split(','))} verbs, {wrong} with a fault")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
