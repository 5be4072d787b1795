"""A stress test on disk, and in the report of the plan that it is of."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from optimize.audit.manifest import read_manifest
from optimize.report.page.stress import BEGIN, stress_figure, with_stress
from optimize.report.terminal.stress import FILE, hardening_table, stress_json, stress_table
from optimize.report.write import check_folder, table_csv, write_bytes
from optimize.simulate.stress_records import Stress
from sim.errors import InputError


def write_stress(stress: Stress, out: Path) -> str:
    """Writes stress.json, stress.csv, figures/stress.png with .csv, and hardening.csv if there is any, into `out`; says where it all is.

    Where `out` holds report.html of the same plan, its section on stress says from now on what came out. Same test, same bytes.
    """
    check_folder(out)
    check_folder(out / "figures")
    said = stress_json(stress)
    write_bytes(out / FILE, (json.dumps(said, indent=2, allow_nan=False) + "\n").encode())
    for each in (stress_table(stress), hardening_table(stress)):
        if each.rows:
            write_bytes(out / f"{each.name}.csv", table_csv(each).encode())
    figure = stress_figure(said)
    write_bytes(out / "figures" / f"{figure.name}.png", figure.png())
    write_bytes(out / "figures" / f"{figure.name}.csv", table_csv(figure.data).encode())
    return f"{out}, and in {out / 'report.html'}" if into_report(said, out) else str(out)


def into_report(said: Mapping[str, Any], out: Path) -> bool:
    """Puts the test into the report of the same plan in `out`; whether there is one."""
    try:
        plan = read_manifest(out)["result"]["plan_sha256"]
        page = (out / "report.html").read_text(encoding="utf-8")
    except (InputError, OSError, KeyError, TypeError, UnicodeDecodeError):
        return False
    if BEGIN not in page or not plan or plan != said["plan_sha256"]:
        return False
    write_bytes(out / "report.html", with_stress(page, said).encode())
    return True
