"""Money is computed in `optimize/money` alone: no other room multiplies or divides what its name calls dollars, a price or a cost.

The rule reads the source. Allowed everywhere: a part of a whole (money divided by money), a tolerance (`x * (1 - SAME)`), and what
stands in EXCEPTIONS with its reason.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
MONEY = re.compile(r"(^|_)(usd|price|prices|cost|costs|per_month)(_|$)")
NOT_MONEY = re.compile(
    r"^(requests|tokens)_per_month$|_s$|^gpu_price$|^api_price$|^gpu_prices$|^usd_per_unit$"
)  # seconds, factors on prices, rates of exchange
PARTIAL = ("float", "round", "sum", "abs", "max", "min", "fsum", "asarray", "array", "where", "sum")  # what they return is what they take
EXCEPTIONS = {
    "optimize/program/by_stages/": "dual prices, Lagrangian bounds and budgets shared among hours are numbers of the solution method",
    "optimize/program/solver.py": "scales the objective for the solver",
    "optimize/program/rows/accounts.py": "scales rows for the solver",
    "optimize/program/reachable.py": "how many requests a budget could buy at most, to cut demand far beyond it",
    "optimize/explain/duals.py": "shadow prices: duals of the relaxation",
    "optimize/estimate/new_scenario.py": "how many conversations a bill buys; whether a bill agrees with what was computed",
    "optimize/program/substitutes.py": "hosts that calls of the same price would buy: a bound on a variable",
    "optimize/estimate/input_ranking.py": "the effect of an input is a ratio of two bills",
    "optimize/audit/bill_bridge.py": "a bridge between two given bills: units and prices come from files, nothing is priced",
    "optimize/audit/compare_invoice.py": "unit prices as an invoice states them: its cost over its quantity",
    "optimize/report/workbook/": "numbers next to the formulas of a workbook, which recalculates them",
    "optimize/finance/curves.py": "levels of curves: ratios of two solved costs",
    "sim/probe/": "what a probe of a live endpoint may spend, before there is a plan",
    "sim/scenario/credit.py": "prices at what a seller's credit is paid with: a conversion while the scenario is read",
    "sim/start/from_log.py": "what a log says that its requests cost, scaled to a month",
}


def names_in(node: ast.AST) -> list[str]:
    """Identifiers that say what an operand is."""
    if isinstance(node, ast.Name):
        return [node.id]
    if isinstance(node, ast.Attribute):
        return [node.attr]
    if isinstance(node, ast.Subscript | ast.Starred):
        return names_in(node.value)
    if isinstance(node, ast.UnaryOp):
        return names_in(node.operand)
    if isinstance(node, ast.BinOp):
        return [] if is_ratio(node) else names_in(node.left) + names_in(node.right)
    if isinstance(node, ast.IfExp):
        return names_in(node.body) + names_in(node.orelse)
    if isinstance(node, ast.GeneratorExp | ast.ListComp):
        return names_in(node.elt)
    if isinstance(node, ast.Call):
        called = names_in(node.func)
        return [name for arg in node.args for name in names_in(arg)] if called and called[-1] in PARTIAL else called
    return []


def is_money(node: ast.AST) -> bool:
    return any(MONEY.search(name) and not NOT_MONEY.search(name) for name in names_in(node))


def is_ratio(node: ast.BinOp) -> bool:
    return isinstance(node.op, ast.Div) and is_money(node.left) and is_money(node.right)


def is_tolerance(node: ast.AST) -> bool:
    """A number near one, or a threshold: made of constants and names in capitals alone, units apart."""
    if isinstance(node, ast.Constant):
        return isinstance(node.value, float) and 0.9 < node.value < 1.1
    if isinstance(node, ast.Name):
        return node.id.isupper() and node.id not in ("HOUR_S", "HOURS_PER_MONTH", "MTOK", "MONTHS_PER_YEAR")
    if isinstance(node, ast.BinOp):
        return all(isinstance(side, ast.Constant) or is_tolerance(side) for side in (node.left, node.right))
    return False


def computed_money(source: str) -> Iterator[int]:
    """Lines on which an amount or a price is multiplied or divided."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.BinOp):
            left, right = node.left, node.right
        elif isinstance(node, ast.AugAssign):
            left, right = node.target, node.value
        else:
            continue
        if not isinstance(node.op, ast.Mult | ast.Div | ast.MatMult) or isinstance(left, ast.JoinedStr):
            continue
        ratio = isinstance(node.op, ast.Div) and is_money(left) and is_money(right)
        if (is_money(left) or is_money(right)) and not ratio and not is_tolerance(left) and not is_tolerance(right):
            yield node.lineno


def breaches(root: Path) -> list[str]:
    found = []
    for file in sorted([*(root / "optimize").rglob("*.py"), *(root / "sim").rglob("*.py")]):
        name = file.relative_to(root).as_posix()
        if not name.startswith(("optimize/money/", *EXCEPTIONS)):
            found += [f"{name}:{line}" for line in computed_money(file.read_text(encoding="utf-8"))]
    return sorted(set(found))


def test_no_room_but_money_computes_money() -> None:
    assert breaches(ROOT) == [], "call a function of optimize/money (amounts.py has the plain ones) instead"


def test_every_exception_is_still_one() -> None:
    """An exception that nothing needs any more goes."""
    for prefix in EXCEPTIONS:
        files = [ROOT / prefix] if prefix.endswith(".py") else sorted((ROOT / prefix).rglob("*.py"))
        assert any(list(computed_money(file.read_text(encoding="utf-8"))) for file in files), prefix


def test_a_planted_breach_is_found_and_a_share_is_not() -> None:
    planted = "def f(offer, hosts, usd):\n    a = offer.usd_per_hour * hosts\n    usd /= 12\n    b = sum(x.cost_usd for x in hosts) * 2\n"
    assert sorted(computed_money(planted)) == [2, 3, 4]
    allowed = "def f(a_usd, b_usd):\n    share = a_usd / b_usd\n    return a_usd > b_usd * (1 + 1e-9) and a_usd - b_usd < share\n"
    assert list(computed_money(allowed)) == []
