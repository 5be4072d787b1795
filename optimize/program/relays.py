"""Account limits of relays at the peak minute, and the share of traffic that may leave the house."""

from __future__ import annotations

import pulp

from optimize.program.variables import Program


def add_relay_limits(program: Program) -> None:
    """60 * peak * sum_c y[a,c,t] <= rpm and 60 * peak * sum_c tokens[c] y[a,c,t] <= tpm where limits are hard."""
    minute = 60 * program.problem.demand.peak_factor
    for a, terms in enumerate(program.problem.relays):
        if not terms.hard_limits:
            continue
        for t in program.slices:
            flows = [(c, program.relay_flow[a, c, t]) for c in range(len(terms.eligible)) if (a, c, t) in program.relay_flow]
            if flows and terms.relay.rpm is not None:
                requests = pulp.LpAffineExpression([(y, minute) for _, y in flows])
                program.lp.addConstraint(requests <= terms.relay.rpm, f"rpm_{a}_{t}")
            if flows and terms.relay.tpm is not None:
                tokens = pulp.LpAffineExpression([(y, minute * float(terms.tokens_per_request[c])) for c, y in flows])
                program.lp.addConstraint(tokens <= terms.relay.tpm, f"tpm_{a}_{t}")


def add_relay_share(program: Program) -> None:
    """sum_ac y[a,c,t] <= max_relay_share * sum_c d[c,t] in every slice (stricter than over the month)."""
    share = program.problem.max_relay_share
    if share >= 1:
        return
    for t in program.slices:
        flows = [(y, 1.0) for (_, _, s), y in program.relay_flow.items() if s == t]
        if flows:
            total = float(program.problem.demand.mean_rps[:, t].sum())
            program.lp.addConstraint(pulp.LpAffineExpression(flows) <= share * total, f"relay_share_{t}")
