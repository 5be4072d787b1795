"""How far a plan can be trusted, in rows and sentences: the same in every report."""

from __future__ import annotations

from typing import Any

from optimize.result import Band, PoolError, Uncertainty
from optimize.tables.plain_numbers import percent

COLUMNS = ("pool", "step cost", "load", "requests", "throughput", "TPOT", "TTFT")
METRICS = ("throughput", "tpot", "ttft")


def error_rows(found: Uncertainty) -> list[tuple[str, ...]]:
    """A row per pool: whether its step cost is calibrated, its load, its share of requests, median / p90 error by metric."""
    return [
        (e.pool, "calibrated" if e.calibrated else "NOT CALIBRATED", e.load, percent(e.share), *(error_cell(e, m) for m in METRICS))
        for e in found.pools
    ]


def error_cell(error: PoolError, metric: str) -> str:
    """Median / p90, or nothing."""
    known = error.errors.get(metric)
    return f"{known[0]:.0%} / {known[1]:.0%}" if known else "-"


def band_sentence(band: Band) -> str:
    """What happens to the verdict in one band."""
    low, high = band.raised
    by = f"{high:.0%}" if round(low, 2) == round(high, 2) else f"{low:.0%} to {high:.0%}"
    hours = ", ".join(band.hours)
    which = {"median": "median", "p90": "90th percentile"}[band.name]
    head = f"Steps longer by the {which} of the error ({by}), binding hours ({hours}): "
    return head + ("every promise holds." if band.met else f"misses {', '.join(band.missed)}.")


def sentences(found: Uncertainty, money: str | None) -> list[str]:
    """Shares, bands, margin and pilot. `money` is what the margin costs a month, written out."""
    words = []
    if found.pools:
        if found.uncalibrated_share > 0:
            unmeasured = (
                f"{percent(found.uncalibrated_share)} of the requests rest on step costs that no measurement of that GPU stands behind"
            )
            words.append(f"{unmeasured}; the errors shown there are those of other GPUs.")
        else:
            words.append("All requests on own GPUs rest on step costs that were measured on such GPUs.")
    if found.relayed_share > 0:
        words.append(f"{percent(found.relayed_share)} rest on relays, at the latency that was reported of them.")
    words += [band_sentence(band) for band in found.bands]
    if found.safety > 0 and money is not None:
        at = f"Planned at {1 - found.safety:.0%} of measured capacity (--safety {found.safety:g})"
        free = found.safety_usd is not None and found.safety_usd < 0.005
        words.append(f"{at}: " + ("that margin costs nothing here." if free else f"that margin costs about {money} a month."))
    elif found.safety == 0 and found.pools:
        words.append("Planned at all of measured capacity (--safety 0): most seeds that were not searched on will miss.")
    if found.pilot is not None:
        p = found.pilot
        words.append(f"Pilot that would settle it: {p.deployment} on {p.offer} for {p.hours:g} h, about ${p.usd:,.2f}.")
    return words


def uncertainty_json(found: Uncertainty | None) -> dict[str, Any] | None:
    """The same as plain values; None for a plan without simulated pools and relays."""
    if found is None:
        return None
    pilot = found.pilot
    return {
        "pools": [
            {
                "pool": e.pool,
                "deployment": e.deployment,
                "calibrated": e.calibrated,
                "load": e.load,
                "share_of_requests": round(e.share, 6),
                "error": {metric: {"median": m, "p90": p} for metric, (m, p) in e.errors.items()},
            }
            for e in found.pools
        ],
        "uncalibrated_share": round(found.uncalibrated_share, 6),
        "relayed_share": round(found.relayed_share, 6),
        "bands": [
            {"name": b.name, "raised": list(b.raised), "hours": list(b.hours), "met": b.met, "missed": list(b.missed)} for b in found.bands
        ],
        "safety": found.safety,
        "safety_usd_per_month": None if found.safety_usd is None else round(found.safety_usd, 2),
        "pilot": None
        if pilot is None
        else {
            "deployment": pilot.deployment,
            "offer": pilot.offer,
            "hours": pilot.hours,
            "usd": round(pilot.usd, 2),
            "commands": list(pilot.commands),
        },
    }
