"""What every command shares: options, progress on stderr, JSON on stdout, and the order of `--help`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import typer
import typer.core

ORDER = [
    "optimize",
    "simulate",
    "validate",
    "calibrate",
    "new",
    "probe",
    "compare",
    "rerun",
    "whatif",
    "decide",
    "catalog",
    "estimate",
]  # as `--help` lists them


class InOrder(typer.core.TyperGroup):
    """Commands in the order in which people meet them, not in that of imports."""

    def list_commands(self, ctx: Any) -> list[str]:
        return sorted(super().list_commands(ctx), key=ORDER.index)


app = typer.Typer(
    name="servemix",
    cls=InOrder,
    help="Cheapest mix of GPUs and relay APIs that keeps a latency promise, proved by simulation.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


ScenarioFile = Annotated[Path, typer.Argument(metavar="SCENARIO", help="Scenario file (YAML).")]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object on stdout and nothing else.")]
OutFolder = Annotated[Path | None, typer.Option("--out", metavar="DIR", help="Write results into this folder.")]
Seed = Annotated[int | None, typer.Option("--seed", min=0, help="Seed instead of the scenario's.")]
Settings = Annotated[list[str] | None, typer.Option("--set", metavar="KEY.PATH=VALUE", help="Override a scenario key; may be repeated.")]
Jobs = Annotated[int, typer.Option("--jobs", min=1, max=256, help="Processes that simulate at the same time.")]


def tell(message: str) -> None:
    """Progress goes to stderr: stdout is the answer."""
    print(message, file=sys.stderr, flush=True)


def emit_json(value: dict[str, Any]) -> None:
    import json

    print(json.dumps(value, indent=2, allow_nan=False))
