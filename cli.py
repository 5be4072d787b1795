"""The command line `servemix`: its commands, and what an error or Ctrl-C becomes."""

from __future__ import annotations

import sys

from optimize.commands import calibrate, compare, decide, new, optimize, probe, rerun, simulate, validate, whatif
from optimize.commands.catalog import tables
from optimize.commands.common import app
from optimize.commands.estimate import estimate

COMMANDS = (optimize, simulate, validate, calibrate, new, probe, compare, rerun, whatif, decide)  # each registers itself
app.add_typer(tables, name="catalog", help="Facts that plans rest on; `catalog refresh`: new relay prices.")
app.add_typer(estimate, name="estimate")


def main() -> None:
    """Entry point of `servemix`: errors that a user can cause are one message and an exit code, never a traceback."""
    from sim.errors import ServeMixError

    try:
        app()
    except ServeMixError as error:
        print(error, file=sys.stderr)
        sys.exit(error.exit_code)
    except SystemExit as end:  # Typer turns Ctrl-C into one without a word
        if isinstance(getattr(end.__context__, "__cause__", None), KeyboardInterrupt):
            print("interrupted; measurements made so far are kept in the capacity cache", file=sys.stderr)
        raise


if __name__ == "__main__":
    main()
