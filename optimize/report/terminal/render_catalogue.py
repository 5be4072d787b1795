"""The catalogue and a validation as text, for people: at most 100 columns, every row with its source, flags where evidence is thin."""

from __future__ import annotations

import io
import textwrap
from collections.abc import Callable, Mapping
from dataclasses import asdict
from fnmatch import fnmatchcase
from typing import Any

from rich.console import Console
from rich.table import Table

from optimize.money.amounts import gpu_hour_usd
from optimize.money.price_claims import claim_flags, dated_warnings
from sim.catalog.check import instead
from sim.catalog.facts import Catalog, Relay
from sim.catalog.loader import load_catalog
from sim.errors import InputError

WIDTH = 100
Row = dict[str, Any]
Column = tuple[str, Callable[[Row], object]]  # heading with unit, cell


def _money(value: float | None) -> str:
    return "-" if value is None else f"{value:.4g}"


def _scaled(key: str, unit: float) -> Callable[[Row], str]:
    return lambda row: f"{row[key] / unit:.4g}"


def _rate(key: str) -> Callable[[Row], str]:
    return lambda row: f"{row['flops'][key] / 1e12:.4g}" if row["flops"].get(key) else "-"


def _kv_kib(row: Row) -> str:
    per_layer = row["kv_elements_per_layer"] or 2 * row["kv_heads"] * row["head_dim"]
    growing = row["layers"] - row["window_layers"] - row["state_layers"]
    return f"{2 * growing * per_layer / 1024:.4g}"


COLUMNS: dict[str, tuple[Column, ...]] = {
    "gpus": (
        ("id", lambda r: r["id"]),
        ("GB", _scaled("memory_bytes", 1e9)),
        ("memory", lambda r: r["memory_type"]),
        ("TB/s", _scaled("bandwidth_bytes_per_s", 1e12)),
        ("bf16 TFLOPS", _rate("bf16")),
        ("fp8", _rate("fp8")),
        ("link", lambda r: r["link"]),
        ("GB/s", _scaled("link_bytes_per_s", 1e9)),
        ("W", lambda r: f"{r['tdp_w']:g}"),
    ),
    "models": (
        ("id", lambda r: r["id"]),
        ("kind", lambda r: r["kind"]),
        ("10^9 parameters", _scaled("parameters", 1e9)),
        ("active", _scaled("active_parameters", 1e9)),
        ("layers", lambda r: r["layers"]),
        ("KiB cache/token", _kv_kib),
        ("context", lambda r: f"{r['max_context']:,}"),
    ),
    "formats": (
        ("id", lambda r: r["id"]),
        ("bytes/weight", lambda r: f"{r['bytes_per_weight']:g}"),
        ("computes in", lambda r: r["compute"]),
        ("card needs", lambda r: r["needs"]),
        ("also called", lambda r: ", ".join(r["aliases"])),
    ),
    "offers": (
        ("id", lambda r: r["id"]),
        ("gpu", lambda r: r["gpu"]),
        ("GPUs", lambda r: r["gpus"]),
        ("USD/h", lambda r: _money(r["usd_per_hour"])),
        ("per GPU", lambda r: _money(r["usd_per_hour"] / r["gpus"])),
        ("term", lambda r: r["term"]),
        ("elastic", lambda r: "yes" if r["elastic"] else "no"),
        ("grade", lambda r: r["grade"]),
    ),
    "relays": (
        ("id", lambda r: r["id"]),
        ("USD/Mtok in", lambda r: _money(r["usd_per_mtok_input"])),
        ("cached", lambda r: _money(r["usd_per_mtok_cached"])),
        ("out", lambda r: _money(r["usd_per_mtok_output"])),
        ("TTFT s", lambda r: f"{r['ttft_p50_s']:g}"),
        ("grade", lambda r: r["grade"]),
        ("retires", lambda r: r["retires_on"] or ""),
    ),
    "tokenizers": (
        ("id", lambda r: r["id"]),
        ("tokens/character, Latin", lambda r: _money(r["tokens_per_char"].get("latin"))),
        ("Chinese", lambda r: _money(r["tokens_per_char"].get("han"))),
        ("models", lambda r: ", ".join(r["models"])),
    ),
}
TEXT = ("id", "gpu", "link", "memory", "kind", "term", "elastic", "grade", "retires", "models", "also called", "computes in", "card needs")


def tables(catalog: Catalog) -> dict[str, Mapping[str, Any]]:
    """Rows by id of every table that `catalog` shows; offers by GPU and price."""
    offers = sorted(catalog.offers.values(), key=lambda o: (o.gpu, gpu_hour_usd(o), o.id))
    return {
        "gpus": catalog.gpus,
        "models": catalog.models,
        "formats": catalog.weight_formats,
        "offers": {offer.id: offer for offer in offers},
        "relays": catalog.relays,
        "tokenizers": catalog.tokenizers,
    }


def catalogue_rows(table: str, name: str | None) -> list[Row]:
    """Rows of one table, all fields and sources, with `flags`: what speaks against believing the row or building on it.

    `name` is the id of a row or a shell pattern. InputError with the nearest names for a table or row that is not there.
    """
    catalog = load_catalog()
    known = tables(catalog)
    if table not in known:
        homes = [each for each, rows in known.items() if table in rows]
        hint = f"it is a row: write `catalog {homes[0]} {table}`" if homes else instead(table, known)
        raise InputError(f'catalog: "{table}" is not a table; {hint}')
    rows = known[table]
    if table == "formats" and name is not None:
        name = next((row.id for row in rows.values() if name in row.aliases), name)
    chosen = [row for key, row in rows.items() if name is None or fnmatchcase(key, name)]
    if not chosen:
        raise InputError(f'catalog: {table} has no "{name}"; {instead(str(name), rows)}')
    return [{**asdict(row), "flags": flags_of(row, catalog)} for row in chosen]


def flags_of(row: Any, catalog: Catalog) -> list[str]:
    """Sentences: claims that contradict list prices or physics, retirement, announced prices, caveats, prices without a firm seller."""
    if isinstance(row, Relay):
        return [*claim_flags(row, catalog), *(line.removeprefix(f"{row.id}: ") for line in dated_warnings(row, catalog))]
    found = [row.caveat] if getattr(row, "caveat", "") else []
    if getattr(row, "grade", "") == "claimed":
        found.append(f"only claimed: {row.note}")
    return found


def render_catalogue(table: str, rows: list[Row], whole: bool) -> str:
    """Every field of one row; or a list of the main columns, then the flags of its rows and the sources by number."""
    if whole and len(rows) == 1:
        return "".join(_wrapped(f"{key}: {_exact(value)}") for key, value in _flat(rows[0]) if value not in (None, "", (), [], {}))
    sources: dict[str, int] = {}
    grid = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0))
    for heading, _ in COLUMNS[table]:
        grid.add_column(heading, justify="left" if heading in TEXT else "right", no_wrap=heading == "id", overflow="fold")
    grid.add_column("source", justify="right")
    for row in rows:
        number = sources.setdefault(f"{row['source']['title']} ({row['source']['date'] or 'no date'})", len(sources) + 1)
        grid.add_row(*(str(cell(row)) for _, cell in COLUMNS[table]), f"{'! ' if row['flags'] else ''}[{number}]".replace("[", r"\["))
    flags = "".join(_wrapped(f"! {row['id']}: {flag}") for row in rows for flag in row["flags"])
    listed = "".join(_wrapped(f"[{number}] {title}") for title, number in sources.items())
    return "\n".join(part for part in (_text(grid), flags, listed) if part)


def _flat(row: Row) -> list[tuple[str, Any]]:
    """Fields of a row; a source on one line, other mappings by key, flags one by one."""
    parts: list[tuple[str, Any]] = []
    for key, value in row.items():
        if isinstance(value, dict) and "title" in value:
            parts.append((key, " ".join(filter(None, (value["title"], f"({value['date'] or 'no date'})", value["note"])))))
        elif isinstance(value, dict):
            parts += [(f"{key}.{name}", each) for name, each in value.items()]
        elif key == "flags":
            parts += [("flag", each) for each in value]
        else:
            parts.append((key, value))
    return parts


def _exact(value: Any) -> str:
    """A value with all its digits, thousands apart."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, (int, float)):
        return f"{int(value):,}" if float(value).is_integer() else f"{value!r}"
    return ", ".join(map(str, value)) if isinstance(value, (list, tuple)) else str(value)


def _wrapped(text: str) -> str:
    return textwrap.fill(text, WIDTH, subsequent_indent="    ", break_long_words=False, break_on_hyphens=False) + "\n"


def _text(grid: Table) -> str:
    buffer = io.StringIO()
    Console(file=buffer, width=WIDTH, color_system=None).print(grid)
    return "\n".join(line.rstrip() for line in buffer.getvalue().splitlines()) + "\n"
