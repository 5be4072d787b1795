"""Constraint family: an offer cannot sell more hosts than it has."""

from __future__ import annotations

import pulp

from optimize.program.rows.model import Model, Pair


def stock_rows(model: Model) -> None:
    """Per offer o with a stock and hour t: sum of hosts_pt over its pools <= stock_o. One pool alone has this as its bound."""
    offers: dict[str, list[int]] = {}
    for k, route in enumerate(model.routes):
        if route.terms.option.offer.stock is not None:
            offers.setdefault(route.terms.option.offer.id, []).append(k)
    for k, members in enumerate(offers.values()):
        routes = [model.routes[m] for m in members]
        if len(routes) < 2:
            continue
        stock = float(routes[0].terms.option.offer.stock or 0)
        slices = model.view.slices if any(route.elastic for route in routes) else (model.view.slices[0],)
        for t in slices:
            terms: list[Pair] = [(v, 1.0) for v in (model.hosts_of(route, t) for route in routes) if v is not None]
            model.add(f"stock_{k}_{t}", terms, pulp.LpConstraintLE, stock)
