"""Own or rent as formulas over the assumptions: what is open stays out of the sum, and is what the answer leaves room for."""

from __future__ import annotations

from typing import Any

from optimize.finance.own_or_rent import OwnOrRent
from optimize.money.ownership import OwnedMonth
from optimize.report.workbook.hosts_by_hour import most_hosts
from optimize.report.workbook.lines import CHARGES_SHEET, EXACT
from optimize.report.workbook.live import literal, money_text, sentence
from optimize.report.workbook.pen import Pen, address, place
from optimize.report.workbook.scenario_cells import FACTORS
from optimize.tables.bill_lines import cents_of
from optimize.tables.finance_tables import Money

SHEET = "Own or rent"
OPEN = (
    '=SUBSTITUTE(MID(IF(staff_usd_per_month="","|staff","")&IF(maintenance_share="","|maintenance","")'
    '&IF(cost_of_capital="","|cost of capital",""),2,99),"|","; ")'
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
    rent = f"={_rent(money, row)}"
    formulas, top = _formulas(pen, row), r + 1
    values = _values(money, row, month)
    sheet.write_string(top, 0, "hosts")
    p = next(p for p, terms in enumerate(money.plan.program.pools) if terms.option.id == row.pool)
    pen.formula(sheet, top, 1, f"={most_hosts(money.plan, p)}", month.hosts, "hosts")
    sheet.write_string(top + 1, 0, "load of what is paid (utilisation, meaning 2)")
    load = f"=MIN(1,{row.load_share * month.hosts!r}*{FACTORS[0]}/{address(top, 1)})"
    pen.formula(sheet, top + 1, 1, load, row.load_share, "share")
    sheet.write_string(top + 2, 0, f"rent a month, {pen.currency}")
    pen.formula(sheet, top + 2, 1, rent, cents_of(money.plan, row.rent_usd) / 100)
    rents = "+".join(_rent(money, each) for each in money.own)
    cells = {
        "share": f"IF(({rents})=0,0,{_rent(money, row)}/({rents}))",
        "hosts": address(top, 1),
        "load": address(top + 1, 1),
        "purchase": address(top + 3, 1),
    }
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
    sheet.write_string(last + 3, 0, "in words", pen.formats["bold"])
    known_cell, rent_cell, left_cell, open_cell = (address(k, 1) for k in (last, top + 2, last + 1, last + 2))
    rent_now, known_now = (cents_of(money.plan, usd) / 100 for usd in (row.rent_usd, month.known_usd))
    now = own_sentence(row.pool, pen.currency, rent_now, known_now, "; ".join(month.open))
    text = _sentence(pen, row.pool, known_cell, rent_cell, left_cell, open_cell)
    sheet.write_formula(last + 3, 1, text, None, now)
    pen.own_words.append((f"={place(SHEET, last + 3, 1)}", now))
    return last + 4


def _rent(money: Money, row: OwnOrRent) -> str:
    """The rent of a pool, without the equals sign."""
    charge = next((k for k, c in enumerate(money.charges, start=1) if c.line == row.pool and c.item == "host-hour"), None)
    return place(CHARGES_SHEET, charge, EXACT) if charge is not None else f"{row.rent_usd!r}/usd_per_unit"


def _sentence(pen: Pen, pool: str, known: str, rent: str, left: str, is_open: str) -> str:
    """The verdict as a formula; `own_sentence` says the same."""
    all_known = f"{literal('owning ')}&IF({left}>0,{literal('wins')},{literal('does not win')})&{literal(': ')}&{money_text(pen, known)}"
    some = f"{literal('owning never wins: ')}&{money_text(pen, known)}&{literal(' a month before ')}&{is_open}"
    below = f"{literal('owning wins only below ')}&{money_text(pen, left)}&{literal(' a month for ')}&{is_open}"
    renting = f"{literal(', renting ')}&{money_text(pen, rent)}"
    closed = f"{all_known}&{literal(' a month')}&{renting}"
    return sentence(literal(f"{pool}: "), f'IF({is_open}="",{closed},IF({left}<=0,{some}&{renting},{below}))')


def own_sentence(pool: str, currency: str, rent: float, known: float, is_open: str) -> str:
    """Own or rent in one sentence, in the currency of the workbook; a part that is open is never taken as zero.

    >>> own_sentence("p", "USD", 100.0, 80.0, "staff"), own_sentence("p", "USD", 100.0, 80.0, "")
    ('p: owning wins only below 20.00 USD a month for staff', 'p: owning wins: 80.00 USD a month, renting 100.00 USD')
    """
    left, renting = rent - known, f", renting {rent:,.2f} {currency}"
    if not is_open:
        return f"{pool}: owning {'wins' if left > 0 else 'does not win'}: {known:,.2f} {currency} a month{renting}"
    if left <= 0:
        return f"{pool}: owning never wins: {known:,.2f} {currency} a month before {is_open}{renting}"
    return f"{pool}: owning wins only below {left:,.2f} {currency} a month for {is_open}"


def _formulas(pen: Pen, row: OwnOrRent) -> list[tuple[str, str]]:
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
        ("staff", '=IF(staff_usd_per_month="","open",staff_usd_per_month/usd_per_unit*{share})'),
        ("book view: straight line", f"={book}"),
    ]


def _values(money: Money, row: OwnOrRent, month: OwnedMonth) -> dict[str, float | str]:
    """Today's value of each formula."""
    parts: dict[str, float | str] = {line.name: cents_of(money.plan, line.usd) / 100 for line in month.lines}
    parts["purchase"] = cents_of(money.plan, month.purchase_usd) / 100
    parts["book view: straight line"] = cents_of(money.plan, month.book_usd) / 100
    return {"maintenance": "open", "staff": "open"} | parts
