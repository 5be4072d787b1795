"""What a plan was made from: hashes of every input, versions, and what came out, so that it can be made again and compared."""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
import os
import platform
import shlex
from pathlib import Path
from typing import Any

from optimize.money.assumptions import FILE
from sim.errors import InputError
from sim.forms import MAYBE_TEXT, unlike
from sim.named_files import read_bytes, read_json, sha256_of
from sim.scenario.scenario import LogTraffic, Scenario
from sim.version import VERSION

FINANCE_FILE = FILE
SCHEMA = "servemix.manifest/1"
NAME = "manifest.json"
BRIEF = "brief"
COPIES = "inputs"
COPIED_BYTES = 5_000_000  # larger inputs (request logs) are only hashed
SOFTWARE = ("numpy", "scipy", "numba", "highspy", "pulp", "simpy")
Json = dict[str, Any]


def manifest(scenario: Scenario, plan: Json, explain: str = BRIEF) -> Json:
    """The manifest of `plan` (as written to plan.json) made from `scenario`; no clock and no name of a machine: same run, same bytes.

    `explain` is the option of that name, which adds to what a plan says.
    """
    return {
        "schema": SCHEMA,
        "command": command(scenario, explain),
        "options": {"explain": explain},
        "scenario": {
            "path": scenario.path.as_posix(),
            "name": scenario.name,
            "digest": scenario.digest,
            "seed": scenario.seed,
            "overrides": list(scenario.overrides),
        },
        "inputs": [{"path": path.as_posix(), **fingerprint_of(scenario, path)} for path in input_files(scenario)],
        "catalog": {"date": scenario.catalog.date, "digest": scenario.catalog.digest},
        "figures": {"file": FINANCE_FILE.name, **fingerprint(FINANCE_FILE)},
        "software": software(),
        "result": {
            "plan_sha256": hashlib.sha256(plan_bytes(plan)).hexdigest(),
            "status": plan["status"],
            "per_month": plan["cost"]["per_month"],
            "currency": plan["cost"]["currency"],
        },
    }


def command(scenario: Scenario, explain: str = BRIEF) -> str:
    """The command line that makes the plan again."""
    sets = [part for text in scenario.overrides for part in ("--set", text)]
    more = [] if explain == BRIEF else ["--explain", explain]
    path = scenario.path if scenario.text is None else Path(COPIES, scenario.path.name)  # the text is kept in the results folder alone
    return shlex.join(["servemix", "optimize", path.as_posix(), "--seed", str(scenario.seed), *sets, *more])


def plan_bytes(plan: Json) -> bytes:
    """plan.json as it is written."""
    return (json.dumps(plan, indent=2, allow_nan=False) + "\n").encode()


def input_files(scenario: Scenario) -> list[Path]:
    """The scenario and the files that it names."""
    files = [scenario.path]
    if scenario.measured_capacity is not None:
        files.append(scenario.measured_capacity)
    if isinstance(scenario.traffic, LogTraffic):
        files.append(scenario.traffic.log)
    return files


def fingerprint(path: Path) -> Json:
    """SHA-256 and size of a file; None for both where it cannot be read."""
    try:
        return {"sha256": sha256_of(path, "an input"), "bytes": path.stat().st_size}
    except (InputError, OSError):
        return {"sha256": None, "bytes": None}


def fingerprint_of(scenario: Scenario, path: Path) -> Json:
    """The same for an input of `scenario`, which may itself be no file."""
    return fingerprint(path) if scenario.text is None or path != scenario.path else _hashed(scenario.text.text.encode())


def _hashed(content: bytes) -> Json:
    return {"sha256": hashlib.sha256(content).hexdigest(), "bytes": len(content)}


def software() -> dict[str, str]:
    """Versions of what decides a number."""
    versions = {"python": platform.python_version(), "servemix": VERSION}
    for name in SOFTWARE:
        try:
            versions[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            versions[name] = "not installed as a package"
    return versions


def copies(scenario: Scenario) -> dict[str, bytes]:
    """Relative name -> content of inputs that are small and stand in or below the scenario's folder, for the results folder."""
    folder, found = scenario.path.parent, {}
    if scenario.text is not None:
        found[scenario.path.name] = scenario.text.text.encode()
    for path in input_files(scenario):
        try:
            relative = path.relative_to(folder)
            if ".." not in relative.parts and path.stat().st_size <= COPIED_BYTES:
                found[relative.as_posix()] = read_bytes(path, "an input", COPIED_BYTES)
        except (InputError, OSError, ValueError):
            continue
    return found


def read_manifest(folder: Path) -> Json:
    """The manifest in a results folder; InputError when there is none that can be read."""
    path = folder / NAME if os.path.isdir(folder) else folder
    value = read_json(path, "a folder that `optimize --out DIR` wrote", COPIED_BYTES)
    if not isinstance(value, dict) or value.get("schema") != SCHEMA:
        raise InputError(f'{path}: schema: is not "{SCHEMA}"; name a folder that `optimize --out DIR` wrote')
    problems = [f"{path}: {problem}" for problem in unlike(value, FORM)]
    if problems:
        raise InputError([*problems, f"{path}: the file is torn or edited: make the plan again with `optimize`"])
    return value


FORM: Json = {  # what a rerun reads of a manifest: a type, a mapping of keys, or a list of one form
    "scenario": {"path": str, "name": str, "digest": str, "seed": int, "overrides": [str]},
    "options": {"explain": str},
    "inputs": [{"path": str, "sha256": MAYBE_TEXT}],
    "catalog": {"date": str, "digest": str},
    "figures": {"sha256": MAYBE_TEXT},
    "software": dict,
    "result": {"plan_sha256": str},
}
