"""Azure LLM trace 2024 by the hour: `trace,hour_start_utc,weight_mean1[,est_requests]`; requests by hour, no tokens.

Source: hourly counts read off the published weekly plot of the Azure LLM inference trace 2024 (CC-BY-4.0).
"""

from __future__ import annotations

from sim.traffic.readers.table import NUMBER, TEXT, TIME, Table
from sim.traffic.readers.usage import Sums, UsageFormat


def _sums(table: Table) -> Sums:
    return Sums(
        start_s=table.columns["hour_start_utc"],
        requests=table.columns["est_requests"],
        input_tokens=None,
        output_tokens=None,
        lines=table.lines,
        width_s=table.columns["hour_start_utc"] * 0 + 3600.0,
        model_code=table.codes.get("trace"),
        model_names=table.names.get("trace", ()),
        notes=["estimates read off a plot, within 1 % of the published totals"],
    )


FORMAT = UsageFormat(
    name="Azure LLM trace by the hour", required={"hour_start_utc": TIME, "est_requests": NUMBER}, optional={"trace": TEXT}, sums=_sums
)
