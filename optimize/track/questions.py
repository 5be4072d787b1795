"""What is asked of the metrics: vLLM's and LiteLLM's own names, summed over a window by the plan's pools, classes and relays."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from optimize.deploy.alerts import ENGINE_METRIC, GATEWAY_METRIC
from optimize.deploy.deployable import Deployable

POOL, CLASS, TARGET = "model_name", "requested_model", "model_id"  # labels: of engines, of the gateway, of what the gateway calls
HOUR_S = 3600


@dataclass(frozen=True)
class Question:
    """`key` names the answer; `names` are values of `label` that the plan knows. `gauge`: a mean over time, else an increase.

    `busy`: asked of the busiest hour of the window alone.
    """

    key: str
    metric: str
    label: str
    names: tuple[str, ...]
    buckets: bool = False
    gauge: bool = False
    busy: bool = False

    @property
    def by(self) -> tuple[str, ...]:
        """Labels that the answer keeps."""
        return (self.label, "le") if self.buckets else (self.label,)

    def promql(self, window_s: int) -> str:
        """The query over a window that ends at the time of the query.

        >>> print(Question("kv", "vllm:kv_cache_usage_perc", "model_name", ("a", "b.c"), gauge=True).promql(60))
        avg by (model_name) (avg_over_time(vllm:kv_cache_usage_perc{model_name=~"a|b\\\\.c"}[60s]))
        """
        selected = f'{self.metric}{{{self.label}=~"{"|".join(map(literal, self.names))}"}}[{window_s}s]'
        if self.gauge:
            return f"avg by ({self.label}) (avg_over_time({selected}))"
        return f"sum by ({', '.join(self.by)}) (increase({selected}))"


Answers = Mapping[str, Mapping[tuple[str, ...], float]]  # key -> values of the question's labels -> number


def literal(name: str) -> str:
    """The name as it stands within the quotes of a query's pattern, to match itself and nothing else.

    >>> print(literal('chat.v1 "x"'))
    chat\\\\.v1 \\"x\\"
    """
    pattern = re.sub(r"([\\.+*?()|{}$^\[\]])", r"\\\1", name)
    return pattern.replace("\\", "\\\\").replace('"', '\\"')


def questions(plan: Deployable) -> tuple[Question, ...]:
    """Everything that is asked about a plan: about two dozen queries, whatever its size."""
    pools, classes = tuple(pool.name for pool in plan.pools), tuple(plan.promises)
    calls = tuple(f"{name}--{relay.id}" for name in classes for relay in plan.relays)
    found = [Question("requests", "litellm_proxy_total_requests_metric_total", CLASS, classes)]
    promised = {promise.metric for promises in plan.promises.values() for promise in promises}
    gateway, engine = ({metric: name for metric, name in each.items() if metric in promised} for each in (GATEWAY_METRIC, ENGINE_METRIC))
    found += [Question(f"gateway {metric}", f"{name}_bucket", CLASS, classes, buckets=True) for metric, name in gateway.items()]
    if pools:
        found += [Question(key, metric, POOL, pools) for key, metric in ENGINE_SUMS.items()]
        found += [Question(f"engine {metric}", f"{name}_bucket", POOL, pools, buckets=True) for metric, name in engine.items()]
        found += [Question(f"busy tpot {end}", f"{ENGINE_METRIC['tpot']}_{end}", POOL, pools, busy=True) for end in ("sum", "count")]
        found.append(Question("kv", "vllm:kv_cache_usage_perc", POOL, pools, gauge=True, busy=True))
    if calls:
        found += [Question(key, metric, TARGET, calls) for key, metric in RELAY_SUMS.items()]
    return tuple(found)


ENGINE_SUMS = {
    "prompt sum": "vllm:request_prompt_tokens_sum",
    "prompt count": "vllm:request_prompt_tokens_count",
    "answer sum": "vllm:request_generation_tokens_sum",
    "answer count": "vllm:request_generation_tokens_count",
    "hits": "vllm:prefix_cache_hits_total",
    "queries": "vllm:prefix_cache_queries_total",
    "preemptions": "vllm:num_preemptions_total",
}
RELAY_SUMS = {
    "calls": "litellm_deployment_total_requests_total",
    "failures": "litellm_deployment_failure_responses_total",
    "spend": "litellm_spend_metric_total",
}
