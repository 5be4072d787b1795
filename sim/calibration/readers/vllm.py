"""Results of `vllm bench serve --save-result`, with and without `--save-detailed`; SGLang's bench_serving writes the same keys.

Summaries (`mean_ttft_ms`) are milliseconds; lists by request (`ttfts`, `itls`, `start_times`) are seconds.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sim.calibration.readers.measurement import Floats, Measurement
from sim.calibration.readers.values import at, needed, number
from sim.errors import InputError


def is_vllm(data: Any) -> bool:
    """Whether `data` is one such result."""
    return isinstance(data, dict) and "total_input_tokens" in data and ("output_throughput" in data or "request_throughput" in data)


def read_vllm(where: str, data: dict[str, Any]) -> Measurement:
    """The run of one result. Raises InputError for a result that cannot be replayed."""
    detail = _requests(where, data)
    completed = needed(where, number(where, data, "completed"), "completed requests")
    entering = needed(where, number(where, data, "total_input_tokens"), "input tokens") / completed
    made = number(where, data, "total_output_tokens") or number(where, data, "total_generated_tokens")
    leaving = needed(where, made, "output tokens") / completed
    measured, statistic = _summary(where, data)
    if detail is not None:
        _, output, ttft, tpot, _ = detail
        measured["ttft"], statistic["ttft"] = float(ttft.mean()), "mean"
        if (output > 1).any():
            measured["tpot"], statistic["tpot"] = float(tpot[output > 1].mean()), "mean"
    load = _load(where, data, int(completed), detail[4] if detail is not None else None)
    return Measurement(
        name=where,
        requests=int(completed),
        input_tokens=entering,
        output_tokens=leaving,
        measured=measured,
        statistic=statistic,
        prompt=detail[0].astype(np.int64) if detail is not None else None,
        output=detail[1].astype(np.int64) if detail is not None else None,
        model=str(data.get("model_id") or data.get("model") or ""),
        **load,
    )


def _summary(where: str, data: dict[str, Any]) -> tuple[dict[str, float], dict[str, str]]:
    measured: dict[str, float] = {}
    statistic: dict[str, str] = {}
    rate = number(where, data, "output_throughput")
    if rate:
        measured["throughput"] = rate
    for metric in ("tpot", "ttft"):
        for prefix, name in (("mean", "mean"), ("median", "p50")):
            value = number(where, data, f"{prefix}_{metric}_ms")
            if value and metric not in measured:
                measured[metric], statistic[metric] = value / 1e3, name
    return measured, statistic


def _load(where: str, data: dict[str, Any], completed: int, sent: Floats | None) -> dict[str, Any]:
    """How requests came: a cap on open requests, a rate, both, or all at once."""
    rate, cap = data.get("request_rate"), number(where, data, "max_concurrency")
    endless = rate is None or (isinstance(rate, str) and rate == "inf") or rate == float("inf")
    if endless:
        return {"in_flight": min(int(cap), completed) if cap else completed}
    if sent is not None:
        return {"arrival_s": sent - sent.min()}
    rate_rps = needed(where, number(where, data, "request_rate"), "request rate")
    if cap:
        raise InputError(f"{where}: a rate and max_concurrency at once can only be replayed from --save-detailed")
    if (number(where, data, "burstiness") or 1.0) != 1.0:
        raise InputError(f"{where}: arrivals with a burstiness other than 1 can only be replayed from --save-detailed")
    return {"rate_rps": rate_rps}


def _list(where: str, data: dict[str, Any], key: str) -> list[Any] | None:
    value = data.get(key)
    if value is not None and not isinstance(value, list):
        raise InputError(f"{where}: {key}: is no list; --save-detailed writes one value per request")
    return value or None


def _floats(where: str, key: str, values: list[Any]) -> Floats:
    try:
        found = np.array(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(f"{where}: {key}: holds something that is not a number") from None
    if found.ndim != 1 or not np.isfinite(found).all() or (found < 0).any():
        raise InputError(f"{where}: {key}: holds something that is not a finite number of 0 or more")
    return found


def _requests(where: str, data: dict[str, Any]) -> tuple[Floats, Floats, Floats, Floats, Floats | None] | None:
    """Prompt and answer lengths, TTFT, TPOT and times sent of the requests that succeeded; None without `--save-detailed`."""
    lists = {key: _list(where, data, key) for key in ("input_lens", "output_lens", "ttfts", "itls")}
    if any(values is None for values in lists.values()):
        return None
    gaps = [values if isinstance(values, list) else [] for values in lists["itls"] or ()]
    pause = _floats(where, "itls", [_floats(where, "itls", values).sum() for values in gaps])
    columns = [_floats(where, key, lists[key] or []) for key in ("input_lens", "output_lens", "ttfts")]
    starts = _list(where, data, "start_times")
    sent = _floats(where, "start_times", starts) if starts else None
    if len({len(column) for column in (*columns, pause, *(() if sent is None else (sent,)))}) != 1:
        raise InputError(f"{where}: input_lens, output_lens, ttfts and itls have different lengths; write the result again")
    errors = at(data, "errors")
    fine = np.array([not error for error in errors]) if isinstance(errors, list) and len(errors) == len(pause) else columns[1] > 0
    fine &= columns[1] > 0
    if not fine.any():
        raise InputError(f"{where}: no request succeeded")
    prompt, output, ttft = (column[fine] for column in columns)
    return prompt, output, ttft, pause[fine] / np.maximum(output - 1, 1), None if sent is None else sent[fine]
