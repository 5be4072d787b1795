"""The scenario with what was observed, as `--set` texts: what `track --replan` plans again with."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from optimize.deploy.deployable import Deployable
from optimize.track.findings import Findings
from optimize.track.held_against import DEMAND, LENGTHS, Row

DEMAND_KEYS = ("rate_rps", "daily_active_users", "concurrent_users", "scale")  # of `traffic`: the one that is there sets all demand


def observed_settings(plan: Deployable, found: Findings, traffic: Any, classes: Mapping[str, Any]) -> list[str]:
    """Settings for demand and lengths that drifted.

    Demand is one factor for all classes. Lengths are those of a class that has a pool for itself, its whole law times one factor; those
    of classes that share a pool, and prompts of conversations, cannot be told apart from what engines count, and stay.

    `traffic` and `classes` (by name) are records of the scenario as written.
    """
    demand = [row for row in found.rows if row.kind == DEMAND and row.observed is not None]
    settings = []
    if any(row.drifted for row in demand):
        factor = sum(row.observed or 0.0 for row in demand) / max(sum(row.planned for row in demand), 1e-12)
        key = next((key for key in DEMAND_KEYS if isinstance(getattr(traffic, key, None), int | float)), None)
        settings += [] if key is None else [f"traffic.{key}={getattr(traffic, key) * factor:.6g}"]
    for row in found.rows:
        if row.kind == LENGTHS and row.drifted:
            settings += _length(row, plan, classes)
    return settings


def _length(row: Row, plan: Deployable, classes: Mapping[str, Any]) -> list[str]:
    side, _, name = row.name.partition("s at ")
    pool = next(each for each in plan.pools if each.name == name)
    key = "input_tokens" if side == "prompt" else "output_tokens"
    law = getattr(classes[pool.classes[0]], key, None) if len(pool.classes) == 1 else None
    if law is None or row.observed is None:
        return []
    points = [(q, max(1, round(tokens * row.observed / row.planned))) for q, tokens in zip(law.quantiles, law.tokens, strict=True)]
    constant = len({tokens for _, tokens in points}) == 1
    text = str(points[0][1]) if constant else "{quantiles: [" + ", ".join(f"[{q:.9g}, {tokens}]" for q, tokens in points) + "]}"
    return [f"request_classes.{pool.classes[0]}.{key}={text}"]
