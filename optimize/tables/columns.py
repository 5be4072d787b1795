"""The columns of every table of a plan: name, dtype, unit, meaning. Reports and the reference are made from these."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

Value = str | int | float | bool | None


@dataclass(frozen=True)
class Column:
    """`dtype` is str, int, float or bool; `unit` is empty where there is none, "money" for the scenario's currency."""

    name: str
    dtype: str
    unit: str
    meaning: str


@dataclass(frozen=True)
class Table:
    """Rows of plain values under declared columns."""

    name: str
    title: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Value, ...], ...]

    def column(self, name: str) -> list[Value]:
        """All values of one column, in row order."""
        index = self.place(name)
        return [row[index] for row in self.rows]

    def place(self, name: str) -> int:
        """Which column, counted from 0, has this name."""
        return [column.name for column in self.columns].index(name)

    def named(self) -> list[dict[str, Value]]:
        """Each row as column name -> value: a column more, anywhere, changes no reader."""
        names = [column.name for column in self.columns]
        return [dict(zip(names, row, strict=True)) for row in self.rows]


def table_of(name: str, title: str, columns: tuple[Column, ...], rows: Iterable[Mapping[str, Value]]) -> Table:
    """The table whose rows say each value by the name of its column.

    >>> table_of("t", "A title", (Column("a", "int", "", ""), Column("b", "int", "", "")), [{"b": 2, "a": 1}]).rows
    ((1, 2),)
    """
    names = [column.name for column in columns]
    given = list(rows)
    for row in given:
        assert set(row) == set(names), f"table {name}: columns {sorted(set(row) ^ set(names))} are declared or given, not both"
    return Table(name, title, columns, tuple(tuple(row[column] for column in names) for row in given))


COST = (
    Column("name", "str", "", "pool, relay or fixed cost"),
    Column("kind", "str", "", "gpu, relay or fixed"),
    Column("per_month", "float", "money", "cost of a month of 730 h"),
    Column("share", "float", "share", "part of the total"),
    Column("detail", "str", "", "how it is computed"),
)
FLEET = (
    Column("pool", "str", "", "offer/model/weights[/tpN][/kv-fp8][/limits]:classes"),
    Column("offer", "str", "", "what is rented"),
    Column("gpu", "str", "", "GPU type"),
    Column("model", "str", "", "model that the replicas run"),
    Column("weights", "str", "", "weight format"),
    Column("tensor_parallel", "int", "GPUs", "GPUs per replica"),
    Column("kv_format", "str", "", "format of the KV cache: auto (16 bit) or fp8"),
    Column("max_num_seqs", "int", "sequences", "engine limit: sequences in one step"),
    Column("max_num_batched_tokens", "int", "tokens", "engine limit: tokens in one step"),
    Column("term", "str", "", "on_demand, reserved_1y, reserved_3y, spot or owned"),
    Column("base", "int", "replicas", "replicas that run in every hour"),
    Column("peak", "int", "replicas", "replicas in the busiest hour"),
    Column("host_hours", "float", "h", "paid host-hours a month"),
    Column("per_month", "float", "money", "cost of a month"),
)
HOURS = (
    Column("hour", "str", "", "hour slice"),
    Column("weight_h", "float", "h", "hours a month that the slice stands for"),
    Column("target", "str", "", "pool or relay"),
    Column("kind", "str", "", "gpu or relay"),
    Column("hosts", "int", "hosts", "hosts that run; 0 for a relay"),
    Column("replicas", "int", "replicas", "replicas that run; 0 for a relay"),
    Column("rate_rps", "float", "requests/s", "hour mean of the requests that it gets"),
)
RELAYS = (
    Column("relay", "str", "", "endpoint"),
    Column("model", "str", "", "model that answers"),
    Column("requests_per_month", "float", "requests", "requests of a month"),
    Column("input_tokens", "float", "tokens", "prompt tokens of a month, cached ones included"),
    Column("cached_tokens", "float", "tokens", "those of them that are billed at the cached price"),
    Column("output_tokens", "float", "tokens", "generated tokens of a month"),
    Column("peak_rpm", "float", "requests/min", "requests in the peak minute"),
    Column("peak_tpm", "float", "tokens/min", "tokens, both ways, in the peak minute"),
    Column("per_month", "float", "money", "cost of a month"),
)
FLOWS = (
    Column("class", "str", "", "request class"),
    Column("target", "str", "", "pool, relay, or (unserved)"),
    Column("requests_per_month", "float", "requests", "requests of a month"),
    Column("share", "float", "share", "part of the requests of the class"),
)
SLO = (
    Column("class", "str", "", "request class"),
    Column("metric", "str", "", "ttft, tpot or e2e"),
    Column("quantile", "float", "share", "share of requests that must stay within the limit"),
    Column("limit_s", "float", "s", "the promise"),
    Column("simulated_s", "float", "s", "that quantile in simulation, pooled over seeds"),
    Column("ci95_low_s", "float", "s", "its 95 % interval, lower end"),
    Column("ci95_high_s", "float", "s", "its 95 % interval, upper end"),
    Column("attainment", "float", "share", "share of requests within the limit"),
    Column("requests", "int", "requests", "requests that this row rests on"),
    Column("hour", "str", "", "hour slice that is worst for this promise"),
    Column("met", "bool", "", "simulated_s <= limit_s"),
)
LATENCY = (
    Column("class", "str", "", "request class"),
    Column("metric", "str", "", "ttft, tpot or e2e"),
    Column("hour", "str", "", "hour slice that is worst for the promise"),
    Column("share", "float", "share", "share of the class's requests, over all seeds"),
    Column("latency_s", "float", "s", "latency that this share does not exceed; infinite where requests were never answered"),
    Column("quantile", "float", "share", "share that the promise asks for"),
    Column("limit_s", "float", "s", "limit of the promise"),
)
ALTERNATIVES = (
    Column("name", "str", "", "the restriction"),
    Column("status", "str", "", "met, within_budget (planned, not simulated), unverified, over_budget, infeasible or missed"),
    Column("per_month", "float", "money", "cost of a month; empty where no plan exists"),
    Column("difference", "float", "money", "minus the cost of the plan"),
    Column("all_in", "float", "money", "with staff, support, other items, contingency and tax; empty: no plan, or a part is open"),
    Column("simulated", "bool", "", "whether it was verified by simulation"),
    Column("note", "str", "", "what stands in its way"),
)
FLIPS = (
    Column("name", "str", "", "input"),
    Column("today", "float", "", "its value in this plan"),
    Column("flips_at", "float", "", "value at which the answer changes kind; empty if it does not"),
    Column("sentence", "str", "", "the same in words"),
)
BAND = (
    Column("requests_per_user_day", "float", "requests", "demand per daily user"),
    Column("per_month", "float", "money", "cost of a month at that demand"),
)
DROPPED = (
    Column("name", "str", "", "candidate"),
    Column("reason", "str", "", "why it is not in the plan's market"),
)
TABLES = {
    "cost": COST,
    "fleet": FLEET,
    "hours": HOURS,
    "relays": RELAYS,
    "flows": FLOWS,
    "slo": SLO,
    "latency": LATENCY,
    "alternatives": ALTERNATIVES,
    "flips": FLIPS,
    "band": BAND,
    "dropped": DROPPED,
}
