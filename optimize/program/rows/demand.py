"""Constraint family: every request goes somewhere."""

from __future__ import annotations

import pulp

from optimize.program.rows.escalations import answered
from optimize.program.rows.model import Model, Pair


def demand_rows(model: Model) -> None:
    """Per class c and hour t: sum_pj x_pjct + sum_a y_act + z_ct = 1 (shares of the demand d_ct).

    Where answers can be in vain, x and y count with the share whose answer counts: see `again`.

    Without z where the view demands that all is served; a class without any route then makes the problem infeasible, as it should.
    """
    rows: dict[tuple[int, int], list[Pair]] = {
        (c, t): [] for t in model.view.slices for c in range(len(model.problem.demand.mean_rps)) if model.problem.demand.mean_rps[c, t] > 0
    }
    for (p, _, c, t), variable in model.flow.items():
        rows[c, t].append((variable, answered(model.problem.pools[p].option.escalation, c)))
    for (a, c, t), variable in model.calls.items():
        rows[c, t].append((variable, answered(model.problem.relays[a].escalation, c)))
    for (c, t), variable in model.unserved.items():
        rows[c, t].append((variable, 1.0))
    for (c, t), terms in rows.items():
        if not terms:
            terms.append((model.prob.add_variable(f"nobody_{c}_{t}", 0, 0), 1.0))
        model.add(f"demand_{c}_{t}", terms, pulp.LpConstraintEQ, 1.0)
