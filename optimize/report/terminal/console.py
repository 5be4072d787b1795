"""What every screen is printed with: a console of fixed width, tables without lines, bullets."""

from __future__ import annotations

import io
import os
import shutil
import sys
from collections.abc import Sequence

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

WIDTH, LEAST = 110, 60


def screen(colour: bool | None = None) -> Console:
    """A console that writes into memory: 110 columns, fewer where a narrower terminal reads it."""
    colour = coloured() if colour is None else colour
    return Console(
        file=io.StringIO(),
        width=width(),
        force_terminal=colour,
        color_system="standard" if colour else None,
        legacy_windows=False,
        markup=False,
        emoji=False,
        highlight=False,
        _environ={},
    )


def coloured() -> bool:
    """Whether a terminal reads this that wants colour: neither NO_COLOR (no-color.org) nor TERM=dumb is set."""
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def width() -> int:
    """Columns of a page; files and pipes always get the same, so that the same plan has the same bytes."""
    return max(LEAST, min(WIDTH, shutil.get_terminal_size().columns)) if sys.stdout.isatty() else WIDTH


def output(console: Console) -> str:
    """What was printed, without trailing blanks."""
    assert isinstance(console.file, io.StringIO)
    return "\n".join(line.rstrip() for line in console.file.getvalue().splitlines()) + "\n"


def section(console: Console, title: str) -> None:
    """A blank line and a title."""
    console.print()
    console.print(Text(title, style="bold"))


def table(*columns: str, right: Sequence[int] = ()) -> Table:
    """A table without lines; columns in `right` are right-aligned."""
    answer = Table(box=None, padding=(0, 2, 0, 0), header_style="dim", show_edge=False)
    for k, name in enumerate(columns):
        answer.add_column(name, justify="right" if k in right else "left", no_wrap=k in right, overflow="fold")
    return answer


def show(console: Console, content: Table | Text) -> None:
    """Content, indented."""
    console.print(Padding(content, (0, 0, 0, 2)))


def bullets(console: Console, lines: Sequence[str]) -> None:
    """One line each, wrapped under itself."""
    listing = Table(box=None, padding=(0, 1, 0, 0), show_header=False, show_edge=False)
    for line in lines:
        listing.add_row("-", Text(line))
    show(console, listing)
