"""Answers about a plan for the terminal."""

from __future__ import annotations

from collections.abc import Sequence

from rich.text import Text

from optimize.report.terminal.console import output, screen


def paragraphs(answers: Sequence[str]) -> str:
    """Each answer as a wrapped paragraph, with an empty line between two."""
    console = screen()
    for k, answer in enumerate(answers):
        if k:
            console.print()
        console.print(Text(answer))
    return output(console)
