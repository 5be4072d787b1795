"""What a plan was made from: hashes of every input, versions, and what came out, so that it can be made again and compared."""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
import platform
import shlex
from pathlib import Path
from typing import Any

from optimize.money.assumptions import FILE
from sim.errors import InputError
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
        return _hashed(path.read_bytes())
    except OSError:
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
                found[relative.as_posix()] = path.read_bytes()
        except (OSError, ValueError):
            continue
    return found


def read_manifest(folder: Path) -> Json:
    """The manifest in a results folder; InputError when there is none that can be read."""
    path = folder / NAME if folder.is_dir() else folder
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}; name a folder that `optimize --out DIR` wrote") from None
    except (UnicodeDecodeError, ValueError, RecursionError):
        raise InputError(f"{path}: not JSON; name a folder that `optimize --out DIR` wrote") from None
    if not isinstance(value, dict) or value.get("schema") != SCHEMA:
        raise InputError(f'{path}: schema: is not "{SCHEMA}"; name a folder that `optimize --out DIR` wrote')
    missing = [key for key in ("scenario", "options", "inputs", "catalog", "software", "result", "figures") if key not in value]
    if missing:
        raise InputError(f"{path}: {', '.join(missing)} missing; the file is torn: make the plan again with `optimize`")
    return value
