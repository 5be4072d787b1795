"""Outcomes on disk, one file a point, named by its content: what a killed run has finished is found again."""

from __future__ import annotations

import json
import math
from dataclasses import asdict
from pathlib import Path

from optimize.report.write import check_folder, write_bytes
from optimize.whatif.records import Outcome

FOLDER = "points"
UNFINISHED = ("failed", "bad_input", "")


class Kept:
    """The outcomes of a results folder; without a folder, nothing is kept. Errors are not kept: the next run tries them again."""

    def __init__(self, out: Path | None) -> None:
        self.folder = None if out is None else out / FOLDER
        if self.folder is not None:
            check_folder(self.folder)

    def get(self, key: str) -> Outcome | None:
        """The outcome of an earlier run; None where there is none, or none that can be read."""
        if self.folder is None:
            return None
        try:
            value = json.loads((self.folder / f"{key}.json").read_text(encoding="utf-8"))
            row, cpu_s, peak_mb, worker = value["row"], float(value["cpu_s"]), float(value["peak_mb"]), int(value.get("worker", 0))
        except (OSError, ValueError, KeyError, TypeError):
            return None
        if not isinstance(row, dict) or row.get("status", "") in UNFINISHED or not math.isfinite(cpu_s):
            return None
        return Outcome(row, cpu_s, peak_mb, kept=True, worker=worker)

    def put(self, key: str, outcome: Outcome) -> None:
        """Writes a finished outcome in one step: a kill leaves the whole file or none."""
        if self.folder is not None and outcome.status not in UNFINISHED:
            value = asdict(outcome)
            value.pop("kept")
            write_bytes(self.folder / f"{key}.json", (json.dumps(value, indent=1, sort_keys=True) + "\n").encode())
