"""What every estimate on the screen has: a head, facts, rules of thumb; bands and figures in words."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich.console import Console
from rich.text import Text

from optimize.estimate.row import UNCALIBRATED, UNSOLD, Row
from optimize.estimate.rules import Rule
from optimize.report.terminal.console import section, show, table
from sim.catalog.loader import load_catalog

GB = 1e9
Pair = tuple[float, float]


def band(pair: Pair, form: str = ",.0f", unit: str = "") -> str:
    """Low and high, or one figure where they are equal.

    >>> band((1234.5, 2345.6)), band((2.0, 2.0), ".1f", " h")
    ('1,234 .. 2,346', '2.0 h')
    """
    low, high = format(pair[0], form), format(pair[1], form)
    return f"{low}{unit}" if low == high else f"{low} .. {high}{unit}"


def form_of(pair: Pair) -> str:
    """A format with decimals where whole numbers would say little.

    >>> form_of((0.5, 1.4)), form_of((12.0, 30.0)), form_of((858.0, 2574.0))
    (',.2f', ',.1f', ',.0f')
    """
    return ",.0f" if pair[1] >= 100 else ",.1f" if pair[1] >= 10 else ",.2f"


def figure(pair: Pair, unit: str) -> str:
    """A figure of a rule in the unit that people say it in.

    >>> figure((7.6e10, 9.6e10), "bytes"), figure((4.2e21, 4.2e21), "FLOP"), figure((1.0, 1.0), "requests")
    ('76.0 .. 96.0 GB', '4.20e+21 FLOP', '1 request')
    """
    if unit == "bytes":
        return band((pair[0] / GB, pair[1] / GB), ",.1f", " GB")
    if unit == "share":
        return band((100 * pair[0], 100 * pair[1]), ",.0f", " %")
    word = "request" if unit == "requests" and pair == (1.0, 1.0) else unit
    return band(pair, ".2e" if unit == "FLOP" else ",.0f", f" {word}")


def head(console: Console, title: str, what: str) -> None:
    """What was asked, and the catalogue that answers."""
    catalog = load_catalog()
    console.print(Text(title, style="bold") + Text(f"  {what}"))
    console.print(Text(f"catalogue of {catalog.date} ({catalog.digest[:8]})", style="dim"))


def facts(console: Console, rows: Iterable[tuple[str, str]]) -> None:
    """Names and values, one a line."""
    listing = table("", "")
    listing.show_header = False
    for name, value in rows:
        listing.add_row(Text(name, style="dim"), value)
    console.print()
    show(console, listing)


def rules_table(console: Console, rules: Sequence[Rule], title: str) -> None:
    """Quoted and computed figures of each rule, and why they differ."""
    section(console, title)
    listing = table("rule, and why", "quoted", "arithmetic", right=(1, 2))
    for rule in rules:
        name = Text(f"{rule.name}, {rule.case}") + Text(f"\n  {rule.why}", style="dim")
        listing.add_row(name, figure(rule.quoted, rule.unit), figure(rule.exact, rule.unit))
    show(console, listing)


def remarks(rows: Sequence[Row]) -> list[str]:
    """Each reason once, with the devices that it is true of."""
    by_reason: dict[str, list[str]] = {}
    for row in rows:
        for reason in (each for each in row.reasons if each not in (UNSOLD, UNCALIBRATED)):  # the table says these
            names = by_reason.setdefault(reason, [])
            if row.deployment.gpu.id not in names:
                names.append(row.deployment.gpu.id)
    return [f"{', '.join(names)}: {reason}" for reason, names in by_reason.items()]
