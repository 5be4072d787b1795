"""The command line `servemix`: its commands, and what an error or Ctrl-C becomes."""

from __future__ import annotations

import codecs
import os
import sys
from contextlib import suppress
from typing import Annotated, Any, TextIO

import typer

from optimize.commands import (
    calibrate,
    check,
    compare,
    decide,
    deploy,
    explain,
    new,
    optimize,
    probe,
    rerun,
    simulate,
    track,
    validate,
    whatif,
)
from optimize.commands.catalog import tables
from optimize.commands.common import app
from optimize.commands.estimate import estimate
from sim.interrupts import repeated
from sim.version import VERSION

BROKEN_PIPE = 141  # as shells count a process that SIGPIPE ended
# each registers itself
COMMANDS = (optimize, simulate, validate, calibrate, new, check, probe, compare, rerun, whatif, decide, deploy, track, explain)
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

    open_streams()
    for stream in (sys.stdout, sys.stderr):
        write_anything(stream)
    code: Any = 0
    try:
        with repeated():
            app()
    except ServeMixError as error:
        code = error.exit_code
        say(error)
    except BrokenPipeError:  # whoever read the answer has gone, `| head` for one
        code = BROKEN_PIPE
    except OSError as error:
        code = 2
        say(f"{error.filename or 'the answer'}: {error.strerror or error}; name a file or stream that can be read and written")
    except KeyboardInterrupt:
        code = 130
    except SystemExit as end:  # Typer turns Ctrl-C into one without a word
        code = end.code
        if isinstance(getattr(end.__context__, "__cause__", None), KeyboardInterrupt):
            say("interrupted; measurements made so far are kept in the capacity cache")
    sys.exit(flushed(code))


def say(message: object) -> None:
    """The message on stderr, where there is one that takes it."""
    with suppress(OSError):
        print(message, file=sys.stderr, flush=True)


def flushed(code: Any) -> Any:
    """`code`, or that of an output that could not be written to its end; what is left unwritten is not tried again by the interpreter."""
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        code = code or BROKEN_PIPE
    except OSError as error:
        code = code or 2
        say(f"the answer: {error.strerror}; send stdout to a place that can be written")
    else:
        return code
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    return code


def open_streams() -> None:
    """A closed stdin, stdout or stderr leads nowhere: else the next file that is opened takes its place, and the answer would go there."""
    for number, mode in ((0, os.O_RDONLY), (1, os.O_WRONLY), (2, os.O_WRONLY)):
        try:
            os.fstat(number)
        except OSError:
            while os.open(os.devnull, mode) < number:
                pass
    sys.stdin = sys.stdin or open(os.devnull, encoding="utf-8")  # noqa: SIM115 (open until the process ends)
    sys.stdout = sys.stdout or open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
    sys.stderr = sys.stderr or open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115


SIGNS = {"▪": "#", "≤": "<=", "≥": ">=", "→": "->", "–": "-", "—": "-", "×": "x", "·": ".", "…": "...", "µ": "u", "«": '"', "»": '"'}


def plain_signs(error: UnicodeError) -> tuple[str, int]:
    """What a stream shows in place of signs that it lacks."""
    assert isinstance(error, UnicodeEncodeError)
    return "".join(SIGNS.get(sign, "?") for sign in error.object[error.start : error.end]), error.end


codecs.register_error("servemix.plain", plain_signs)


def write_anything(stream: TextIO) -> None:
    """A stream of an old code page (Windows pipes, LC_ALL=C) shows a plain sign for one that it lacks, and ends no command."""
    reconfigure = getattr(stream, "reconfigure", None)
    if reconfigure is not None:
        reconfigure(errors="servemix.plain")


if __name__ == "__main__":
    main()
