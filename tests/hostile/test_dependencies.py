"""The dependencies that docs/explanation/safety.md lists: all that users get, under the licences that their metadata state."""

from __future__ import annotations

import importlib.metadata
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "explanation" / "safety.md"
EXTRAS = {"openai", "dask", "distributed", "pyarrow", "genai-prices", "litellm"}


def plain(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def listed() -> dict[str, str]:
    """Package -> licence, as the page lists them."""
    rows = re.findall(r"^\| ([^|]+) \| ([^|]+) \| [^|]+ \|$", PAGE.read_text("utf-8").split("## Dependencies")[1], re.MULTILINE)
    return {plain(re.sub(r"\(.*\)", "", name).strip()): licence.strip() for names, licence in rows[1:] for name in names.split(", ")}


def stated(name: str) -> str:
    """The licence that the metadata of an installed package state: an expression, else classifiers, else the first line of its text."""
    about = importlib.metadata.metadata(name)
    kinds = [each.split("::")[-1].strip() for each in about.get_all("Classifier") or () if each.startswith("License")]
    return about.get("License-Expression") or ", ".join(kinds) or str(about.get("License", "")).split("\n")[0]


def required() -> set[str]:
    return {plain(line.split("==")[0]) for line in (ROOT / "requirements.txt").read_text("utf-8").splitlines() if "==" in line}


def test_every_requirement_and_extra_is_listed_and_nothing_else() -> None:
    assert set(listed()) == required() | EXTRAS


@pytest.mark.parametrize("name", sorted(listed()))
def test_the_licence_is_that_of_the_metadata(name: str) -> None:
    try:
        assert listed()[name] == stated(name)
    except importlib.metadata.PackageNotFoundError:
        assert name in EXTRAS
        pytest.skip("an extra that is not installed")
