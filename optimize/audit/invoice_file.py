"""An invoice as rows of one form, from FOCUS CSV, an AWS cost and usage report or a provider's usage export; its header tells which."""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

from optimize.money.amounts import scaled_usd
from optimize.money.units import to_currency, to_usd
from sim.errors import InputError
from sim.named_files import read_text

TOKENS = ("input tokens", "cached tokens", "output tokens")
PER_MILLION = {
    "tokens": 1e-6,
    "token": 1e-6,
    "1k tokens": 1e-3,
    "thousand tokens": 1e-3,
    "million tokens": 1.0,
    "1m tokens": 1.0,
    "1000 tokens": 1e-3,
    "1000000 tokens": 1.0,
    "mtok": 1.0,
}
HOURS = {"hours": 1.0, "hour": 1.0, "hrs": 1.0, "hr": 1.0, "h": 1.0, "seconds": 1 / 3600, "second": 1 / 3600, "minutes": 1 / 60}
NAMES = {  # field -> headers that people use for it, lower case and without punctuation
    "name": ("relay", "model", "modelname", "lineitem", "service", "deployment", "snapshotid", "sku", "offer"),
    "requests": ("requests", "nummodelrequests", "nrequests", "requestcount"),
    "attempts": ("attempts", "billedrequests", "calls"),
    "input tokens": ("inputtokens", "prompttokens", "ncontexttokenstotal"),
    "cached tokens": ("cachedtokens", "inputcachedtokens", "cachereadinputtokens"),
    "output tokens": ("outputtokens", "completiontokens", "ngeneratedtokenstotal"),
    "hours": ("hours", "hosthours", "instancehours"),
    "cost": ("cost", "amount", "amountvalue", "billedcost", "usd", "totalcost"),
    "currency": ("currency", "amountcurrency", "billingcurrency"),
    "tax": ("tax", "vat", "taxamount", "vatamount"),
    "vendor": ("vendor", "provider", "providername"),
    "start": ("chargeperiodstart", "lineitemusagestartdate", "starttimeiso", "starttime", "periodstart", "startdate", "date", "day"),
    "end": ("chargeperiodend", "lineitemusageenddate", "endtimeiso", "endtime", "periodend", "enddate"),
}
CUR = {  # the same fields in an AWS cost and usage report, versions 1 (lineItem/UnblendedCost) and 2 (line_item_unblended_cost)
    "cost": "lineitemunblendedcost",
    "currency": "lineitemcurrencycode",
    "amount": "lineitemusageamount",
    "unit": "pricingunit",
    "category": "lineitemlineitemtype",
}
CUR_NAMES = ("productinstancetype", "lineitemusagetype", "lineitemresourceid", "lineitemproductcode", "productservicename")
FOCUS_NAMES = ("resourceid", "servicename", "skuid", "skupriceid", "resourcename", "providername", "serviceprovidername")
TAX_WORDS = re.compile(r"\b(vat|tax|taxes|gst|hst|mwst|iva|tva)\b", re.IGNORECASE)
CREDIT_CATEGORIES = ("credit", "refund", "adjustment")
SYMBOLS = {"$": "USD", "€": "EUR", "£": "GBP"}


@dataclass
class InvoiceRow:
    """One row. `names` are all texts by which it may be known; `units` item -> million tokens or hours; absent numbers are None.

    kind   "usage", "tax" or "credit"
    """

    line: int
    names: tuple[str, ...]
    cost: float
    units: dict[str, float] = field(default_factory=dict)
    requests: float | None = None
    attempts: float | None = None
    kind: str = "usage"
    currency: str = ""


@dataclass(frozen=True)
class Invoice:
    """Rows of a bill in one currency; `start` and `end` as written, empty if the file does not say; `hours` between them, None too.

    converted   (currency, rows, rate into the currency of the invoice) of rows that were written in another
    """

    path: Path
    form: str  # "focus", "cur" or "usage"
    currency: str
    rows: tuple[InvoiceRow, ...]
    start: str = ""
    end: str = ""
    hours: float | None = None
    converted: tuple[tuple[str, int, float], ...] = ()

    @property
    def total(self) -> float:
        return math.fsum(row.cost for row in self.rows)


def _table(path: Path) -> tuple[Sequence[str], list[dict[str, str]]]:
    """Names of the columns and all rows. Raises InputError where the file is no table."""
    reader = csv.DictReader(io.StringIO(read_text(path, "a FOCUS CSV or a provider's usage export"), newline=""))
    try:
        return reader.fieldnames or (), list(reader)
    except csv.Error as error:
        raise InputError(f"{path}:{reader.line_num}: is not a table of comma-separated values ({error}); export it as CSV again") from None


def read_invoice(path: Path, currency: str, usd_per_unit: Mapping[str, float] | None = None) -> Invoice:
    """The invoice in `path`, in `currency`; rows of another are converted where both rates are known. InputError with every bad row.

    Rows without a currency are taken to be in `currency`.
    """
    names, table = _table(path)
    heads = {plain(str(head)): str(head) for head in names if head}
    form = _form(path, heads)
    rates, rows, problems, spans = usd_per_unit or {}, [], [], []
    for number, raw in enumerate(table, start=2):
        given = {key: told((raw.get(head) or "").strip()) for key, head in heads.items()}
        try:
            read = {"focus": _focus_row, "cur": _cur_row}.get(form, _usage_row)(number, given)
            rows += [replace(row, currency=code(row.currency) or currency) for row in read]
        except ValueError as error:
            problems.append(f"{path}:{number}: {error}")
        spans.append((_first(given, "start"), _first(given, "end")))
    unknown = sorted({row.currency for row in rows if row.currency != currency and not (rates.get(row.currency) and rates.get(currency))})
    if unknown:
        problems.append(f"{path}: is in {', '.join(unknown)}, the plan in {currency}: make the plan with that budget.currency")
    if not rows and not problems:
        problems.append(f"{path}: has a header and no rows")
    if problems:
        raise InputError(problems)
    found = {other: to_currency(to_usd(1.0, rates[other]), rates[currency]) for other in {row.currency for row in rows} - {currency}}
    converted = tuple((other, sum(row.currency == other for row in rows), rate) for other, rate in sorted(found.items()))
    same = tuple(replace(row, cost=scaled_usd(row.cost, found.get(row.currency, 1.0)), currency=currency) for row in rows)
    start, end, hours = period(spans)
    return Invoice(path, form, currency, same, start, end, hours, converted)


def told(cell: str) -> str:
    """A cell, empty where it says that it has no value, as databases and FOCUS exports write it.

    >>> told("NULL"), told("12.5"), told("null")
    ('', '12.5', '')
    """
    return "" if cell.lower() in ("null", "\\n", "none", "nan") else cell


def plain(head: str) -> str:
    """A header without case and punctuation.

    >>> plain("lineItem/UnblendedCost"), plain("line_item_unblended_cost"), plain("BilledCost")
    ('lineitemunblendedcost', 'lineitemunblendedcost', 'billedcost')
    """
    return re.sub(r"[^a-z0-9]", "", head.lower())


def code(text: str) -> str:
    """A currency as its code in capitals.

    >>> code("usd"), code(" Eur "), code("$")
    ('USD', 'EUR', 'USD')
    """
    return SYMBOLS.get(text.strip(), text.strip().upper())


def _form(path: Path, heads: Mapping[str, str]) -> str:
    if "billedcost" in heads and ("servicename" in heads or "chargecategory" in heads or "resourceid" in heads):
        return "focus"
    if CUR["cost"] in heads:
        return "cur"
    if not (_find(heads, "name") and _find(heads, "cost")):
        wanted = "BilledCost and ServiceName (FOCUS), or a name (model, relay) and a cost (cost, amount)"
        shown = ", ".join(list(heads.values())[:8]) or "is empty"
        raise InputError(f"{path}:1: header {shown}: no columns that are known; needed: {wanted}")
    return "usage"


def _find(heads: Mapping[str, str], what: str) -> str | None:
    return next((name for name in NAMES[what] if name in heads), None)


def _first(given: Mapping[str, str], what: str) -> str:
    """The first value that a row states under any header of a field."""
    return next((given[name] for name in NAMES[what] if given.get(name)), "")


def _number(given: Mapping[str, str], name: str | None) -> float | None:
    text = given.get(name or "", "").replace(",", "").lstrip("".join(SYMBOLS))
    if not text:
        return None
    try:
        value = float(text)
    except ValueError:
        raise ValueError(f'{name}: "{text}" is not a number; write digits with a point') from None
    if not math.isfinite(value):
        raise ValueError(f'{name}: "{text}" is not finite')
    return value


def kind_of_row(category: str, cost: float, names: tuple[str, ...]) -> str:
    """What a row charges: use, tax or, where money comes back, a credit."""
    said = category.lower()
    if said == "tax" or (not said and any(TAX_WORDS.search(name) for name in names)):
        return "tax"
    return "credit" if said in CREDIT_CATEGORIES or "discount" in said or cost < 0 else "usage"


def _focus_row(line: int, given: Mapping[str, str]) -> list[InvoiceRow]:
    """Cost, item and quantity of one FOCUS row; what is neither tokens nor hours has no units."""
    cost = _number(given, "billedcost")
    if cost is None:
        raise ValueError("billedcost: is empty; every FOCUS row has one")
    names = tuple(given[key] for key in FOCUS_NAMES if given.get(key))
    quantity = _number(given, "consumedquantity")
    unit = (given.get("consumedunit") or given.get("pricingunit") or "").lower()
    if quantity is None:
        quantity, unit = _number(given, "pricingquantity"), (given.get("pricingunit") or "").lower()
    row = InvoiceRow(line, names, cost, requests=_number(given, "xrequests"), attempts=_number(given, "xattempts"))
    row.kind, row.currency = kind_of_row(given.get("chargecategory", ""), cost, names), given.get("billingcurrency", "")
    said = given.get("xitem") or f"{given.get('skumeter', '')} {given.get('chargedescription', '')} {given.get('skuid', '')}"
    _measure(row, quantity, unit, said.lower(), bool(given.get("xitem")))
    return [row]


def _measure(row: InvoiceRow, quantity: float | None, unit: str, said: str, ours: bool = False) -> None:
    """Enters hours or million tokens of a row; `ours`: a plan's own row, which says the item itself."""
    if quantity is None:
        return
    if unit in HOURS:
        row.units["host-hour"] = quantity * HOURS[unit]
    elif unit in PER_MILLION:
        row.units[said if ours and said.endswith(" tokens") else token_item(said)] = quantity * PER_MILLION[unit]


def _cur_row(line: int, given: Mapping[str, str]) -> list[InvoiceRow]:
    """A row of an AWS cost and usage report; hours by `pricing/unit`, else by a usage type that names an instance."""
    cost = _number(given, CUR["cost"])
    if cost is None:
        raise ValueError(f"{CUR['cost']}: is empty; every row of the report has one")
    names = tuple(given[key] for key in CUR_NAMES if given.get(key))
    row = InvoiceRow(line, names, cost, currency=given.get(CUR["currency"], ""))
    row.kind = kind_of_row(given.get(CUR["category"], ""), cost, names)
    unit, usage = given.get(CUR["unit"], "").lower(), given.get("lineitemusagetype", "").lower()
    if not unit and ("boxusage" in usage or given.get("productinstancetype")):
        unit = "hrs"
    _measure(row, _number(given, CUR["amount"]), unit, f"{usage} {given.get('lineitemlineitemdescription', '')}".lower())
    return [row]


def token_item(text: str) -> str:
    """Which kind of token a text speaks of; input where it names none.

    >>> token_item("GPT-4.1 cached input"), token_item("completion tokens"), token_item("prompt")
    ('cached tokens', 'output tokens', 'input tokens')
    """
    if "cache" in text:
        return "cached tokens"
    return "output tokens" if any(word in text for word in ("output", "completion", "generated")) else "input tokens"


def _usage_row(line: int, given: Mapping[str, str]) -> list[InvoiceRow]:
    """A row of a usage export, and its tax as a row of its own; cached tokens are part of its input tokens."""
    cost = _number(given, _find(given, "cost"))
    if cost is None:
        raise ValueError(f"{_find(given, 'cost')}: is empty; write what the row cost")
    names = tuple(text for text in (given.get(_find(given, "name") or "", ""), _first(given, "vendor")) if text) or ("",)
    row = InvoiceRow(line, names, cost, currency=_first(given, "currency"))
    row.kind = kind_of_row("", cost, names)
    row.requests, row.attempts = _number(given, _find(given, "requests")), _number(given, _find(given, "attempts"))
    tokens = {item: _number(given, _find(given, item)) for item in TOKENS}
    cached = tokens["cached tokens"] or 0.0
    if tokens["input tokens"] is not None:
        tokens["input tokens"] = max(0.0, tokens["input tokens"] - cached)
    row.units = {item: value / 1e6 for item, value in tokens.items() if value}
    hours = _number(given, _find(given, "hours"))
    if hours:
        row.units["host-hour"] = hours
    tax = _number(given, _find(given, "tax"))
    return [row] if not tax else [row, InvoiceRow(line, ("tax",), tax, kind="tax", currency=row.currency)]


def instant(text: str) -> tuple[datetime, bool] | None:
    """(moment, whether it is a day without a time) of an ISO text or of seconds since 1970; None where it is neither."""
    try:
        if text.isdigit() and len(text) >= 9:
            return datetime.fromtimestamp(int(text), UTC), False
        found = datetime.fromisoformat(text.replace("Z", "+00:00"))
    except (ValueError, OverflowError, OSError):
        return None
    return found.replace(tzinfo=found.tzinfo or UTC), len(text) <= 10


def period(spans: list[tuple[str, str]]) -> tuple[str, str, float | None]:
    """(first start, last end, hours between them) as rows state them; no hours where fewer than two days are named.

    An end without a time of day is that of the next period where it is the first of a month, else the last day included.

    >>> period([("2026-11-01T00:00:00Z", "2026-12-01T00:00:00Z")])[2], period([("2026-11-01", "2026-11-30")])[2]
    (720.0, 720.0)
    >>> period([("2026-11-01", ""), ("2026-11-30", "")])[2], period([("", "")])[2]
    (720.0, None)
    """
    starts = sorted((found, text) for text, _ in spans if text and (found := instant(text)) is not None)
    ends = sorted((found, text) for _, text in spans if text and (found := instant(text)) is not None)
    if not starts:
        return "", max((text for _, text in spans), default=""), None
    (first, _), start = starts[0]
    if ends:
        (last, whole_day), end = ends[-1]
        last += timedelta(days=1) if whole_day and last.day != 1 else timedelta(0)
    else:
        (last, _), end = starts[-1]
        last += timedelta(days=1) if last > first else timedelta(0)
    hours = (last - first).total_seconds() / 3600
    return start, end, hours if hours >= 24 else None
