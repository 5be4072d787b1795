"""What a probe says: quantiles, shares and limits, as one JSON object."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from sim.probe.attempts import OK, THROTTLED, Attempt, Measured

QUANTILES = (0.5, 0.9, 0.95, 0.99)
SCHEMA = "servemix.probe/1"
Json = dict[str, Any]


def quantiles(values: Sequence[float]) -> Json:
    """{p50, p90, p95, p99} of `values`; null without any."""
    if not len(values):
        return {f"p{q * 100:g}": None for q in QUANTILES}
    return {f"p{q * 100:g}": round(float(x), 6) for q, x in zip(QUANTILES, np.quantile(values, QUANTILES), strict=True)}


def latencies(attempts: Sequence[Attempt]) -> dict[str, list[float]]:
    """TTFT, TPOT, E2E and gaps between pieces of the attempts that were answered, from the moment that attempt was sent."""
    good = [a for a in attempts if a.ok]
    return {
        "ttft_s": [a.reply.first_s for a in good if a.reply.first_s is not None],
        "tpot_s": [a.tpot_s for a in good if a.tpot_s is not None],
        "e2e_s": [a.reply.last_s for a in good if a.reply.last_s is not None],
        "gap_s": [gap for a in good for gap in a.reply.gaps_s],
    }


def summary(measured: Measured) -> Json:
    """The probe as a JSON object. Latencies are of single attempts on the levels of the plan; `request_s` of whole requests,
    with retries and back-off, from the time they were due. The search for limits is left out of both."""
    plan = [a for a in measured.attempts if not a.level.startswith("limit of")]
    seen = latencies(plan)
    setup = measured.setup
    into, out = (sum(getattr(a, name) for a in plan if a.ok) for name in ("input_tokens", "output_tokens"))
    hits = sum(a.reply.cached_tokens for a in plan if a.ok)
    return {
        "schema": SCHEMA,
        "url": setup.url,
        "model": setup.model,
        "kind": setup.kind,
        "stopped": measured.stopped,
        **{name: quantiles(seen[name]) for name in ("ttft_s", "tpot_s", "e2e_s", "gap_s")},
        "request_s": quantiles([end - measured.arrivals[r] for r, end in _answered(plan).items()]),
        "requests": _requests(measured.attempts),
        "shares": _shares(plan),
        "limits": {**{name: _round(value) for name, value in measured.limits.items()}, "notes": list(measured.limit_notes)},
        "tokens": {"input": into, "output": out, "cached_share": round(hits / into, 6) if into else None},
        "levels": [_level(name, [a for a in plan if a.level == name]) for name in dict.fromkeys(a.level for a in plan)],
        "spent": {
            "calls": len(measured.attempts),
            "tokens": measured.spent_tokens,
            "usd": _round(measured.spent_usd, 6),
            "seconds": round(measured.seconds, 3),
        },
        "warnings": list(measured.warnings),
    }


def _round(value: float | None, digits: int = 1) -> float | None:
    return None if value is None else round(value, digits)


def _answered(attempts: Sequence[Attempt]) -> dict[int, float]:
    """Request -> time of its last token, of those that were answered in the end."""
    return {a.request: a.started_s + a.reply.last_s for a in attempts if a.ok and a.reply.last_s is not None}


def _requests(attempts: Sequence[Attempt]) -> Json:
    everyone = {a.request for a in attempts}
    ok = {a.request for a in attempts if a.ok}
    status = Counter(_ended(a) for a in attempts)
    return {
        "ok": len(ok),
        "failed": len(everyone - ok),
        "retried": len({a.request for a in attempts if a.number > 1}),
        "status": dict(sorted(status.items())),
    }


def _ended(attempt: Attempt) -> str:
    """The HTTP status of an answer or refusal; a word for what went wrong otherwise (a 200 whose stream tore is no 200)."""
    status = attempt.reply.status
    return str(status) if status is not None and (attempt.ok or status >= 400) else attempt.reply.outcome


def _shares(attempts: Sequence[Attempt]) -> Json:
    """Shares of attempts by how they ended."""
    size, ends = max(len(attempts), 1), Counter(a.reply.outcome for a in attempts)
    return {
        "throttled": round(ends[THROTTLED] / size, 6),
        "error": round(sum(count for name, count in ends.items() if name not in (OK, THROTTLED)) / size, 6),
        **{name: round(count / size, 6) for name, count in sorted(ends.items()) if name not in (OK, THROTTLED)},
    }


def _level(name: str, attempts: list[Attempt]) -> Json:
    """One level of load; throughput from its first call to its last end."""
    seen, good = latencies(attempts), [a for a in attempts if a.ok]
    span_s = max(a.started_s + a.reply.ended_s for a in attempts) - min(a.started_s for a in attempts)
    return {
        "level": name,
        "requests": len({a.request for a in attempts}),
        "ok": len(good),
        "in_flight_mean": round(sum(a.reply.ended_s for a in attempts) / span_s, 3) if span_s > 0 else None,
        "requests_per_s": round(len(good) / span_s, 4) if span_s > 0 else None,
        "output_tokens_per_s": round(sum(a.output_tokens for a in good) / span_s, 3) if span_s > 0 else None,
        **{key: quantiles(seen[key]) for key in ("ttft_s", "tpot_s", "e2e_s")},
    }
