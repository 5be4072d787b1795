"""Own or rent as formulas over the assumptions: what is open stays out of the sum, and is what the answer leaves room for."""

from __future__ import annotations

from typing import Any

from optimize.finance.own_or_rent import OwnOrRent
from optimize.money.amounts import share_of
from optimize.money.ownership import OwnedMonth
from optimize.report.workbook.lines import CHARGES_SHEET, EXACT
from optimize.report.workbook.pen import Pen, address, place
from optimize.tables.bill_lines import cents_of
from optimize.tables.finance_tables import Money

SHEET = "Own or rent"
OPEN = (
    '=TRIM(IF(staff_usd_per_month="","staff; ","")&IF(maintenance_share="","maintenance; ","")&IF(cost_of_capital="","cost of capital",""))'
)


def write_own(pen: Pen, money: Money) -> None:
    """A block per rented pool."""
    sheet = pen.sheet(SHEET, (44, 18, 90))
    sheet.write_string(0, 0, "Own or rent", pen.formats["title"])
    words = (
        "As many own hosts as the busiest hour needs. Economic view: annuity once the cost of capital is known. Book view: straight line."
    )
    sheet.write_string(1, 0, words, pen.formats["dim"])
    r = 3
    for row in money.own:
        r = _block(pen, sheet, money, row, r) + 1
    if not money.own:
        sheet.write_string(r, 0, "this plan rents no hosts")


def _block(pen: Pen, sheet: Any, money: Money, row: OwnOrRent, r: int) -> int:
    sheet.write_string(r, 0, row.pool, pen.formats["bold"])
    month, host = row.month, row.host
    if month is None or host is None:
        sheet.write_string(r + 1, 0, row.sentence)
        return r + 2
    charge = next((k for k, c in enumerate(money.charges, start=1) if c.line == row.pool and c.item == "host-hour"), None)
    rent = f"={place(CHARGES_SHEET, charge, EXACT)}" if charge is not None else f"={row.rent_usd!r}/usd_per_unit"
    share = share_of(row.rent_usd, sum(each.rent_usd for each in money.own))  # of staff that the scenario gives
    formulas, top = _formulas(pen, row, share), r + 1
    values = _values(money, row, month)
    sheet.write_string(top, 0, "hosts")
    sheet.write_number(top, 1, month.hosts)
    sheet.write_string(top + 1, 0, "load of what is paid (utilisation, meaning 2)")
    sheet.write_number(top + 1, 1, row.load_share, pen.formats["share"])
    sheet.write_string(top + 2, 0, f"rent a month, {pen.currency}")
    pen.formula(sheet, top + 2, 1, rent, cents_of(money.plan, row.rent_usd) / 100)
    cells = {"hosts": address(top, 1), "load": address(top + 1, 1), "purchase": address(top + 3, 1)}
    for k, (label, text) in enumerate(formulas):
        sheet.write_string(top + 3 + k, 0, f"{label}, {pen.currency}")
        pen.formula(sheet, top + 3 + k, 1, text.format(**cells), values[label], "money_right")
    last = top + 3 + len(formulas)
    sheet.write_string(last, 0, f"own hosts a month, known parts, {pen.currency}", pen.formats["bold"])
    known = f"=SUM({address(top + 4, 1)}:{address(last - 2, 1)})"
    pen.formula(sheet, last, 1, known, cents_of(money.plan, month.known_usd) / 100, "total")
    sheet.write_string(last + 1, 0, f"left for the open parts, {pen.currency}", pen.formats["bold"])
    left = cents_of(money.plan, row.rent_usd - month.known_usd) / 100
    pen.formula(sheet, last + 1, 1, f"={address(top + 2, 1)}-{address(last, 1)}", left, "total")
    sheet.write_string(last + 2, 0, "open parts (negative room: owning never wins)")
    sheet.write_formula(last + 2, 1, OPEN, None, "; ".join(month.open))
    return last + 3


def _formulas(pen: Pen, row: OwnOrRent, share: float) -> list[tuple[str, str]]:
    """(label, formula); {hosts}, {load} and {purchase} stand for cells of the block. The book line comes last and is not summed."""
    assert row.host is not None
    gpus, tdp_kw = row.host.gpus, f"{row.host.tdp_w / 1000!r}"
    gpu = pen.prices[f"purchase {row.gpu}"]
    residual, months = "{purchase}*residual_share_36m^(life_months/36)", "life_months"
    rate = "((1+cost_of_capital)^(1/12)-1)"
    annuity = f"({{purchase}}-{residual}/(1+cost_of_capital)^({months}/12))*{rate}/(1-(1+cost_of_capital)^(-{months}/12))"
    line = f"({{purchase}}-{residual})/{months}"
    draw = f"{{hosts}}*{gpus}*{tdp_kw}*(idle_share+(1-idle_share)*{{load}})*host_power_factor"
    book = "({purchase}-{purchase}*residual_share_36m^(book_life_months/36))/book_life_months"
    return [
        ("purchase", f"={{hosts}}*{gpus}*{gpu}*(1+host_share)*(1+network_share)/usd_per_unit"),
        ("capital", f'=IF(OR(cost_of_capital="",cost_of_capital=0),{line},{annuity})'),
        ("electricity", f"={draw}*pue*730*electricity_usd_per_kwh/usd_per_unit"),
        ("colocation", f"={{hosts}}*{gpus}*{tdp_kw}*host_power_factor*colocation_usd_per_kw_month/usd_per_unit"),
        ("failures", f"={{hosts}}*{gpus}*{gpu}*failures_per_gpu_year/12/usd_per_unit"),
        ("maintenance", '=IF(maintenance_share="","open",{purchase}*maintenance_share/12)'),
        ("staff", f'=IF(staff_usd_per_month="","open",staff_usd_per_month/usd_per_unit*{share!r})'),
        ("book view: straight line", f"={book}"),
    ]


def _values(money: Money, row: OwnOrRent, month: OwnedMonth) -> dict[str, float | str]:
    """Today's value of each formula."""
    parts: dict[str, float | str] = {line.name: cents_of(money.plan, line.usd) / 100 for line in month.lines}
    parts["purchase"] = cents_of(money.plan, month.purchase_usd) / 100
    parts["book view: straight line"] = cents_of(money.plan, month.book_usd) / 100
    return {"maintenance": "open", "staff": "open"} | parts
