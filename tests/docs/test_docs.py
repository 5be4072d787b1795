"""What the documentation shows is what happens: commands, outputs, code and links."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted([ROOT / "README.md", ROOT / "CHANGELOG.md", *(ROOT / "docs").rglob("*.md")])
EXPECTED_EXIT = {"budget.per_month=100": 3}


def blocks(page: Path, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", page.read_text(encoding="utf-8"), flags=re.S | re.M)


def shown_lines(text: str) -> list[str]:
    return [line for line in text.splitlines() if line.strip() and line != "..."]


@pytest.fixture(scope="module")
def workplace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that looks like a fresh checkout to the commands."""
    folder = tmp_path_factory.mktemp("docs")
    shutil.copytree(ROOT / "scenarios", folder / "scenarios")
    return folder


def test_the_tutorial_shows_what_its_commands_print(workplace: Path) -> None:
    found = blocks(ROOT / "docs/tutorial/first-plan.md", "console")
    assert len(found) == 5
    for block in found:
        command, _, output = block.removeprefix("$ ").partition("\n")
        line = command.replace("python cli.py", f'"{sys.executable}" "{ROOT / "cli.py"}"')
        run = subprocess.run(line, shell=True, cwd=workplace, capture_output=True, text=True, timeout=120, check=False)
        code = next((code for mark, code in EXPECTED_EXIT.items() if mark in command), 0)
        assert run.returncode == code, run.stderr
        for shown in shown_lines(output):
            assert shown.removesuffix(" ...") in run.stdout, f"{command!r} did not print {shown!r}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_python_blocks_run(page: Path) -> None:
    for code in blocks(page, "python"):
        exec(compile(code, str(page), "exec"), {"__name__": "docs"})


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_relative_links_resolve(page: Path) -> None:
    for target in re.findall(r"\]\((?!https?:)([^)#\s]+)", page.read_text(encoding="utf-8")):
        assert (page.parent / target).exists(), f"{page.name} links to {target}, which is not there"


def test_the_readme_names_every_command() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    commands = re.findall(r"^@app\.command.*?\ndef (\w+)\(", (ROOT / "cli.py").read_text(encoding="utf-8"), flags=re.S | re.M)
    assert commands
    assert [name for name in commands if f"`{name} " not in text] == []
