"""`servemix catalog`: the facts that plans rest on."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Annotated, Any

import typer
import typer.core

from optimize.commands.common import AsJson, command, emit_json, tell


class _Tables(typer.core.TyperGroup):
    """`catalog` and a table is short for `catalog show` and that table."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        return super().parse_args(ctx, args if args and args[0] in self.commands else ["show", *args])


tables = typer.Typer(cls=_Tables, add_completion=False, rich_markup_mode=None)


@command("catalog offers aws.g6e.xlarge", "show", tables)
def catalog(
    table: Annotated[str, typer.Argument(help="gpus, models, formats, offers, relays or tokenizers.")] = "gpus",
    name: Annotated[str | None, typer.Argument(help="One row in full, or the rows that a pattern such as 'aws.*' matches.")] = None,
    as_json: AsJson = False,
) -> None:
    """Show the facts that plans rest on, each with its source and date; `catalog refresh --help`: bring relay prices up to date."""
    from optimize.report.terminal.render_catalogue import catalogue_rows, render_catalogue

    rows = catalogue_rows(table, name)
    if as_json:
        emit_json({"table": table, "rows": rows})
    else:
        print(render_catalogue(table, rows, whole=name is not None), end="")


@command("catalog refresh --on 2026-11-30", "refresh", tables)
def catalog_refresh(
    file: Annotated[Path | None, typer.Option("--file", help="A relays.yaml of your own instead of the catalogue's.")] = None,
    package: Annotated[str, typer.Option("--package", help="Price package: genai-prices or litellm.")] = "genai-prices",
    mapping: Annotated[Path | None, typer.Option("--mapping", help="YAML `package: {relay.id: entry}` of your own.")] = None,
    on: Annotated[datetime | None, typer.Option("--on", formats=["%Y-%m-%d"], help="Day of the prices; default: today.")] = None,
    write: Annotated[bool, typer.Option("--write", help="Write the file; else only show what would change.")] = False,
    accept_large: Annotated[bool, typer.Option("--accept-large", help="Also prices that moved over twofold, to or from zero.")] = False,
    as_json: AsJson = False,
) -> None:
    """Relay list prices as an installed price package has them today, as a diff to review. Works offline."""
    from optimize.report.terminal.console import coloured
    from optimize.report.terminal.render_refresh import diff_text, refresh_json, refresh_words
    from sim.catalog.refresh.refresh import run

    found = run(file, package, mapping, (on or datetime.now()).date(), accept_large, write)
    written = write and bool(found.changed)
    if as_json:
        emit_json(refresh_json(found, written))
        return
    print(diff_text(found, colour=coloured()), end="")
    for line in refresh_words(found, written):
        tell(line)
