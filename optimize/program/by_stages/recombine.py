"""Hours that were solved apart, put together: of several solutions of each hour the one that goes best with those around it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from optimize.money import HOUR_S
from optimize.money.contracts import slice_usd
from optimize.program.answer import Parts
from optimize.program.by_stages.hour_programs import in_order
from optimize.program.by_stages.month import Month
from optimize.program.routes import PoolRoute
from optimize.program.rows.joining import joining
from optimize.records import Floats, Ints, ProgramInput
from sim.exact import dot

Ring = list[tuple[int, int | None]]


@dataclass(frozen=True)
class Menu:
    """Solutions of all hours given the same decisions of the month, of which each hour takes one.

    usd, lack  [solutions, slices] what an hour spends on elastic hosts and calls, starts apart; requests a month that go nowhere
    starts     [slices, solutions, solutions] USD of starts when the hour before takes the first and the hour the second; None: free
    rings      slices in their order, each ring with the slice before its first
    """

    found: tuple[Parts, ...]
    usd: Floats
    lack: Floats
    starts: Floats | None
    rings: tuple[Ring, ...]

    def parts(self, choice: Sequence[int] | Ints) -> Parts:
        """The hours of `choice` [slices] as one solution."""
        answer = self.found[0].copy()
        for t, k in enumerate(choice):
            for mine, theirs in zip(answer.hourly(), self.found[k].hourly(), strict=True):
                mine[..., t] = theirs[..., t]
        return answer


def menu_of(problem: ProgramInput, routes: tuple[PoolRoute, ...], found: Sequence[Parts]) -> Menu:
    """The menu of solutions that agree in what hours share."""
    usd = np.array([hours_usd(problem, routes, parts) for parts in found])
    lack = np.array([hours_lack(problem, parts) for parts in found])
    return Menu(tuple(found), usd, lack, _starts_usd(problem, routes, found), _rings(problem, routes))


def cheapest(menu: Menu, usd_per_request: float) -> Ints:
    """[slices] which solution each hour takes, so that cost, starts included, plus lack at `usd_per_request` is least.

    A shortest path around each ring of hours (Viterbi, once per solution of its first hour): no other choice from this menu is better.
    """
    usd = menu.usd + usd_per_request * menu.lack
    choice: Ints = np.argmin(usd, axis=0)
    if menu.starts is not None:
        for ring in menu.rings:
            for t, k in _around(usd, menu.starts, ring):
                choice[t] = k
    return choice


def beside_month(problem: ProgramInput, routes: tuple[PoolRoute, ...], month: Month, given: Parts, other: Parts) -> Parts:
    """The hours of `other` that need no more than what `month` has bought; `given` where they need more, or where that is not known.

    It is not known under a reserve for outages (what others take over is not in a solution) and under caps of accounts.
    """
    told = not problem.relay_outage_reserve and not month.allotment
    fits = np.full(len(problem.demand.slices), told)
    for route in routes:
        if not route.elastic:
            fits &= other.hosts[route.index] <= month.base.get(route.index, 0)
    for a, terms in enumerate(problem.relays):
        if a in month.unbought:
            fits &= ~other.calls[a].any(axis=0)
        elif terms.units is not None:
            load = np.where(terms.eligible, terms.units.load, 0.0)
            fits &= dot(load, other.calls[a] * problem.demand.mean_rps) * problem.demand.peak_factor <= month.units.get(a, 0) + 1e-9
    for family in joining(problem):
        for key, need in family.needed(problem, other.calls, other.hosts).items():
            fits &= need <= month.decided.get(key, 0)
    answer = given.copy()
    for mine, theirs in zip(answer.hourly(), other.hourly(), strict=True):
        mine[..., fits] = theirs[..., fits]
    for p, n in month.base.items():
        answer.hosts[p] = n
    return answer


def _around(usd: Floats, starts: Floats, ring: Ring) -> list[tuple[int, int]]:
    """(slice, solution) of the cheapest way around one ring."""
    count, first = len(usd), ring[0][0]
    value = np.where(np.eye(count, dtype=bool), usd[:, first], math.inf)  # [solution of the first hour, of this hour]
    came: list[Ints] = []
    for t, _ in ring[1:]:
        step = value[:, :, None] + starts[t][None, :, :]
        came.append(np.argmin(step, axis=1))
        value = step.min(axis=1) + usd[None, :, t]
    if ring[0][1] is not None:
        value = value + starts[first].T
    begun, k = np.unravel_index(int(np.argmin(value)), value.shape)
    way = [int(k)]
    for back in reversed(came):
        way.append(int(back[begun, way[-1]]))
    return [(t, k) for (t, _), k in zip(ring, reversed(way), strict=True)]


def _starts_usd(problem: ProgramInput, routes: tuple[PoolRoute, ...], found: Sequence[Parts]) -> Floats | None:
    boot = problem.boot
    if boot is None:
        return None
    paid = [route for route in routes if route.boot_usd > 0 and any(parts.hosts[route.index].any() for parts in found)]
    if not paid:
        return None
    hosts = np.array([parts.hosts[[route.index for route in paid]] for parts in found], dtype=float)  # [solutions, pools, slices]
    price = np.array([route.boot_usd for route in paid])
    answer = np.zeros((hosts.shape[2], len(found), len(found)))
    for t, before in enumerate(boot.previous):
        more = np.maximum(hosts[None, :, :, t] - hosts[:, None, :, before], 0.0)
        answer[t] = dot(more, price) * float(boot.times[t])
    return answer


def _rings(problem: ProgramInput, routes: tuple[PoolRoute, ...]) -> tuple[Ring, ...]:
    """Slices ring by ring; the first names the slice before it if that is the last of its ring."""
    rings: list[Ring] = []
    for t, before in in_order(problem, routes):
        if before is None:
            rings.append([])
        rings[-1].append((t, before))
    for ring in rings if problem.boot is not None else ():
        assert problem.boot is not None
        first, last = ring[0][0], ring[-1][0]
        ring[0] = (first, last if problem.boot.previous[first] == last else None)
    return tuple(rings)


def hours_usd(problem: ProgramInput, routes: tuple[PoolRoute, ...], parts: Parts) -> Floats:
    """[slices] what each hour spends on elastic hosts and calls."""
    demand, weight_h = problem.demand.mean_rps, problem.demand.weight_h
    price = np.zeros(len(problem.pools))
    for route in routes:
        price[route.index] = route.usd_per_hour if route.elastic else 0.0
    usd: Floats = dot(price, parts.hosts) * weight_h
    for a, terms in enumerate(problem.relays):
        calls = parts.calls[a] * demand * HOUR_S * weight_h
        each = np.stack([slice_usd(terms, t) for t in range(len(weight_h))], axis=1)
        usd = usd + (calls * np.where(calls > 0, each, 0.0)).sum(axis=0)
    return usd


def hours_lack(problem: ProgramInput, parts: Parts) -> Floats:
    """[slices] requests a month that go nowhere."""
    lack: Floats = (parts.unserved * problem.demand.mean_rps).sum(axis=0) * problem.demand.weight_h * HOUR_S
    return lack
