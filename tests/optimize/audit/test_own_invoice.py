"""A plan's own invoice in three forms reconciles to zero; five planted deviations stand at their line and at their size."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.optimize.audit.test_compare import held_against


@dataclass(frozen=True)
class Billed:
    """Units of one item on an invoice, and what it asks for them."""

    name: str
    item: str  # "hours", "input tokens", "output tokens" (millions) or "month"
    quantity: float
    cost: float


OWN = (
    Billed("verda.h100x2", "hours", 3000.0, 15_000.0),
    Billed("verda.h100", "hours", 1200.0, 3_000.0),
    Billed("gpt-4.1", "input tokens", 600.0, 1_200.0),
    Billed("gpt-4.1", "output tokens", 100.0, 800.0),
    Billed("fixed costs", "month", 1.0, 500.0),
)
PLANTED = (
    Billed("verda.h100x2", "hours", 3300.0, 16_500.0),  # 300 hours more
    Billed("verda.h100", "hours", 1200.0, 3_300.0),  # a tenth dearer
    Billed("gpt-4.1", "input tokens", 600.0, 1_200.0),
    Billed("gpt-4.1", "output tokens", 150.0, 1_200.0),  # half as many answers more
    Billed("speech-service", "month", 1.0, 77.0),  # in no plan; and the fixed costs are missing
)


def focus(rows: tuple[Billed, ...]) -> str:
    head = "BilledCost,ServiceName,ChargeCategory,ConsumedQuantity,ConsumedUnit,BillingCurrency,x_Item"
    units = {"hours": "Hours", "month": ""}
    lines = []
    for row in rows:
        tokens = row.item.endswith("tokens")
        quantity = "" if row.item == "month" else f"{row.quantity}"
        unit = units.get(row.item, "1000000 Tokens")
        lines.append(f"{row.cost},{row.name},Usage,{quantity},{unit},USD,{row.item if tokens else ''}")
    return "\n".join([head, *lines]) + "\n"


def cost_and_usage(rows: tuple[Billed, ...]) -> str:
    head = "lineItem/LineItemType,lineItem/UsageType,lineItem/UsageAmount,pricing/unit,lineItem/UnblendedCost,lineItem/CurrencyCode"
    lines = []
    for row in rows:
        amount, unit, kind = ("", "", row.name)
        if row.item == "hours":
            amount, unit, kind = f"{row.quantity}", "Hrs", f"EUC1-BoxUsage:{row.name}"
        elif row.item.endswith("tokens"):
            amount, unit, kind = f"{row.quantity}", "1M tokens", f"{row.name}:{row.item.replace(' ', '-')}"
        lines.append(f"Usage,{kind},{amount},{unit},{row.cost},USD")
    return "\n".join([head, *lines]) + "\n"


def usage_export(rows: tuple[Billed, ...]) -> str:
    """As OpenAI's usage export counts: tokens one by one, an amount per row."""
    head = "model,n_context_tokens_total,n_generated_tokens_total,hours,amount_value,amount_currency"
    places = {"input tokens": "{:.0f},,", "output tokens": ",{:.0f},", "hours": ",,{}", "month": ",,"}
    lines = []
    for row in rows:
        count = row.quantity * 1e6 if row.item.endswith("tokens") else row.quantity
        lines.append(f"{row.name},{places[row.item].format(count)},{row.cost},usd")
    return "\n".join([head, *lines]) + "\n"


FORMS = {"FOCUS": focus, "cost and usage report": cost_and_usage, "usage export": usage_export}


@pytest.mark.parametrize("form", FORMS)
def test_the_plans_own_invoice_reconciles_to_zero(form: str, tmp_path: Path) -> None:
    found, gaps, steps = held_against(tmp_path, FORMS[form](OWN))
    assert found.bills[1].total == found.bills[0].total
    assert all(abs(amount) < 0.01 for amount in steps.values()), steps
    assert all(abs(gap.quantity or 0.0) < 0.01 and abs(gap.price or 0.0) < 0.01 for gap in gaps.values())
    assert {name for name, gap in gaps.items() if gap.quantity is None} <= {"fixed costs"}


@pytest.mark.parametrize("form", FORMS)
def test_five_planted_deviations_stand_at_their_line_and_size(form: str, tmp_path: Path) -> None:
    _, gaps, steps = held_against(tmp_path, FORMS[form](PLANTED))
    assert (gaps["verda.h100x2"].quantity, gaps["verda.h100x2"].price) == pytest.approx((1_500.0, 0.0), abs=0.01)
    (faq,) = [gap for name, gap in gaps.items() if name.startswith("verda.h100/") or name == "verda.h100"]
    assert (faq.quantity, faq.price) == pytest.approx((0.0, 300.0), abs=0.01)
    assert (gaps["openai.gpt-4.1"].quantity, gaps["openai.gpt-4.1"].price) == pytest.approx((400.0, 0.0), abs=0.01)
    assert steps["not in the plan"] == pytest.approx(77.0) and steps["not invoiced"] == pytest.approx(-500.0)
