"""An invoice as rows of one form, from FOCUS CSV or a provider's usage export; the form is told by its header."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from sim.errors import InputError

TOKENS = ("input tokens", "cached tokens", "output tokens")
PER_MILLION = {
    "tokens": 1e-6,
    "token": 1e-6,
    "1k tokens": 1e-3,
    "thousand tokens": 1e-3,
    "million tokens": 1.0,
    "1m tokens": 1.0,
    "mtok": 1.0,
}
HOURS = {"hours": 1.0, "hour": 1.0, "hrs": 1.0, "h": 1.0, "seconds": 1 / 3600, "minutes": 1 / 60}
NAMES = {  # field of a usage export -> headers that people use for it
    "name": ("relay", "model", "model_name", "line_item", "service", "deployment"),
    "requests": ("requests", "num_model_requests", "n_requests", "request_count"),
    "attempts": ("attempts", "billed_requests", "calls"),
    "input tokens": ("input_tokens", "prompt_tokens", "n_context_tokens_total"),
    "cached tokens": ("cached_tokens", "input_cached_tokens", "cache_read_input_tokens"),
    "output tokens": ("output_tokens", "completion_tokens", "n_generated_tokens_total"),
    "hours": ("hours", "host_hours", "instance_hours"),
    "cost": ("cost", "amount", "amount_value", "billed_cost", "usd", "total_cost"),
    "currency": ("currency", "amount_currency", "billing_currency"),
}


@dataclass
class InvoiceRow:
    """One row. `names` are all texts by which it may be known; `units` item -> million tokens or hours; absent numbers are None."""

    line: int
    names: tuple[str, ...]
    cost: float
    units: dict[str, float] = field(default_factory=dict)
    requests: float | None = None
    attempts: float | None = None


@dataclass(frozen=True)
class Invoice:
    """Rows of a bill in one currency; `start` and `end` as written, empty if the file does not say."""

    path: Path
    form: str  # "focus" or "usage"
    currency: str
    rows: tuple[InvoiceRow, ...]
    start: str = ""
    end: str = ""

    @property
    def total(self) -> float:
        return math.fsum(row.cost for row in self.rows)


def read_invoice(path: Path, currency: str) -> Invoice:
    """The invoice in `path`; rows without a currency are taken to be in `currency`. InputError with every bad row."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}; name a FOCUS CSV or a provider's usage export") from None
    except UnicodeDecodeError:
        raise InputError(f"{path}: is not text in UTF-8; export it as CSV") from None
    reader = csv.DictReader(io.StringIO(text))
    heads = {str(head).strip().lower(): str(head) for head in reader.fieldnames or () if head}
    focus = "billedcost" in heads
    if not focus and not (_find(heads, "name") and _find(heads, "cost")):
        wanted = "BilledCost and ServiceName (FOCUS), or a name (model, relay) and a cost (cost, amount)"
        raise InputError(f"{path}:1: header {', '.join(list(heads)[:8]) or 'is empty'}: no columns that are known; needed: {wanted}")
    rows, problems, seen = [], [], set()
    starts, ends = [], []
    for number, raw in enumerate(reader, start=2):
        given = {key: (raw.get(head) or "").strip() for key, head in heads.items()}
        try:
            rows.append(_focus_row(number, given) if focus else _usage_row(number, given, heads))
        except ValueError as error:
            problems.append(f"{path}:{number}: {error}")
        seen.add((given.get("billingcurrency", "") if focus else given.get(_find(heads, "currency") or "", "")) or currency)
        starts.append(given.get("chargeperiodstart", ""))
        ends.append(given.get("chargeperiodend", ""))
    if len(seen) > 1 or (seen and seen != {currency}):
        problems.append(f"{path}: is in {', '.join(sorted(seen))}, the plan in {currency}: make the plan with that budget.currency")
    if not rows and not problems:
        problems.append(f"{path}: has a header and no rows")
    if problems:
        raise InputError(problems)
    found = [text for text in starts if text]
    return Invoice(path, "focus" if focus else "usage", currency, tuple(rows), min(found, default=""), max(ends, default=""))


def _find(heads: Mapping[str, str], what: str) -> str | None:
    return next((name for name in NAMES[what] if name in heads), None)


def _number(given: Mapping[str, str], name: str | None) -> float | None:
    text = given.get(name or "", "").replace(",", "")
    if not text:
        return None
    try:
        value = float(text)
    except ValueError:
        raise ValueError(f'{name}: "{text}" is not a number; write digits with a point') from None
    if not math.isfinite(value):
        raise ValueError(f'{name}: "{text}" is not finite')
    return value


def _focus_row(line: int, given: Mapping[str, str]) -> InvoiceRow:
    """Cost, item and quantity of one FOCUS row; what is neither tokens nor hours has no units."""
    cost = _number(given, "billedcost")
    if cost is None:
        raise ValueError("billedcost: is empty; every FOCUS row has one")
    names = tuple(given[key] for key in ("resourceid", "servicename", "skuid", "skupriceid", "resourcename") if given.get(key))
    quantity = _number(given, "consumedquantity")
    unit = (given.get("consumedunit") or given.get("pricingunit") or "").lower()
    if quantity is None:
        quantity, unit = _number(given, "pricingquantity"), (given.get("pricingunit") or "").lower()
    row = InvoiceRow(line, names, cost, requests=_number(given, "x_requests"), attempts=_number(given, "x_attempts"))
    if quantity is None:
        return row
    if unit in HOURS:
        row.units["host-hour"] = quantity * HOURS[unit]
    elif unit in PER_MILLION:
        said = (given.get("x_item") or f"{given.get('skumeter', '')} {given.get('chargedescription', '')} {given.get('skuid', '')}").lower()
        ours = said if given.get("x_item") and said.endswith(" tokens") else token_item(said)  # a plan's own rows say the item itself
        row.units[ours] = quantity * PER_MILLION[unit]
    return row


def token_item(text: str) -> str:
    """Which kind of token a text speaks of; input where it names none.

    >>> token_item("GPT-4.1 cached input"), token_item("completion tokens"), token_item("prompt")
    ('cached tokens', 'output tokens', 'input tokens')
    """
    if "cache" in text:
        return "cached tokens"
    return "output tokens" if any(word in text for word in ("output", "completion", "generated")) else "input tokens"


def _usage_row(line: int, given: Mapping[str, str], heads: Mapping[str, str]) -> InvoiceRow:
    """A row of a usage export: cached tokens are part of its input tokens."""
    cost = _number(given, _find(heads, "cost"))
    if cost is None:
        raise ValueError(f"{_find(heads, 'cost')}: is empty; write what the row cost")
    row = InvoiceRow(line, (given.get(_find(heads, "name") or "", ""),), cost)
    row.requests, row.attempts = _number(given, _find(heads, "requests")), _number(given, _find(heads, "attempts"))
    tokens = {item: _number(given, _find(heads, item)) for item in TOKENS}
    cached = tokens["cached tokens"] or 0.0
    if tokens["input tokens"] is not None:
        tokens["input tokens"] = max(0.0, tokens["input tokens"] - cached)
    row.units = {item: value / 1e6 for item, value in tokens.items() if value}
    hours = _number(given, _find(heads, "hours"))
    if hours:
        row.units["host-hour"] = hours
    return row
