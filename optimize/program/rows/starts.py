"""Constraint family: hosts that start are paid while they boot."""

from __future__ import annotations

import pulp

from optimize.program.rows.model import Model


def start_rows(model: Model) -> None:
    """Per elastic pool p and hour t after hour t': n_pt - n_pt' <= s_pt; s_pt >= 0 costs boot_p times the price of an hour, each time.

    In an hour alone n_pt' is what the hour before was given; where that is not known, prices on n stand in for these rows.
    """
    for (p, t), variable in model.starts.items():
        terms = [(model.hosts[p, t], 1.0), (variable, -1.0)]
        assert model.problem.boot is not None
        if not model.view.month:
            model.add(f"start_{p}_{t}", terms, pulp.LpConstraintLE, float((model.view.before or {}).get(p, 0)))
            continue
        if model.problem.boot.previous[t] == t:  # the same hour all day: hosts never start
            continue
        before = model.hosts.get((p, model.problem.boot.previous[t]))
        if before is not None:
            terms.append((before, -1.0))
        model.add(f"start_{p}_{t}", terms, pulp.LpConstraintLE, 0.0)
