"""Writes into the pages what takes too long for a test to run: `python -m benchmarks.outputs [NAME ...]`.

A block `<!-- output: NAME OPTIONS -->` of a page shows what `optimize scenarios/NAME.yaml OPTIONS` prints. A block `<!-- excerpt: PAGE -->`
of the README shows the verdict and the cost of that page; a test holds the two together. A plan that is missed or over budget is shown too.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
README = ROOT / "README.md"
OUTPUT = re.compile(r"(<!-- output: (\w+)( [^>]*)? -->\n```text\n).*?(```\n<!-- /output -->)", re.S)
ANSWERED = (0, 3, 4)  # exit codes of `optimize` with an answer on the screen: met, no plan, missed
EXCERPT = re.compile(r"(<!-- excerpt: (\S+) -->\n```text\n)(.*?)(```\n<!-- /excerpt -->)", re.S)


def sections(text: str) -> list[str]:
    """Parts of a page for the terminal: each begins with a line at the margin after an empty one.

    >>> sections("name\\n\\nCost\\n  1\\n\\n  2\\n")
    ['name\\n', 'Cost\\n  1\\n\\n  2\\n']
    """
    return [f"{part}\n" for part in re.split(r"\n\n(?=\S)", text.rstrip("\n"))]


def excerpt(page: str) -> str:
    """Of a page with an output, the verdict and the section after it, which is the cost.

    >>> excerpt("```text\\nname\\n\\nMET.  It\\n\\nCost\\n  a 1\\n\\nFleet\\n```\\n")
    'MET.  It\\n\\nCost\\n  a 1\\n'
    """
    found = re.search(r"```text\n(.*?)```", page, re.S)
    assert found is not None, "the page shows no output"
    return "\n".join(sections(found[1])[1:3])


def refresh(page: Path, names: list[str]) -> None:
    """Runs what the page shows and writes it into it."""

    def again(block: re.Match[str]) -> str:
        if names and block[2] not in names:
            return block[0]
        command = [sys.executable, "cli.py", "optimize", f"scenarios/{block[2]}.yaml", *(block[3] or "").split()]
        run = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, encoding="utf-8", check=False)
        if run.returncode not in ANSWERED:
            raise SystemExit(f"{' '.join(command)}: exit code {run.returncode}; the pages after this block are unchanged")
        return block[1] + run.stdout + block[4]

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
