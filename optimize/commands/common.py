"""What every command shares: options, examples, progress on stderr, JSON on stdout, and the order of `--help`."""

from __future__ import annotations

import functools
import inspect
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
import typer.core

from sim.progress import Stage

if TYPE_CHECKING:
    from sim.scenario.written_text import Origin

ORDER = [
    *("optimize", "explain", "simulate", "whatif", "decide", "new", "check", "deploy", "track", "compare", "rerun"),
    *("validate", "calibrate", "probe", "catalog", "estimate"),
]  # as `--help` lists them
MOST = 10**9  # of any whole number of an option
CHECKOUT = Path(__file__).resolve().parents[2] / "scenarios"  # an installed package has its samples elsewhere


class InOrder(typer.core.TyperGroup):
    """Commands in the order in which people meet them, not in that of imports."""

    def list_commands(self, ctx: Any) -> list[str]:
        return sorted(super().list_commands(ctx), key=lambda name: ORDER.index(name) if name in ORDER else len(ORDER))


app = typer.Typer(
    name="servemix",
    cls=InOrder,
    help="Cheapest mix of GPUs and relay APIs that keeps a latency promise, proved by simulation.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


ScenarioFile = Annotated[Path, typer.Argument(metavar="SCENARIO", help="Scenario file (YAML); - reads standard input.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object on stdout and nothing else.")]
OutFolder = Annotated[Path | None, typer.Option("--out", metavar="DIR", help="Write results into this folder.")]
Seed = Annotated[int | None, typer.Option("--seed", min=0, max=2**63 - 1, help="Seed instead of the scenario's.")]
Settings = Annotated[list[str] | None, typer.Option("--set", metavar="KEY.PATH=VALUE", help="Override a scenario key; may be repeated.")]
Jobs = Annotated[int, typer.Option("--jobs", min=1, max=256, help="Processes that simulate at the same time.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress on stderr; errors still go there.")]
Verbose = Annotated[bool, typer.Option("--verbose", "-v", help="Progress with its times, versions and folders: for a bug report.")]


class Voice:
    """Progress on stderr: stdout is the answer. `level` is 0 (quiet), 1, or 2 (verbose)."""

    def __init__(self) -> None:
        self.level, self.started_s = 1, time.monotonic()
        self.work_s = self.started_s  # when the first stage of the work began: what was compiled before it says nothing of the rest

    def tell(self, message: str) -> None:
        """One line, with its time if verbose; a stage of the work says about how long the rest takes."""
        if self.level == 0:
            return
        now_s = time.monotonic()
        when = f"{now_s - self.started_s:8.1f} s  " if self.level == 2 else ""
        if isinstance(message, Stage) and message.share == 0:
            self.work_s = now_s
        rest = (
            f" (about {spoken(left_s)} left)" if isinstance(message, Stage) and (left_s := message.left_s(now_s - self.work_s)) >= 5 else ""
        )
        with suppress(OSError):  # no one reads it, or its disk is full: progress is no answer
            print(f"{when}{message}{rest}", file=sys.stderr, flush=True)

    def begin(self, quiet: bool, verbose: bool) -> None:
        """A command begins."""
        self.level, self.started_s = 0 if quiet else 2 if verbose else 1, time.monotonic()
        self.work_s = self.started_s
        if self.level == 2:
            from optimize.audit.manifest import software
            from optimize.search.cache import default_folder

            self.tell(" ".join(f"{name} {version}" for name, version in software().items()))
            self.tell(f"measured capacities in {default_folder()}")


VOICE = Voice()
tell = VOICE.tell


def spoken(seconds: float) -> str:
    """A time that is left, as people say it.

    >>> spoken(7), spoken(42), spoken(95)
    ('10 s', '40 s', '2 min')
    """
    return f"{max(10, round(seconds, -1)):.0f} s" if seconds < 60 else f"{seconds / 60:.0f} min"


def command(example: str, name: str | None = None, on: typer.Typer = app) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Registers a verb; its help ends with `example`, and it takes --quiet and --verbose next to its own options."""

    def register(function: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(function)
        def run(*, quiet: bool = False, verbose: bool = False, **options: Any) -> None:
            VOICE.begin(quiet, verbose)
            function(**options)

        own = inspect.signature(function, eval_str=True)
        more = [
            inspect.Parameter(key, inspect.Parameter.KEYWORD_ONLY, default=False, annotation=kind)
            for key, kind in (("quiet", Quiet), ("verbose", Verbose))
        ]
        given = [each.replace(kind=inspect.Parameter.KEYWORD_ONLY) for each in own.parameters.values()]
        run.__signature__ = own.replace(parameters=[*given, *more])  # type: ignore[attr-defined]
        run.__annotations__ = {each.name: each.annotation for each in (*given, *more)}
        on.command(name or function.__name__, epilog=epilog(example))(run)
        return run

    return register


def epilog(example: str, samples: Path | None = None) -> str:
    """The last line of a help: what to type in a checkout, or where only the package is installed.

    >>> epilog("optimize scenarios/two_offers.yaml", Path("nowhere"))
    'Example: servemix optimize two_offers.yaml (the file: servemix new --from-sample two_offers)'
    """
    words = example.split()
    named = next((Path(word).stem for word in words if word.startswith("scenarios/") and word.endswith(".yaml")), None)
    if (samples or CHECKOUT).is_dir():
        return f"Example: {program()} {example}"
    note = f" (the file: {program()} new --from-sample {named})" if named else ""
    return f"Example: {program()} {example.replace('scenarios/', '')}{note}"


def program() -> str:
    """What the reader typed to come here."""
    return "python cli.py" if Path(sys.argv[0]).name == "cli.py" else "servemix"


def origin_of(path: Path) -> Origin:
    """Where the scenario of that argument is written: the file, or standard input for `-`."""
    if path != Path("-"):
        return path
    from sim.scenario.read.yaml_text import MAX_BYTES, decoded
    from sim.scenario.written_text import WrittenText

    return WrittenText("stdin", decoded(sys.stdin.buffer.read(MAX_BYTES + 1), "stdin", "scenario"))


def deliver(text: Callable[[], str], write: Callable[[], object] | None) -> None:
    """Results on disk first, told by `write`, then the answer on stdout: a terminal that refuses it costs no search.

    Where the disk refuses, the answer is printed all the same, and then the error is told.
    """
    try:
        if write is not None:
            tell(str(write()))
    finally:
        print(text(), end="", flush=True)


def json_text(value: dict[str, Any]) -> str:
    """One JSON object, as --json prints it."""
    import json

    return json.dumps(value, indent=2, allow_nan=False) + "\n"


def emit_json(value: dict[str, Any]) -> None:
    print(json_text(value), end="", flush=True)
