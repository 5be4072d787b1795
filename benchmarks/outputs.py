"""Writes into the pages what takes too long for a test to run: `python -m benchmarks.outputs [NAME ...]`.

A block `<!-- output: NAME -->` of a page shows sections of `optimize scenarios/NAME.yaml`: those whose titles it shows now. A block
`<!-- excerpt: PAGE -->` of the README shows a few lines of that page; a test holds the two together.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
README = ROOT / "README.md"
OUTPUT = re.compile(r"(<!-- output: (\w+) -->\n```text\n)(.*?)(```\n<!-- /output -->)", re.S)
EXCERPT = re.compile(r"(<!-- excerpt: (\S+) -->\n```text\n)(.*?)(```\n<!-- /excerpt -->)", re.S)


def sections(text: str) -> list[tuple[str, str]]:
    """(title, text) of each section of a page for the terminal: a section begins with a line at the margin after an empty one.

    >>> sections("name\\n\\nCost\\n  1\\n\\n  2\\n")
    [('name', 'name\\n'), ('Cost', 'Cost\\n  1\\n\\n  2\\n')]
    """
    parts = re.split(r"\n\n(?=\S)", text.rstrip("\n"))
    return [(part.split("\n")[0], part + "\n") for part in parts]


def shown(printed: str, before: str) -> str:
    """Of what was printed, the head with the verdict and the sections that the page shows now."""
    titles = {title for title, _ in sections(before)[2:]}
    found = sections(printed)
    return "\n".join([text for _, text in found[:2]] + [text for title, text in found[2:] if title in titles])


def excerpt(page: str) -> str:
    """Of a page with an output, the verdict and the monthly cost.

    >>> excerpt("x\\n\\nMET  it\\n\\nMonthly cost\\n  a 1\\n  total 1\\n  bound\\n")
    'MET  it\\n\\nMonthly cost\\n  a 1\\n  total 1\\n'
    """
    found = re.search(r"^(MET|MISSED|UNVERIFIED|OVER BUDGET|INFEASIBLE) .*?^  total.*?$", page, re.S | re.M)
    assert found is not None, "the page shows no verdict with a cost"
    return found[0] + "\n"


def refresh(page: Path, names: list[str]) -> None:
    """Runs what the page shows and writes it into it."""

    def again(block: re.Match[str]) -> str:
        if names and block[2] not in names:
            return block[0]
        command = [sys.executable, "cli.py", "optimize", f"scenarios/{block[2]}.yaml"]
        run = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, encoding="utf-8", check=True)
        return block[1] + shown(run.stdout, block[3]) + block[4]

    page.write_text(OUTPUT.sub(again, page.read_text(encoding="utf-8")), encoding="utf-8")


def refresh_readme() -> None:
    """Brings the excerpt in the README up to date with its page."""

    def again(block: re.Match[str]) -> str:
        return block[1] + excerpt((ROOT / block[2]).read_text(encoding="utf-8")) + block[4]

    README.write_text(EXCERPT.sub(again, README.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    for each in [README, *(ROOT / "docs").rglob("*.md")]:
        if OUTPUT.search(each.read_text(encoding="utf-8")):
            refresh(each, sys.argv[1:])
    refresh_readme()
