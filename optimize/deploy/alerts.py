"""Prometheus rules: what the plan promises, recorded and watched under the engines' and the gateway's own metric names."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from optimize.deploy.deployable import Deployable, Promise, RunningPool

# Histograms of vLLM (V1 engine), seconds. TPOT is that of a whole request, as the plan's promise is. Source: vLLM documentation,
# Production metrics, November 2026.
ENGINE_METRIC = {
    "ttft": "vllm:time_to_first_token_seconds",
    "tpot": "vllm:request_time_per_output_token_seconds",
    "e2e": "vllm:e2e_request_latency_seconds",
}
# Histograms of the LiteLLM proxy, seconds; it has none of the time per output token that is per request class.
GATEWAY_METRIC = {"ttft": "litellm_llm_api_time_to_first_token_metric", "e2e": "litellm_request_total_latency_metric"}
WINDOW, FOR = "10m", "10m"
MORE_DEMAND = 1.1  # times the busiest hour of the plan
FULL_CACHE, FAILING = 0.95, 0.05
Json = dict[str, Any]


def alert_rules(plan: Deployable) -> Json:
    """A rules file: quantiles of each promise by pool and by class, alerts on them, and on what comes before a broken promise."""
    records, alerts = [], []
    for record, alert in (*_engine_rules(plan), *_gateway_rules(plan)):
        records.append(record)
        alerts.append(alert)
    alerts += [*(rule for pool in plan.pools for rule in _early_signs(pool)), *_demand(plan), *_relays(plan)]
    groups = [("servemix-recorded", records), ("servemix-alerts", alerts)]
    return {"groups": [{"name": name, "interval": "30s", "rules": rules} for name, rules in groups if rules]}


def strictest(plan: Deployable, pool: RunningPool) -> list[Promise]:
    """Per metric and quantile the shortest limit of the classes that the pool serves: what an alert on the whole pool must keep."""
    found: dict[tuple[str, float], Promise] = {}
    for promise in (each for name in pool.classes for each in plan.promises[name]):
        key = (promise.metric, promise.quantile)
        if key not in found or promise.limit_s < found[key].limit_s:
            found[key] = promise
    return [found[key] for key in sorted(found)]


def _engine_rules(plan: Deployable) -> Iterator[tuple[Json, Json]]:
    for pool in plan.pools:
        for promise in strictest(plan, pool):
            source = f'{ENGINE_METRIC[promise.metric]}_bucket{{model_name="{pool.name}"}}'
            yield _watched(promise, source, "pool", pool.name)


def _gateway_rules(plan: Deployable) -> Iterator[tuple[Json, Json]]:
    for name, promises in plan.promises.items():
        for promise in promises:
            if promise.metric in GATEWAY_METRIC:
                yield _watched(promise, f'{GATEWAY_METRIC[promise.metric]}_bucket{{requested_model="{name}"}}', "request_class", name)


def _watched(promise: Promise, source: str, label: str, name: str) -> tuple[Json, Json]:
    """The recording rule of a promise's quantile, and the alert on it."""
    percent = f"p{promise.quantile * 100:g}".replace(".", "_")
    record = f"servemix:{label}_{promise.metric}_seconds:{percent}"
    words = f"{promise.metric.upper()} {percent.replace('_', '.')} of {label.replace('_', ' ')} {name}"
    return (
        {
            "record": record,
            "expr": f"histogram_quantile({promise.quantile:g}, sum by (le) (rate({source}[{WINDOW}])))",
            "labels": {label: name},
        },
        {
            "alert": f"{'Pool' if label == 'pool' else 'Class'}{promise.metric.capitalize()}AbovePromise",
            "expr": f'{record}{{{label}="{name}"}} > {promise.limit_s:g}',
            "for": FOR,
            "labels": {"severity": "page", label: name},
            "annotations": {
                "summary": f"{words} is above {promise.limit_s:g} s",
                "description": "{{ $value | humanizeDuration }} over the last 10 minutes. See the runbook: A promise is not kept.",
            },
        },
    )


def _early_signs(pool: RunningPool) -> Iterator[Json]:
    """Signs that come before a broken promise: a full KV cache, preemptions, replicas that are missing."""
    name = pool.name
    yield _early(
        "KvCacheFull",
        f'max(vllm:kv_cache_usage_perc{{model_name="{name}"}}) > {FULL_CACHE:g}',
        name,
        "an engine's KV cache is full",
        "New requests wait for memory. See the runbook: The KV cache is full.",
    )
    yield _early(
        "Preemptions",
        f'sum(rate(vllm:num_preemptions_total{{model_name="{name}"}}[{WINDOW}])) > 0.1',
        name,
        "requests are preempted",
        "Running requests lose their cache and are computed again. See the runbook: The KV cache is full.",
    )
    yield _early(
        "ReplicasMissing",
        f'kube_deployment_spec_replicas{{deployment="{name}"}} - kube_deployment_status_replicas_available{{deployment="{name}"}} > 0',
        name,
        "fewer replicas are ready than the timetable asks for",
        "See the runbook: Replicas are missing.",
    )


def _early(alert: str, expression: str, pool: str, summary: str, description: str) -> Json:
    return {
        "alert": alert,
        "expr": expression,
        "for": FOR,
        "labels": {"severity": "warning", "pool": pool},
        "annotations": {"summary": f"{pool}: {summary}", "description": description},
    }


def peak_rps(plan: Deployable, name: str) -> float:
    """Requests a second of a class in the plan's busiest hour: its share of the month's requests, taken to be the same in every hour."""
    return plan.demand_rps[plan.busiest] * plan.class_share[name]


def _demand(plan: Deployable) -> Iterator[Json]:
    for name in plan.promises:
        most = MORE_DEMAND * peak_rps(plan, name)
        if most > 0:
            yield {
                "alert": "DemandAbovePlan",
                "expr": f'sum(rate(litellm_proxy_total_requests_metric_total{{requested_model="{name}"}}[15m])) > {most:.4g}',
                "for": "15m",
                "labels": {"severity": "warning", "request_class": name},
                "annotations": {
                    "summary": f"{name}: more requests than in the busiest hour of the plan",
                    "description": f"{{{{ $value | humanize }}}} requests a second; the plan was made for {most / MORE_DEMAND:.4g}. "
                    "See the runbook: Demand has outgrown the plan.",
                },
            }


def _relays(plan: Deployable) -> Iterator[Json]:
    if plan.relays:
        failed, calls = "litellm_deployment_failure_responses_total", "litellm_deployment_total_requests_total"
        yield {
            "alert": "RelayFailing",
            "expr": f"sum by (api_provider, litellm_model_name) (rate({failed}[{WINDOW}])) "
            f"/ sum by (api_provider, litellm_model_name) (rate({calls}[{WINDOW}])) > {FAILING:g}",
            "for": FOR,
            "labels": {"severity": "warning"},
            "annotations": {
                "summary": "{{ $labels.litellm_model_name }} refuses or fails calls",
                "description": "{{ $value | humanizePercentage }} of the calls fail. See the runbook: A relay fails.",
            },
        }
