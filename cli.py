"""The command line `servemix`: its commands, and what an error or Ctrl-C becomes."""

from __future__ import annotations

import sys
from typing import Annotated, TextIO

import typer

from optimize.commands import calibrate, check, compare, decide, new, optimize, probe, rerun, simulate, validate, whatif
from optimize.commands.catalog import tables
from optimize.commands.common import app
from optimize.commands.estimate import estimate
from sim.version import VERSION

COMMANDS = (optimize, simulate, validate, calibrate, new, check, probe, compare, rerun, whatif, decide)  # each registers itself
app.add_typer(tables, name="catalog", help="Facts that plans rest on; `catalog refresh`: new relay prices.")
app.add_typer(estimate, name="estimate")


def say_version(asked: bool) -> None:
    """Prints the version and ends."""
    if asked:
        print(f"servemix {VERSION}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[bool, typer.Option("--version", callback=say_version, is_eager=True, help="Print the version and end.")] = False,
) -> None:
    """Cheapest mix of GPUs and relay APIs that keeps a latency promise, proved by simulation."""


def main() -> None:
    """Entry point of `servemix`: errors that a user can cause are one message and an exit code, never a traceback."""
    from sim.errors import ServeMixError

    for stream in (sys.stdout, sys.stderr):
        write_anything(stream)
    try:
        app()
    except ServeMixError as error:
        print(error, file=sys.stderr)
        sys.exit(error.exit_code)
    except SystemExit as end:  # Typer turns Ctrl-C into one without a word
        if isinstance(getattr(end.__context__, "__cause__", None), KeyboardInterrupt):
            print("interrupted; measurements made so far are kept in the capacity cache", file=sys.stderr)
        raise


def write_anything(stream: TextIO) -> None:
    """A stream of an old code page (Windows pipes, LC_ALL=C) shows `?` for a sign that it lacks, and ends no command."""
    reconfigure = getattr(stream, "reconfigure", None)
    if reconfigure is not None and (stream.encoding or "").lower().replace("-", "") != "utf8":
        reconfigure(errors="replace")


if __name__ == "__main__":
    main()
