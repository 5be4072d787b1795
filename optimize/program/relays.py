"""Constraint family: what relay accounts and policy allow."""

from __future__ import annotations

import pulp

from optimize.program.model import Model, Pair


def limit_rows(model: Model) -> None:
    """Per relay a with hard limits and hour t, at the peak minute: sum_c 60 f d_ct y_act <= rpm_a and sum_c 60 f n_ac d_ct y_act <= tpm_a.

    f = peak minute over hour mean, n_ac = tokens per request as counted against TPM. Limits that are negotiable are reported, not enforced.
    """
    demand = model.problem.demand
    per_minute = 60.0 * demand.peak_factor
    rows: dict[tuple[int, int], list[tuple[pulp.LpVariable, int, float]]] = {}
    for (a, c, t), variable in model.calls.items():
        if model.problem.relays[a].hard_limits:
            rows.setdefault((a, t), []).append((variable, c, per_minute * float(demand.mean_rps[c, t])))
    for (a, t), calls in rows.items():
        terms = model.problem.relays[a]
        if terms.relay.rpm is not None:
            requests: list[Pair] = [(v, rate / max(terms.relay.rpm, 1.0)) for v, _, rate in calls]
            model.add(f"rpm_{a}_{t}", requests, pulp.LpConstraintLE, float(terms.relay.rpm > 0))
        if terms.relay.tpm is not None:
            tokens = [(v, rate * float(terms.tokens_per_request[c]) / max(terms.relay.tpm, 1.0)) for v, c, rate in calls]
            model.add(f"tpm_{a}_{t}", tokens, pulp.LpConstraintLE, float(terms.relay.tpm > 0))


def share_rows(model: Model) -> None:
    """Per hour t: sum_ac d_ct y_act <= max_relay_share sum_c d_ct. In every hour, because an outage does not wait for a quiet one."""
    share, demand = model.problem.max_relay_share, model.problem.demand.mean_rps
    if share >= 1.0:
        return
    rows: dict[int, list[Pair]] = {}
    for (_, c, t), variable in model.calls.items():
        rows.setdefault(t, []).append((variable, float(demand[c, t] / demand[:, t].sum())))
    for t, terms in rows.items():
        model.add(f"relay_share_{t}", terms, pulp.LpConstraintLE, share)
