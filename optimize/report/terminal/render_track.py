"""`servemix track` on the terminal: the answer in sentences, then every quantity and promise with its interval."""

from __future__ import annotations

import math

from optimize.track.findings import Findings, value
from optimize.track.held_against import Kept, Row

HEAD = ("", "what", "planned", "as planned up to", "observed")


def render_track(found: Findings) -> str:
    """For people: at most a hundred columns for names of ordinary length."""
    lines = [f"{found.scenario}: {found.hours}", "", *found.sentences(), ""]
    table = [HEAD, *(_cells(row) for row in found.rows)]
    widths = [max(len(row[k]) for row in table) for k in range(len(HEAD))]
    lines += ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in table]
    lines += ["", *(_promise(each) for each in found.promises)]
    lines += [f"note: {note}" for note in found.notes]
    return "\n".join(lines) + "\n"


def _cells(row: Row) -> tuple[str, str, str, str, str]:
    sign = "drift" if row.drifted else "-" if row.observed is None else "ok"
    low = f"{value(row.low, row.unit).split(' ')[0]} to " if row.low > 0 else ""
    observed = "not seen" if row.observed is None else value(row.observed, row.unit)
    return sign, f"{row.kind}: {row.name}", value(row.planned, row.unit), low + value(row.high, row.unit), observed


def _promise(each: Kept) -> str:
    sign = {True: "kept", False: "BROKEN", None: "unclear"}[each.kept]
    share = " to ".join(dict.fromkeys(f"{end:.2%}".replace("%", " %") for end in (each.low, each.high)))
    said = "no requests" if each.requests <= 0 else f"{share} of {math.floor(each.requests):,} requests within it"
    return f"{sign:8}{each.where}: {each.metric.upper()} p{each.quantile * 100:g} within {each.limit_s:g} s: {said}"
