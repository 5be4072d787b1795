"""Hosts of one offer are shared by its pools, and there may be only so many."""

from __future__ import annotations

import pulp

from optimize.program.variables import Program


def add_stock(program: Program) -> None:
    """sum over pools p of an offer: n[p,t] (elastic) or R[p] (paid in every hour) <= stock, in every slice."""
    by_offer: dict[str, list[int]] = {}
    for p, terms in enumerate(program.problem.pools):
        if terms.option.offer.stock is not None:
            by_offer.setdefault(terms.option.offer.id, []).append(p)
    for name, pools in by_offer.items():
        stock = program.problem.pools[pools[0]].option.offer.stock
        for t in program.slices:
            hosts = [(program.base[p] if p in program.base else program.hosts[p, t], 1) for p in pools if (p, t) in program.hosts]
            if hosts:
                program.lp.addConstraint(pulp.LpAffineExpression(hosts) <= stock, f"stock_{name}_{t}")
