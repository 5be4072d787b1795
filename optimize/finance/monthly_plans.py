"""A plan for other demand and prices: its program solved again with the capacities that are known; what is held stays paid."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from optimize.finance.announced_prices import more_usd, price_move, todays, used_relays
from optimize.finance.curves import known_program
from optimize.finance.resolve_program import Shift, Work, hour_programs, shifted, solved
from optimize.money import cost_lines
from optimize.money.amounts import scaled_usd
from optimize.money.quantities import Scaled, Scaling, scaling
from optimize.records import Ints, ProgramSolution
from optimize.result import Plan

HELD = ("reserved_1y", "reserved_3y", "owned")  # terms whose hosts are paid for, used or not
STEP = 0.10  # demand, tokens or a price that moved more than this since the last solution is worth a new one


class Replanning:
    """Fleets for months that follow each other: the plan's, until something has moved by more than STEP, then the cheaper of that
    fleet scaled and a new solution of the program.

    Approximations: nothing is simulated; a request with more tokens occupies a pool that much longer; hosts under contract keep being
    paid, also where a new solution needs fewer.
    """

    def __init__(self, plan: Plan, programs: float) -> None:
        self.plan, self.work = plan, Work(programs)
        self.program = known_program(plan)[0]
        self.held = held_hosts(plan)
        self.fleet: Scaling = scaling(plan)
        self.made_for = self.looked_at = Shift()
        self.today = todays(plan)
        self.ended = False  # whether a solution was due and no work was left

    def month(self, shift: Shift) -> tuple[Scaled, bool]:
        """(the month, whether the program was solved for it)."""
        now, fresh = self.scaled(self.fleet, self.made_for, shift), False
        if max(moved(self.looked_at, shift), self.repriced(shift)) > STEP:
            due = shifted(self.program, shift)
            fresh = self.work.take(hour_programs(due))
            self.ended |= not fresh
            answer = solved(due) if fresh else None
            if answer is not None:
                other = scaling(self._plan(shift, answer))
                then = other.at(1.0)
                if then.usd < now.usd or now.short or self.gone(shift):
                    self.fleet, self.made_for, now = other, shift, then
            self.looked_at = shift if fresh else self.looked_at
        return now, fresh

    def scaled(self, fleet: Scaling, made_for: Shift, shift: Shift) -> Scaled:
        """A fleet made for one shift, at another."""
        tokens, api = shift.tokens / made_for.tokens, shift.api_price / made_for.api_price
        demand = shift.demand / made_for.demand
        more = more_usd(fleet.plan, self.today, shift.relays, made_for.relays)
        return fleet.at(
            demand, shift.gpu_price / made_for.gpu_price, api * tokens, tokens, scaled_usd(more, demand, shift.api_price, shift.tokens)
        )

    def repriced(self, shift: Shift) -> float:
        """The largest move, since the last solution, of an announced price that could change the answer."""
        return price_move(self.looked_at.relays or self.today, shift.relays or self.today, self.used())

    def used(self) -> set[int]:
        """Relays that the fleet of the month asked for last uses."""
        return used_relays(self.fleet.plan)

    def gone(self, shift: Shift) -> set[int]:
        """Those of them that can no longer be bought: the month is priced as if they could."""
        return self.used() & set(shift.relays.gone if shift.relays is not None else ())

    def peak_rpm(self, shift: Shift) -> list[float]:
        """Calls of the peak minute at each relay, with the fleet of the month asked for last."""
        demand, flow = shift.demand / self.made_for.demand, self.fleet.plan.solution.relay_flow
        return [float(calls.sum(axis=0).max(initial=0.0)) * self.plan.demand.peak_factor * 60 * demand for calls in flow]

    def _plan(self, shift: Shift, answer: ProgramSolution) -> Plan:
        program = shifted(self.program, shift)
        held = replace(answer, billed=np.maximum(answer.billed, self.held[:, None]))
        return replace(self.plan, demand=program.demand, program=program, solution=held, lines=cost_lines(program, held))


def held_hosts(plan: Plan) -> Ints:
    """[pools] hosts that are paid whatever comes."""
    terms = [pool.option.offer.term for pool in plan.program.pools]
    billed = plan.solution.billed
    return np.array([int(billed[p].max(initial=0)) if term in HELD else 0 for p, term in enumerate(terms)], dtype=np.int64)


def moved(before: Shift, after: Shift) -> float:
    """The largest relative move of demand, tokens or a price of all, up or down.

    >>> round(moved(Shift(2.0), Shift(2.2)), 6), round(moved(Shift(api_price=1.1), Shift()), 6)
    (0.1, 0.1)
    """
    pairs = (
        (before.demand, after.demand),
        (before.gpu_price, after.gpu_price),
        (before.api_price, after.api_price),
        (before.tokens, after.tokens),
    )
    return max(math.exp(abs(math.log(b / a))) - 1 for a, b in pairs)
