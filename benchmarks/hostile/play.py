"""Commands played within forked processes: what each case ended with, and that none took too long or too much memory."""

from __future__ import annotations

import contextlib
import io
import json
import os
import random
import resource
import select
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import typer.main

import cli

SLOW_S = 20.0  # of CPU time in a case
SILENT_S = 90.0  # of wall time without the end of a case, on a machine that has other work: then its process is ended
MOST_BYTES = 2**30
BATCH = 250  # cases of a process
FINE = (0, 2, 3, 4)  # exit codes that a file can cause

Make = Callable[[random.Random, Path], Sequence[Sequence[str]]]  # writes a case into the folder; the commands that read it


cli.app = typer.main.get_command(cli.app)  # type: ignore[assignment]  # built once, not anew for each case


class TooSlow(BaseException):
    """A case took longer than it may."""


@dataclass
class Played:
    """Counts of a kind of input."""

    name: str
    cases: int = 0
    codes: Counter[int] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)
    slow: list[str] = field(default_factory=list)
    slowest_s: float = 0.0
    most_mb: float = 0.0
    cpu_s: float = 0.0

    @property
    def fine(self) -> bool:
        return not self.faults and not self.slow and self.most_mb * 2**20 <= MOST_BYTES

    def line(self) -> str:
        codes = ", ".join(f"{count:,} exit {code}" for code, count in sorted(self.codes.items()))
        return (
            f"{self.name}: {self.cases:,} inputs; {codes}; {len(self.faults)} faults, {len(self.slow)} over {SLOW_S:.0f} s; "
            f"slowest {self.slowest_s:.2f} CPU s, at most {self.most_mb:,.0f} MB, {self.cpu_s:,.0f} CPU s"
        )


def called(words: Sequence[str]) -> tuple[int, str]:
    """Exit code of a command in this process, and what it said on stderr; a traceback is exit code 1."""
    out, err = io.StringIO(), io.StringIO()
    sys.argv = ["servemix", *words]
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            cli.main()
    except SystemExit as end:
        return (end.code if isinstance(end.code, int) else 1), err.getvalue()
    except Exception:
        return 1, traceback.format_exc(limit=-4)
    return 0, err.getvalue()


def play(name: str, make: Make, numbers: Sequence[int]) -> Played:
    """Plays the cases of those numbers, each drawn by its number alone, and prints every fault with it."""
    found = Played(name)
    left = list(numbers)
    while left:
        done = _batch(name, make, left[:BATCH], found)
        if done < min(BATCH, len(left)):
            found.slow.append(f"{name} {left[done]}: its process ended or was ended")
            print(found.slow[-1], flush=True)
            done += 1
        left = left[done:]
    found.cases = len(numbers)
    return found


def _batch(name: str, make: Make, numbers: Sequence[int], found: Played) -> int:
    """Plays some cases in a process of their own; how many came to an end."""
    ours, theirs = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(ours)
        _child(name, make, numbers, theirs)
    os.close(theirs)
    done, text = 0, b""
    while select.select([ours], [], [], SILENT_S)[0]:
        piece = os.read(ours, 65536)
        if not piece:
            break
        *lines, text = (text + piece).split(b"\n")
        for line in lines:
            done += 1
            _take(json.loads(line), found)
    else:
        os.kill(pid, signal.SIGKILL)
    os.close(ours)
    used = os.wait4(pid, 0)[2]
    found.most_mb = max(found.most_mb, used.ru_maxrss / 1024)
    found.cpu_s += used.ru_utime + used.ru_stime
    return done


def _take(said: dict[str, Any], found: Played) -> None:
    found.codes.update(said["codes"])
    found.slowest_s = max(found.slowest_s, said["cpu_s"])
    for fault in said["faults"]:
        (found.slow if said["slow"] else found.faults).append(fault)
        print(fault, flush=True)


def _child(name: str, make: Make, numbers: Sequence[int], pipe: int) -> None:
    """Never returns; one line of JSON for each case."""
    in_use = int(Path("/proc/self/statm").read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    resource.setrlimit(resource.RLIMIT_AS, (in_use + MOST_BYTES, resource.RLIM_INFINITY))
    signal.signal(signal.SIGPROF, _too_slow)
    with tempfile.TemporaryDirectory() as place, os.fdopen(pipe, "w") as out:
        os.chdir(place)
        for number in numbers:
            print(json.dumps(_case(name, make, number, Path(place))), file=out, flush=True)
    os._exit(0)


def _case(name: str, make: Make, number: int, folder: Path) -> dict[str, Any]:
    rng = random.Random(f"{name} {number}")
    codes, faults, slow = [], [], False
    started_s = time.process_time()
    signal.setitimer(signal.ITIMER_PROF, SLOW_S)
    try:
        for words in make(rng, folder):
            code, said = called(words)
            codes.append(code)
            if code not in FINE or "Traceback" in said:
                faults.append(f"{name} {number}: {' '.join(words)}: exit {code}: {said.strip()[-1500:]}")
            if code != 0:
                break  # what refuses a file spares the commands that would use it
    except TooSlow:
        slow = True
        faults.append(f"{name} {number}: over {SLOW_S:.0f} s; {''.join(traceback.format_exc(limit=-3))}")
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
    return {"codes": codes[:1], "faults": faults, "slow": slow, "cpu_s": time.process_time() - started_s}


def _too_slow(number: int, frame: object) -> None:
    raise TooSlow
