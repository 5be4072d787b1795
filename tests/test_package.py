"""The package as people install it: a wheel in a clean environment, with the lowest versions that pyproject.toml allows (slow).

Needs a package index; skipped where the environment cannot be made.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tomllib
import venv
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[1]
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
NOT_SOURCE = (".*", "build", "dist", "results", "*.egg-info", "__pycache__")
OFFLINE = ("NewConnectionError", "NameResolutionError", "Temporary failure", "ProxyError", "ReadTimeout", "ConnectTimeout")


def lowest(requirements: list[str]) -> list[str]:
    """Each requirement at its lower bound."""
    found = [re.match(r"([\w.-]+)>=([\w.]+)", text) for text in requirements]
    assert all(found), "every requirement has a lower bound"
    return [f"{bound[1]}=={bound[2]}" for bound in found if bound is not None]


def test_every_requirement_has_a_lower_and_an_upper_bound() -> None:
    requirements: list[str] = PROJECT["dependencies"]
    assert len(lowest(requirements)) == len(requirements) and all("<" in text for text in requirements)


def test_typer_is_new_enough_for_literal_options() -> None:
    (typer,) = [text for text in PROJECT["dependencies"] if text.startswith("typer")]
    assert typer == "typer>=0.19,<1"


@pytest.mark.slow
def test_the_wheel_answers_in_another_folder_with_the_lowest_versions(tmp_path: Path) -> None:
    environment = tmp_path / "env"
    venv.create(environment, with_pip=True)
    folder = environment / ("Scripts" if os.name == "nt" else "bin")
    pins = tmp_path / "pins.txt"
    pins.write_text("\n".join(lowest(PROJECT["dependencies"])) + "\n", encoding="utf-8")
    source = shutil.copytree(ROOT, tmp_path / "source", ignore=shutil.ignore_patterns(*NOT_SOURCE))
    pip = [str(folder / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    made = subprocess.run([*pip, "--constraint", str(pins), str(source)], capture_output=True, text=True, cwd=tmp_path)
    if made.returncode and any(word in made.stderr for word in OFFLINE):
        pytest.skip(f"no package index: {made.stderr.strip().splitlines()[-1]}")
    assert made.returncode == 0, made.stderr

    def servemix(*words: str) -> str:
        run = subprocess.run([str(folder / "servemix"), *words], capture_output=True, text=True, encoding="utf-8", cwd=tmp_path)
        assert run.returncode == 0 and "Traceback" not in run.stderr, run.stderr
        return run.stdout

    servemix("new", "--from-sample", "two_offers")
    again = [sys.executable, str(ROOT / "cli.py"), "optimize", str(tmp_path / "two_offers.yaml"), "--json"]
    here = subprocess.run(again, capture_output=True, text=True, encoding="utf-8", check=True).stdout
    assert servemix("optimize", "two_offers.yaml", "--json") == here
    assert "Example: servemix optimize two_offers.yaml" in " ".join(servemix("optimize", "--help").split())
    servemix("optimize", "two_offers.yaml", "--out", "out", "--quiet")
    assert (tmp_path / "out" / "report.xlsx").is_file() and (tmp_path / "out" / "report.html").is_file()
