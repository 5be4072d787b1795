"""What one request costs a replica before anything is simulated: an optimistic load to start from, and a rigorous one for the bound."""

from __future__ import annotations

import math

import numpy as np

from optimize.records import Floats, PoolOption, SloRow
from sim.engine.deployment import BLOCK_TOKENS, PS, StepCost
from sim.engine.memory import kv_blocks
from sim.requests import Demand


def fluid_load_s(cost: StepCost, blocks: int, input_tokens: float, output_tokens: float, cached_tokens: float = 0.0) -> float:
    """Replica-seconds that a request costs at the very least, whatever the batching.

    The larger of two resources: step time with every token at the cheapest rate that any step offers (min over T of base_ps[T] / T, no
    waiting, no padding), and key-value memory (blocks x seconds, each decode step as short as an empty one). No plan under this
    simulator can beat it; it ignores latency limits and is loose. `cached_tokens` of the prompt are never computed nor held twice: a
    perfect prefix cache.
    """
    tokens = np.arange(1, len(cost.base_ps))
    per_token = float((cost.base_ps[1:] / tokens).min())
    context = float(cost.context_ps[1:].min())
    decodes = output_tokens - 1
    context_sum = decodes * (input_tokens + output_tokens / 2)
    fresh = input_tokens - cached_tokens
    pairs = fresh * (fresh + 1) / 2
    compute = (fresh + decodes) * per_token + context * context_sum + cost.pair_ps * pairs + cost.sequence_ps * output_tokens
    shortest_step = float(cost.base_ps[1:].min())
    memory = output_tokens * shortest_step * (fresh + output_tokens / 2) / (blocks * BLOCK_TOKENS)
    return max(compute, memory) / PS


def saturated_load_s(
    cost: StepCost,
    blocks: int,
    max_num_seqs: int,
    input_tokens: float,
    output_tokens: float,
    tpot_limit_s: float,
    cached_tokens: float = 0.0,
) -> float:
    """Replica-seconds per request at the largest batch that memory, limits and the TPOT limit allow in steady state; inf if none does.

    An optimistic estimate to start the search from (lengths at their mean, prefill fused perfectly, `cached_tokens` of the prompt
    found in a perfect prefix cache): the simulator replaces it.
    """
    context = input_tokens + output_tokens / 2
    largest = min(max_num_seqs, len(cost.context_ps) - 1, max(1, int(blocks * BLOCK_TOKENS / (input_tokens + output_tokens))))
    batch = np.arange(1, largest + 1)
    step_s = (cost.base_ps[batch] + cost.sequence_ps * batch + cost.context_ps[batch] * batch * context) / PS
    allowed = np.flatnonzero(step_s <= tpot_limit_s)
    if len(allowed) == 0:
        return math.inf
    decode_s = float((step_s[allowed] / batch[allowed]).min())
    chunk = len(cost.base_ps) - 1
    fresh = input_tokens - cached_tokens
    prefill_s = (fresh * cost.base_ps[chunk] / chunk + cost.pair_ps * fresh * (cached_tokens + fresh / 2)) / PS
    return output_tokens * decode_s + float(prefill_s)


def class_loads(option: PoolOption, cost: StepCost, demand: Demand, slos: tuple[SloRow, ...], *, rigorous: bool) -> Floats:
    """[classes] replica-seconds per request (inf where the pool does not serve the class)."""
    if option.deployment is None:
        raise ValueError("a pool with measured capacity has no deployment to compute loads from")
    blocks = kv_blocks(option.deployment)
    loads = np.full(len(demand.mean_rps), math.inf)
    factors = np.ones((len(loads), 2)) if option.token_factors is None else option.token_factors
    for c in option.classes:
        tokens_in, tokens_out = float(demand.input_tokens[c] * factors[c, 0]), float(demand.output_tokens[c] * factors[c, 1])
        cached = float(demand.prefix_tokens[c] * factors[c, 0]) if option.deployment.limits.prefix_caching else 0.0
        if rigorous:
            loads[c] = fluid_load_s(cost, blocks, tokens_in, tokens_out, cached)
            continue
        limits = [row.limit_s for row in slos if row.class_index == c and row.metric == "tpot"]
        loads[c] = saturated_load_s(
            cost, blocks, option.deployment.limits.max_num_seqs, tokens_in, tokens_out, min(limits, default=math.inf), cached
        )
    return loads
