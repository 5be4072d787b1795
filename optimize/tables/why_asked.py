"""One paragraph per question about a plan, from its plan.json alone: why not this, why this class so, why this hour so."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from typing import Any

from optimize.money.amounts import amount_usd, per_unit_usd, share_of
from optimize.tables.bill_lines import Bill
from optimize.tables.plain_numbers import count, duration, percent, promise
from optimize.tables.short_names import company
from sim.errors import InputError
from sim.plural import counted

Json = dict[str, Any]
NEVER_S = 1e9
SAID = 3  # reasons, rows and targets that a paragraph names
CLOSE = 0.995  # of today's price: from here a candidate costs as much as the plan does at the margin


def why_not(plan: Json, name: str) -> str:
    """Why an offer, GPU type, model, relay or vendor is not bought, or how much of it is. InputError: the plan does not know the name."""
    wanted = name.lower()
    bought = [row for row in plan["fleet"] if wanted in _words(row, ("pool", "offer", "gpu", "model"))]
    bought += [row for row in plan["relays"] if wanted in _words(row, ("relay", "model"))]
    rows = [row for row in plan.get("considered", ()) if wanted in _words(row, ("name", "offer", "gpu", "model", "vendor"))]
    dropped = [row for row in plan["dropped"] if wanted in _parts(row["name"]) or wanted in row["name"].lower()]
    others = [row for row in plan["alternatives"] if wanted in row["name"].lower().replace(":", " ").split()]
    if not (bought or rows or dropped or others):
        raise InputError(_unknown("--why-not", name, _candidates(plan), "offer, GPU type, model or relay of this plan"))
    bill = _bill(plan)
    told = [_bought(plan, bill, name, bought)] if bought else []
    if rows:
        told.append(_considered(plan, bill, name, rows, also=bool(bought)))
    if dropped:
        told.append(_dropped(name, dropped, also=bool(told)))
    for other in others[:1]:
        none = "no plan that keeps every promise"
        cost = none if other["per_month"] is None else f"{bill.units(other['per_month'])} a month"
        note = f" ({other['note']})" if other["note"] else ""
        told.append(f'The alternative "{other["name"]}": {cost}, {other["status"].replace("_", " ")}{note}.')
    flips = [row["sentence"] for row in plan["flips"] if wanted in row["name"].lower().split() or wanted in row["sentence"].lower()]
    told += [f"{words[0].upper()}{words[1:]}." for words in flips[:1]]
    return " ".join(told)


def why_class(plan: Json, name: str) -> str:
    """Who serves a class and at what cost, what it is promised and gets, what its next request would cost."""
    found = next((row for row in plan["classes"] if row["name"].lower() == name.lower()), None)
    if found is None:
        raise InputError(_unknown("--why-class", name, [row["name"] for row in plan["classes"]], "request class of this plan"))
    bill = _bill(plan)
    told = [f"{found['name']}: {count(found['requests_per_month'])} requests a month, served by {_shares(found['served_by'])}."]
    if found["unserved_share"]:
        told.append(f"{percent(found['unserved_share'])} go unserved.")
    cost = next((row for row in (plan["why"] or {}).get("class_cost", ()) if row["class"] == found["name"]), None)
    if cost is not None and cost["requests_per_month"]:
        per = bill.unit_money(per_unit_usd(amount_usd(cost["per_month"], 100_000), cost["requests_per_month"]))
        more = f"; a thousand more would cost {bill.unit_money(amount_usd(cost['marginal'], 100))}" if cost["marginal"] is not None else ""
        told.append(f"It causes {bill.units(cost['per_month'])} of the bill, {per} per 1,000 requests{more}.")
    told += [_promise(row) for row in found["slo"]] or ["Its promises were not simulated."]
    near = [row for row in plan.get("considered", ()) if row["class"] == found["name"] and row["enters_at"]]
    if near:
        row = max(near, key=lambda each: float(each["enters_at"]))
        told.append(f"The nearest candidate that is not used for it: {row['name']}, {_price_needed(row)}.")
    return " ".join(told)


def why_hour(plan: Json, name: str) -> str:
    """How busy an hour is, which hosts run in it, who serves what, and which promises and pools are narrowest there."""
    names = [row["hour"] for row in plan["hours"]]
    asked = " ".join(name.lower().split())
    place = next((t for t, hour in enumerate(names) if hour.lower() == asked), None)
    if place is None:
        raise InputError(_unknown("--why-hour", name, names, "hour of this plan"))
    hour = names[place]
    rates = [row["demand_rps"] for row in plan["hours"]]
    rank = sorted(rates, reverse=True).index(rates[place]) + 1
    told = [f"{hour}: {rates[place]:.3g} requests a second, the {_ordinal(rank)}busiest of {counted(len(rates), 'hour')}."]
    for pool in plan["fleet"]:
        replicas = pool["replicas"]
        ends = f"{replicas['base']} to {replicas['peak']} over all hours"
        told.append(f"{pool['pool']} runs {counted(replicas['by_hour'][place], 'replica')} ({ends}).")
    for served, by_target in plan["routing"].items():
        told.append(f"{served} goes to {_shares({target: share[place] or 0.0 for target, share in by_target.items()})}.")
    why = plan["why"] or {}
    told += [f"Narrowest: {_sentence(row, plan)}" for row in why.get("bottlenecks", ()) if row["hour"] == hour]
    for found in plan["classes"]:
        told += [f"{found['name']}: {_promise(row)}" for row in found["slo"] if row["hour"] == hour]
    told += [f"{line}." for line in plan["binding"] if hour in line]
    return " ".join(told)


def _sentence(row: Json, plan: Json) -> str:
    return f"{row['pool']} by {row['limit']}, at {percent(row['load'])} of what keeps the promises."


def _bought(plan: Json, bill: Bill, name: str, rows: Sequence[Json]) -> str:
    cost = sum(row["cost_per_month"] for row in rows)
    whole = plan["cost"]["per_month"]
    ids = ", ".join(row.get("pool") or row["relay"] for row in rows[:SAID])
    share = f", {percent(share_of(cost, whole))} of the bill" if whole else ""
    return f"{name} is in the plan: {bill.units(cost)} a month{share} ({ids})."


def _considered(plan: Json, bill: Bill, name: str, rows: Sequence[Json], also: bool) -> str:
    """The candidate that comes nearest, with the price at which it would enter."""
    row = max(rows, key=lambda each: (not each["late"], each["enters_at"] or 0.0))
    which = (
        f"{counted(len(rows), 'other candidate')} with it {'is' if len(rows) == 1 else 'are'} not bought; nearest"
        if also
        else (f"{name} is a candidate and not bought")
    )
    if not row["class"]:
        return f"{which}: {row['name']} can serve no class of this scenario."
    if row["late"]:
        return f"{which}: {row['name']} alone breaks a promise ({'; '.join(row['late'][:SAID])})."
    if row["per_1000_requests"] is None:
        return f"{which}: {row['name']}."
    cost, marginal = bill.unit_money(100 * row["per_1000_requests"]), row["marginal_per_1000_requests"]
    full = ", on a host that serves as many of them as it can" if row["kind"] == "pool" else ""
    guess = "" if row["measured"] else " (its capacity was not measured and is optimistic)"
    words = f"{which}: on {row['name']} a thousand {row['class']} requests cost {cost}{full}{guess}"
    if marginal is None:
        return f"{words}."
    who: dict[str, float] = next((each["served_by"] for each in plan["classes"] if each["name"] == row["class"]), {})
    main = max(who, key=lambda target: who[target], default="")
    pays = f"the plan pays {bill.unit_money(100 * marginal)} at the margin{f' (mostly {main})' if main else ''}"
    return f"{words}; {pays}. It would enter {_price_needed(row)}."


def _price_needed(row: Json) -> str:
    share = row["enters_at"]
    if share is None:
        return "at no price that is known"
    if share >= CLOSE:
        return "at today's price by this estimate; a spare host, stock, shares or the proof of the simulation keep it out"
    return f"below about {percent(share)} of today's price, {share * row['price']:.3g} {row['unit']} (today {row['price']:.3g})"


def _dropped(name: str, rows: Sequence[Json], also: bool) -> str:
    reasons: dict[str, int] = {}
    for row in rows:
        reasons[row["reason"]] = reasons.get(row["reason"], 0) + 1
    ranked = sorted(reasons.items(), key=lambda each: (-each[1], each[0]))
    told = "; ".join(f"{reason}{f' ({n} times)' if n > 1 else ''}" for reason, n in ranked[:SAID])
    more = f"; and {counted(len(ranked) - SAID, 'other reason')}" if len(ranked) > SAID else ""
    head = "Dropped before the search" if also else f"{name} was dropped before the search"
    return f"{head}, {counted(len(rows), 'shape')}: {told}{more}."


def _promise(row: Json) -> str:
    said = "never" if row["simulated_s"] >= NEVER_S else duration(row["simulated_s"])
    kept = "met" if row["met"] else "MISSED"
    return f"{promise(row['metric'], row['quantile'], row['limit_s'])}: {said} in its worst hour, {row['hour']}, {kept}."


def _shares(by: dict[str, float]) -> str:
    ranked = sorted(((share, target) for target, share in by.items() if share > 0), key=lambda each: (-each[0], each[1]))
    told = ", ".join(f"{target} ({percent(min(1.0, share))})" for share, target in ranked[:SAID])
    return told + (f" and {len(ranked) - SAID} more" if len(ranked) > SAID else "") if ranked else "no one"


def _ordinal(rank: int) -> str:
    if rank == 1:
        return ""
    ending = "th" if 10 <= rank % 100 <= 20 else {1: "st", 2: "nd", 3: "rd"}.get(rank % 10, "th")
    return f"{rank}{ending} "


def _bill(plan: Json) -> Bill:
    """For its money in words."""
    return Bill(plan["cost"]["currency"], round(100 * plan["cost"]["per_month"]), (), (), ())


def _words(row: Json, keys: Iterable[str]) -> set[str]:
    """Every name that a row goes by, small: ids, their parts, and how companies write themselves."""
    found: set[str] = set()
    for key in keys:
        text = str(row.get(key) or "").lower()
        if text:
            found |= {text, *_parts(text)}
    return found | {company(each).lower() for each in found}


def _parts(text: str) -> set[str]:
    """Parts of an id that people ask for: the offer, its seller and host, the model.

    >>> sorted(_parts("verda.h100x2/llama-3.3-70b/fp8:chat"))
    ['h100x2', 'llama-3.3-70b', 'verda', 'verda.h100x2']
    """
    pieces = text.lower().partition(":")[0].split("/")
    seller, _, host = pieces[0].partition(".")
    return {pieces[0], seller, host, *(pieces[1:2])} - {""}


def _candidates(plan: Json) -> list[str]:
    names: set[str] = set()
    for row in plan["fleet"]:
        names |= {row["offer"], row["gpu"], row["model"] or ""}
    for row in plan["relays"]:
        names |= {row["relay"], row["model"]}
    for row in plan.get("considered", ()):
        names |= {row["name"] if row["kind"] == "relay" else row["offer"], row["gpu"], row["model"]}
    return sorted(names - {""})


def _unknown(option: str, name: str, known: Sequence[str], what: str) -> str:
    near = difflib.get_close_matches(name, known, 3, 0.4) or list(known[:8])
    return f'{option}: "{name}" is no {what}; write one of {", ".join(near)}'
