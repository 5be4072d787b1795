"""Rules of thumb compared with the simulator: the same replica under another format or limit, at the scenario's own promises."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from optimize.market.candidates import candidates
from optimize.money.amounts import replica_hour_usd
from optimize.simulate.saved_plan import deployment_of
from optimize.tables.columns import Column, Table, Value
from optimize.whatif.pool_rate import PoolRate
from optimize.whatif.study import Outcome
from sim.engine.deployment import Deployment
from sim.engine.memory import kv_blocks
from sim.scenario.scenario import Scenario
from sim.traffic import demand as demand_of

FORMATS = ("bf16", "fp8", "int8", "int4")
LIMITS = (16, 32, 64, 128, 512)
CHUNKS = (512, 8192)
NEAR = 0.1  # a factor within 10 % of what the rule says is right
VARIANTS = (
    Column("variant", "str", "", "what differs from the replica as it is"),
    Column("rate_rps", "float", "requests/s", "largest rate of one replica at which every promise holds"),
    Column("rate_factor", "float", "", "that over the replica as it is"),
    Column("weights_gb", "float", "GB", "weights of the model"),
    Column("kv_tokens", "int", "tokens", "what the KV cache holds"),
    Column("alone_tokens_per_s", "float", "tokens/s", "speed of one answer alone, 1,000 tokens of context"),
    Column("calibrated", "bool", "", "step cost fitted to measurements of this GPU"),
)
RULES = (
    Column("rule", "str", "", "as it is said"),
    Column("measured", "str", "", "what the simulator says for this scenario"),
    Column("verdict", "str", "", "holds here, or wrong here"),
)
AS_IS = "as it is"


def rule_jobs(scenario: Scenario, plan: dict[str, Any]) -> list[tuple[str, PoolRate]]:
    """The variants of the plan's dearest own replica, or of the cheapest candidate where it has none; empty without own GPUs."""
    base = main_deployment(scenario, plan)
    if base is None:
        return []
    formats = [scenario.catalog.weight_formats[name] for name in FORMATS if name in scenario.catalog.weight_formats]
    usable = [each for each in formats if base.gpu.flops.get(each.needs, 0) > 0]
    made = [(AS_IS, base)]
    made += [(f"{each.id} weights", replace(base, weights=each)) for each in usable if each.id != base.weights.id]
    made.append(("fp8 KV cache", replace(base, kv_bytes_per_number=1)))
    limits = base.limits
    made += [(f"at most {n} sequences", replace(base, limits=replace(limits, max_num_seqs=n))) for n in LIMITS if n != limits.max_num_seqs]
    made += [
        (f"chunks of {n} tokens", replace(base, limits=replace(limits, max_num_batched_tokens=n)))
        for n in CHUNKS
        if n >= limits.max_num_seqs
    ]
    return [(name, PoolRate(scenario, shape)) for name, shape in made if kv_blocks(shape) > 0]


def main_deployment(scenario: Scenario, plan: dict[str, Any]) -> Deployment | None:
    """What the plan spends most own money on; else the candidate on the cheapest host."""
    if plan["fleet"]:
        entry = max(plan["fleet"], key=lambda each: float(each["cost_per_month"]))
        return deployment_of(entry, scenario)
    options, _ = candidates(scenario, demand_of(scenario))
    found = [option for option in options if option.deployment is not None]
    cheapest = min(found, key=lambda option: (replica_hour_usd(option.offer, option.replicas_per_host), option.id), default=None)
    return None if cheapest is None else cheapest.deployment


def rule_table(names: Sequence[str], outcomes: Sequence[Outcome | None]) -> tuple[Table, ...]:
    """The rules, and the variants that they rest on; nothing where nothing was measured."""
    rows = {name: each.row for name, each in zip(names, outcomes, strict=True) if each is not None and "rate_rps" in each.row}
    if AS_IS not in rows or rows[AS_IS]["rate_rps"] <= 0:
        return ()
    base = rows[AS_IS]["rate_rps"]
    keys = ("weights_gb", "kv_tokens", "alone_tokens_per_s", "calibrated")
    variants = tuple((name, row["rate_rps"], round(row["rate_rps"] / base, 4), *(row[key] for key in keys)) for name, row in rows.items())
    rules = tuple(filter(None, (halves_and_doubles(rows), small_batch(rows), fp8_kv(rows), four_bits(rows), chunks(rows))))
    return Table("rules", "Rules of thumb", RULES, rules), Table("variants", "One replica, varied", VARIANTS, variants)


def verdict(right: bool) -> str:
    """The verdict in words."""
    return "holds here" if right else "wrong here"


def halves_and_doubles(rows: dict[str, dict[str, Any]]) -> tuple[Value, ...] | None:
    """int8 against bf16."""
    full, half = rows.get("bf16 weights"), rows.get("int8 weights")
    if full is None or half is None or full["rate_rps"] <= 0:
        return None
    memory, speed, alone = (half[key] / full[key] for key in ("weights_gb", "rate_rps", "alone_tokens_per_s"))
    words = f"weights x{memory:.2f}, and KV takes what is freed; rate inside the promises x{speed:.2f}, one answer alone x{alone:.2f}"
    return "int8 halves memory and doubles speed", words, verdict(abs(memory / 0.5 - 1) <= NEAR and abs(speed / 2 - 1) <= NEAR)


def small_batch(rows: dict[str, dict[str, Any]]) -> tuple[Value, ...] | None:
    """Batches of 16 to 32 against the best limit."""
    sizes = {name: row["rate_rps"] for name, row in rows.items() if name == AS_IS or name.startswith("at most")}
    small = [rows[name]["rate_rps"] for name in ("at most 16 sequences", "at most 32 sequences") if name in rows]
    if not small:
        return None
    best = max(sizes, key=lambda name: sizes[name])
    lost = 1 - max(small) / sizes[best]
    words = f"16 or 32 carry {max(small):.3g} requests/s, {best} {sizes[best]:.3g}: {lost:.0%} of the capacity is lost"
    return "batch 16-32 is right for an API service", words, verdict(lost <= NEAR)


def fp8_kv(rows: dict[str, dict[str, Any]]) -> tuple[Value, ...] | None:
    """fp8 KV cache against bf16."""
    row, base = rows.get("fp8 KV cache"), rows[AS_IS]
    if row is None:
        return None
    room, speed = row["kv_tokens"] / base["kv_tokens"], row["rate_rps"] / base["rate_rps"]
    return (
        "fp8 KV doubles the capacity",
        f"tokens in cache x{room:.2f}, rate inside the promises x{speed:.2f}",
        verdict(abs(speed / 2 - 1) <= NEAR),
    )


def four_bits(rows: dict[str, dict[str, Any]]) -> tuple[Value, ...] | None:
    """int4 against the replica as it is."""
    row, base = rows.get("int4 weights"), rows[AS_IS]
    if row is None:
        return None
    speed, alone = row["rate_rps"] / base["rate_rps"], row["alone_tokens_per_s"] / base["alone_tokens_per_s"]
    return (
        "fewer bits are faster (int4)",
        f"one answer alone x{alone:.2f}, rate inside the promises x{speed:.2f}",
        verdict(speed >= 1 and alone >= 1),
    )


def chunks(rows: dict[str, dict[str, Any]]) -> tuple[Value, ...] | None:
    """Large chunks against the replica as it is."""
    row, base = rows.get("chunks of 8192 tokens"), rows[AS_IS]
    if row is None:
        return None
    speed = row["rate_rps"] / base["rate_rps"]
    return "larger prefill chunks raise throughput", f"8,192 tokens: rate inside the promises x{speed:.2f}", verdict(speed > 1.02)
