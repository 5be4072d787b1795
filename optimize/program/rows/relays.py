"""Constraint family: what relay accounts and policy allow."""

from __future__ import annotations

import pulp

from optimize.program.rows.model import Column, Model, Pair


def limit_rows(model: Model) -> None:
    """Per relay a with hard limits and hour t, at the peak minute: sum_c 60 f d_ct y_act <= rpm_a and sum_c 60 f n_ac d_ct y_act <= tpm_a.

    f = peak minute over hour mean, rpm_a and tpm_a what the relay sustains with retries, n_ac = tokens per request as counted against TPM.
    Limits that are negotiable are reported, not enforced; those of a spend tier hold if it is bought.
    """
    demand = model.problem.demand
    per_minute = 60.0 * demand.peak_factor
    rows: dict[tuple[int, int], list[tuple[Column, int, float]]] = {}
    for (a, c, t), variable in model.calls.items():
        if model.problem.relays[a].hard_limits:
            rows.setdefault((a, t), []).append((variable, c, per_minute * float(demand.mean_rps[c, t])))
    for (a, t), calls in rows.items():
        terms = model.problem.relays[a]
        if terms.rpm is not None:
            requests: list[Pair] = [(v, rate / max(terms.rpm, 1.0)) for v, _, rate in calls]
            _limited(model, "rpm", requests, a, t, terms.rpm)
        if terms.tpm is not None:
            tokens = [(v, rate * float(terms.tokens_per_request[c]) / max(terms.tpm, 1.0)) for v, c, rate in calls]
            _limited(model, "tpm", tokens, a, t, terms.tpm)


def _limited(model: Model, family: str, pairs: list[Pair], a: int, t: int, limit: float) -> None:
    """sum <= 1 (0 without a limit above 0), times the tier binary where the relay is a tier."""
    most = float(limit > 0)
    bought = model.tier.get(a)
    if bought is None:
        model.add(family, pairs, pulp.LpConstraintLE, most, relay=a, hour=t)
    else:
        model.add(family, [*pairs, (bought, -most)], pulp.LpConstraintLE, 0.0, relay=a, hour=t)


def share_rows(model: Model) -> None:
    """Per hour t: sum_ac d_ct y_act <= max_relay_share sum_c d_ct. In every hour, because an outage does not wait for a quiet one."""
    share, demand = model.problem.max_relay_share, model.problem.demand.mean_rps
    if share >= 1.0:
        return
    rows: dict[int, list[Pair]] = {}
    for (_, c, t), variable in model.calls.items():
        rows.setdefault(t, []).append((variable, float(demand[c, t] / demand[:, t].sum())))
    for t, terms in rows.items():
        model.add("relay_share", terms, pulp.LpConstraintLE, share, hour=t)


def vendor_rows(model: Model) -> None:
    """Per vendor v and hour t: sum over its relays a and classes c of d_ct y_act <= share_v sum_c d_ct.

    Vendors without a share of their own have that of "*", else none. Provisioned units count as well: they run at the vendor.
    """
    shares, demand = model.problem.vendor_shares, model.problem.demand.mean_rps
    if not shares:
        return
    rows: dict[tuple[str, int], list[Pair]] = {}
    for (a, c, t), variable in model.calls.items():
        vendor = model.problem.relays[a].relay.vendor
        if shares.get(vendor, shares.get("*", 1.0)) < 1.0:
            rows.setdefault((vendor, t), []).append((variable, float(demand[c, t] / demand[:, t].sum())))
    for (vendor, t), terms in rows.items():
        model.add("vendor", terms, pulp.LpConstraintLE, shares.get(vendor, shares.get("*", 1.0)), vendor=vendor, hour=t)
