"""What `servemix check` says of a file without a fault."""

from __future__ import annotations

from typing import Any

from rich.text import Text

from optimize.audit.check_file import Checked
from optimize.report.terminal.console import bullets, output, screen, section, show, table


def render_check(found: Checked, colour: bool | None = None) -> str:
    """Facts, notes, and a row for each assumption."""
    console = screen(colour)
    show(console, Text(f"{found.file}: this {found.kind} has no fault", style="bold green"))
    for fact in found.facts:
        show(console, Text(fact))
    if found.notes:
        section(console, "Notes")
        bullets(console, found.notes)
    if found.assumed:
        section(console, "Assumed, because the file says nothing")
        listing = table("key", "value", "meaning")
        for each in found.assumed:
            unit = "" if each.unit[:1].isdigit() else each.unit  # "0..1" is a range and no unit
            listing.add_row(each.key, f"{plain(each.value)} {unit}".strip(), Text(each.meaning, style="dim"))
        show(console, listing)
    return output(console)


def plain(value: Any) -> str:
    """A value as one would write it in the file.

    >>> plain(True), plain(0.07), plain(["bf16", "fp8"])
    ('true', '0.07', '[bf16, fp8]')
    """
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list):
        return f"[{', '.join(plain(each) for each in value)}]"
    return f"{value:g}" if isinstance(value, float) else str(value)
