"""What relays will cost in the months ahead as far as it is announced: future prices, retirements, and the successors' prices then."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta

import numpy as np

from optimize.finance.resolve_program import RelayPrices
from optimize.market.relay_bills import metered_prices
from optimize.money.announced import at_announced, list_priced
from optimize.money.charges import cached_tokens
from optimize.money.contracts import paid_request_usd
from optimize.money.price_book import month_after, start_of
from optimize.money.price_claims import prices
from optimize.money.token_prices import calls_usd, relay_request_usd
from optimize.money.units import to_usd
from optimize.records import Floats, RelayTerms
from optimize.result import Plan
from sim.catalog.facts import Relay

DAY = timedelta(days=1)


@dataclass(frozen=True)
class Change:
    """From `day` on a relay of the plan is billed as `row`; None: its model is retired, and no successor is named or known.

    usd  [classes] price of a request then, before drift and token growth; the last known one where `row` is None
    """

    day: date
    row: Relay | None
    usd: Floats
    words: str

    @property
    def label(self) -> str:
        """The month in which it begins, YYYY-MM."""
        return self.day.isoformat()[:7]


class Announced:
    """Changes by relay of a plan, and the prices of each month of the horizon.

    Approximations: a month in which a price changes is billed by its days; prices that the announcement leaves out (cached, written,
    batch, long prompts) move with input or output; a successor takes as many tokens, and is not simulated; minimum payments, tiers and
    the hours of a day stay as they are.
    """

    def __init__(self, plan: Plan) -> None:
        self.plan, self.start = plan, start_of(plan.scenario)
        end = month_after(self.start, plan.scenario.finance.horizon_months)
        known = {**plan.scenario.catalog.relays, **{relay.id: relay for relay in plan.scenario.relays}}
        found = {a: changes(plan, terms, known, end) for a, terms in enumerate(plan.program.relays)}
        self.changes: dict[int, list[Change]] = {a: rows for a, rows in found.items() if rows}

    def month(self, m: int) -> RelayPrices | None:
        """Prices of a request at every relay in month `m`; None: today's."""
        first, end = month_after(self.start, m), month_after(self.start, m + 1)
        usd, gone = [terms.usd_per_request for terms in self.plan.program.relays], []
        for a, rows in self.changes.items():
            due = [(max(row.day, first), row.usd) for row in rows if row.day < end]
            steps = [(first, usd[a]), *due]
            ends = [day for day, _ in steps[1:]] + [end]
            days = [(until - day).days for (day, _), until in zip(steps, ends, strict=True)]
            usd[a] = _mean([each for _, each in steps], days)
            if due and rows[len(due) - 1].row is None:
                gone.append(a)
        if not gone and all(new is terms.usd_per_request for new, terms in zip(usd, self.plan.program.relays, strict=True)):
            return None
        return RelayPrices(tuple(tuple(float(each) for each in row) for row in usd), tuple(gone))

    def words(self, m: int, used: Iterable[int]) -> tuple[str, ...]:
        """What holds in month `m` of relays that are used."""
        end = month_after(self.start, m + 1)
        due = ([row for row in self.changes.get(a, ()) if row.day < end] for a in sorted(used))
        return tuple(rows[-1].words for rows in due if rows)


def _mean(usd: Sequence[Floats], days: Sequence[int]) -> Floats:
    """The mean of prices by days; the price itself where it holds all month."""
    held = [(each, n) for each, n in zip(usd, days, strict=True) if n]
    if len(held) == 1:
        return held[0][0]
    return np.asarray(sum(each * n for each, n in held) / sum(n for _, n in held))


def changes(plan: Plan, terms: RelayTerms, known: Mapping[str, Relay], end: date) -> list[Change]:
    """What happens to the price of one relay before `end`, in order of days."""
    relay, found, usd = terms.relay, [], terms.usd_per_request
    for day in sorted(set(dates(relay, known))):
        if day >= end:
            break
        row = row_on(relay, known, day.isoformat())
        if terms.units is not None and row is not None:
            row = relay if row.id == relay.id else None  # token prices do not touch units; units of a successor have no price here
        if row == relay:
            continue
        usd = usd if row is None else sold_at(plan, terms, row).usd_per_request
        found.append(Change(day, row, usd, change_words(relay, row, day)))
    return found


def dates(relay: Relay, known: Mapping[str, Relay]) -> Iterator[date]:
    """Days on which its price, or that of one of its successors, may begin to be another."""
    seen: set[str] = set()
    each: Relay | None = relay
    while each is not None and each.id not in seen:
        seen.add(each.id)
        if each.next_price_on:
            yield date.fromisoformat(each.next_price_on)
        if each.retires_on:
            yield date.fromisoformat(each.retires_on) + DAY
        each = known.get(each.successor or "") if each.retires_on else None


def row_on(relay: Relay, known: Mapping[str, Relay], day: str, seen: tuple[str, ...] = ()) -> Relay | None:
    """The row that a plan on `relay` is billed by on an ISO day; None after its retirement without a successor."""
    if relay.retires_on and day > relay.retires_on:
        after = known.get(relay.successor or "")
        return None if after is None or after.id in (*seen, relay.id) else row_on(after, known, day, (*seen, relay.id))
    due = relay.next_price_on is not None and day >= relay.next_price_on and list_priced(relay)
    return at_announced(relay) if due else relay


def change_words(relay: Relay, row: Relay | None, day: date) -> str:
    """Relay, model, day and price of a change."""
    if row is None:
        why = f"{relay.model} retires on {relay.retires_on}, no successor with a price is known"
        return f"{relay.id}: {why}: it cannot be bought from {day} on"
    now = f"{prices(row)} (today ${relay.usd_per_mtok_input:g} and ${relay.usd_per_mtok_output:g})"
    if row.id == relay.id:
        return f"{relay.id}: {relay.model} from {day} on at the announced {now}"
    return f"{relay.id}: {relay.model} retires on {relay.retires_on}; from {day} on its successor {row.id} at {now}"


def todays(plan: Plan) -> RelayPrices:
    """The prices of a request that the plan is made with."""
    return RelayPrices(tuple(tuple(float(usd) for usd in terms.usd_per_request) for terms in plan.program.relays))


def more_usd(plan: Plan, today: RelayPrices, then: RelayPrices | None, before: RelayPrices | None = None) -> float:
    """What the calls of a plan cost more in a month at the prices `then` than at those `before` (None: `today`), before drift."""
    if then == before:
        return 0.0
    found = 0.0
    for a, terms in enumerate(plan.program.relays):
        old, new = (np.array((each or today).usd[a]) for each in (before, then))
        known = np.isfinite(old) & np.isfinite(new)
        if terms.units is None and plan.solution.relay_flow[a].any():
            more = replace(terms, usd_per_request=np.where(known, new, 0.0) - np.where(known, old, 0.0))
            tier = -1 if plan.solution.relay_tier is None else int(plan.solution.relay_tier[a])
            found += calls_usd(plan.solution.relay_flow[a], paid_request_usd(more, tier), plan.demand.weight_h)
    return found


def price_move(old: RelayPrices, new: RelayPrices, used: set[int]) -> float:
    """The largest relative move of a price that could change a plan: any of relays that it uses, falls alone of others.

    Infinite where one that it uses can no longer be bought, or costs something for the first time.
    """
    if old == new:
        return 0.0
    if used & (set(new.gone) ^ set(old.gone)):
        return math.inf
    moves = [0.0]
    for a, (was, then) in enumerate(zip(old.usd, new.usd, strict=True)):
        for x, y in zip(was, then, strict=True):
            if math.isfinite(x) and math.isfinite(y) and (y < x or (a in used and y > x)):
                moves.append(max(x, y) / min(x, y) - 1 if min(x, y) > 0 else math.inf)
    return max(moves)


@dataclass(frozen=True)
class Leaves:
    """From month `label` on the plan as it is, at today's demand, costs up to `per_month_usd`, above its budget; or cannot be bought.

    `words` name the changes that bring it there; `per_month_usd` None: some of it cannot be bought.
    """

    label: str
    per_month_usd: float | None
    words: tuple[str, ...]


def leaves(plan: Plan) -> tuple[Leaves, ...]:
    """Where announced prices and retirements take a plan out of its budget, or of the market, within the horizon; no growth, no drift."""
    ahead, bill = Announced(plan), sum(line.per_month_usd for line in plan.lines)
    budget = to_usd(plan.scenario.budget.per_month, plan.usd_per_unit)
    used = used_relays(plan)
    if not used & set(ahead.changes):
        return ()
    months = [(m, ahead.month(m)) for m in range(plan.scenario.finance.horizon_months)]
    costs = [bill + more_usd(plan, todays(plan), prices) for _, prices in months]
    label = [month_after(ahead.start, m).isoformat()[:7] for m, _ in months]
    over = [m for m, usd in enumerate(costs) if usd > budget * (1 + 1e-9)]
    gone = [m for m, prices in months if prices is not None and used & set(prices.gone)]
    found = []
    if over and bill <= budget * (1 + 1e-9):
        found.append(Leaves(label[over[0]], max(costs), ahead.words(over[0], used)))
    if gone:
        prices = months[gone[0]][1]
        found.append(Leaves(label[gone[0]], None, ahead.words(gone[0], used & set(prices.gone if prices else ()))))
    return tuple(found)


def used_relays(plan: Plan) -> set[int]:
    """Relays that a plan calls, or whose units it pays."""
    units = plan.solution.relay_units
    return {a for a, flow in enumerate(plan.solution.relay_flow) if flow.any() or (units is not None and units[a] > 0)}


def sold_at(plan: Plan, terms: RelayTerms, relay: Relay) -> RelayTerms:
    """The terms at the prices of `relay`, with as many cached tokens as before."""
    if terms.meter is not None and terms.units is None:
        return replace(terms, relay=relay, usd_per_request=metered_prices(terms, relay))
    cached, (inputs, outputs) = cached_tokens(plan.program, terms), terms.tokens(plan.demand)
    written = np.zeros(len(inputs)) if terms.written is None else terms.written
    usd = [
        relay_request_usd(relay, inputs[c], cached[c], outputs[c], written[c]) if np.isfinite(old) and terms.units is None else old
        for c, old in enumerate(terms.usd_per_request)
    ]
    return replace(terms, relay=relay, usd_per_request=np.array(usd))
