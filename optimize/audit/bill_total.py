"""A bill in a file as `new` needs it: what a month of each model costs."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from pathlib import Path

from optimize.audit.invoice_file import InvoiceRow, read_invoice
from optimize.money.amounts import scaled_usd
from optimize.money.units import HOURS_PER_MONTH
from sim.catalog.facts import Catalog
from sim.errors import InputError
from sim.start.names import known_model

REGION = re.compile(r"^[a-z]{2,4}\d-", re.IGNORECASE)  # of an AWS usage type: USE1-, EUC1-
WORDS = "input|output|cached?|read|write|prompt|completion|tokens?|count|batch|cross|region|global|usage"
KIND = re.compile(rf"[-_,:; ]+(?:{WORDS})(?![a-z0-9])", re.IGNORECASE)
LITTLE = 0.02  # of the bill, in lines of no known model, that is left out without a word of its own


@dataclass(frozen=True)
class BillTotal:
    """A month of `model` in the bill's currency, and what else must be said of the bill."""

    amount: float
    model: str
    notes: tuple[str, ...]


def bill_total(path: Path, currency: str, model: str | None, catalog: Catalog) -> BillTotal:
    """The month's cost of `model` in the bill at `path`; None: of the one model that the bill names.

    A bill over another span of days is brought to 730 hours. Raises InputError where it names no known model, or several and none is
    chosen.
    """
    rates = {"USD": 1.0, **catalog.fx_usd}
    invoice = read_invoice(path, currency, rates)
    used = [row for row in invoice.rows if row.kind == "usage"]
    by_model: dict[str, list[float]] = {}
    for row in used:
        by_model.setdefault(model_of(row, catalog) or "", []).append(row.cost)
    sums = {name: math.fsum(costs) for name, costs in by_model.items()}
    other = sums.pop("", 0.0)
    if model is None and len(sums) == 1:
        model = next(iter(sums))
    if model is None or model not in sums:
        told = (
            ", ".join(f"{name} {usd:,.2f} {currency}" for name, usd in sorted(sums.items(), key=lambda each: -each[1])) or "no known model"
        )
        raise InputError(f"{path}: names {told}; say with --model which model's part is to be planned")
    month = 1.0 if invoice.hours is None else HOURS_PER_MONTH / invoice.hours
    amount = scaled_usd(sums[model], month)
    if not amount > 0:
        raise InputError(f"{path}: {model} costs {amount:,.2f} {currency}; a bill to plan from is above 0")
    notes = [
        f"{path}: {model} for {amount:,.2f} {currency} a month" + ("" if invoice.hours is None else f", from {invoice.hours:,.0f} hours")
    ]
    rest = [f"{name} {usd:,.2f}" for name, usd in sums.items() if name != model]
    if rest or other > LITTLE * math.fsum(sums.values()):
        rest += [f"lines of no known model {other:,.2f}"] if other else []
        notes.append(f"not in this scenario: {', '.join(rest)} {currency}")
    taxes = math.fsum(row.cost for row in invoice.rows if row.kind != "usage")
    if taxes:
        notes.append(f"taxes and credits of {taxes:,.2f} {currency} are left out")
    return BillTotal(amount, model, tuple(notes))


def model_of(row: InvoiceRow, catalog: Catalog) -> str | None:
    """The model of the catalogue that one of a row's names means; None where none does."""
    return next((found for name in row.names if (found := named_model_in(name, catalog)) is not None), None)


def named_model_in(name: str, catalog: Catalog) -> str | None:
    """The model of the catalogue that a line of a bill is about, regions, remarks in brackets and kinds of tokens aside."""
    short = REGION.sub("", re.sub(r"\([^)]*\)", "", name)).strip()
    forms = (name, short, KIND.sub("", short))
    return next((found for form in forms if (found := known_model(form, catalog)) is not None), None)
