"""Results of InferenceX (InferenceMAX): one JSON object for each point, throughput by GPU, latencies in seconds.

Keys: `hw`, `tp`, `conc`, `isl`, `osl`, `output_tput_per_gpu`, `median_ttft` or `mean_ttft`, `median_tpot` or `mean_tpot`. A point is a
closed loop of `conc` requests; the file counts none, and its runs send ten times as many. Lengths are the nominal ones.
"""

from __future__ import annotations

from typing import Any

from sim.calibration.readers.measurement import Measurement
from sim.calibration.readers.values import needed, number
from sim.errors import InputError

SENT_BY_CONCURRENCY = 10


def is_inferencex(data: Any) -> bool:
    """Whether `data` is one such point."""
    return isinstance(data, dict) and {"conc", "tp", "isl", "osl", "output_tput_per_gpu"} <= set(data)


def read_inferencex(where: str, data: dict[str, Any]) -> Measurement:
    """The run of one point. Raises InputError for one of several servers, or without latencies in seconds."""
    if data.get("disagg") in (True, "true", "True") or data.get("is_multinode") in (True, "true", "True"):
        raise InputError(f"{where}: was measured on several servers (disagg or is_multinode), which one replica does not replay")
    conc = int(needed(where, number(where, data, "conc"), "conc"))
    gpus = needed(where, number(where, data, "tp"), "tp")
    measured = {"throughput": needed(where, number(where, data, "output_tput_per_gpu"), "output_tput_per_gpu") * gpus}
    statistic = {}
    for name in ("ttft", "tpot"):
        for key, label in (("median", "p50"), ("mean", "mean")):
            value = number(where, data, f"{key}_{name}")
            if value and name not in measured:
                measured[name], statistic[name] = value, label
    if measured.get("ttft", 0.0) > 600 or measured.get("tpot", 0.0) > 10:
        raise InputError(f"{where}: its latencies look like milliseconds; results of InferenceX are in seconds")
    return Measurement(
        name=where,
        requests=conc * SENT_BY_CONCURRENCY,
        input_tokens=needed(where, number(where, data, "isl"), "isl"),
        output_tokens=needed(where, number(where, data, "osl"), "osl"),
        measured=measured,
        statistic=statistic,
        in_flight=conc,
        model=str(data.get("model") or data.get("infmax_model_prefix") or ""),
    )
