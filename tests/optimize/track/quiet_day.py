"""A plan of one pool and one relay, and metrics of a day on which all is as planned: what the tests of `track` change."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from optimize.deploy.deployable import Deployable, deployable
from optimize.track.planned import Planned, planned_for
from sim.catalog.loader import load_catalog
from sim.scenario import load_scenario
from sim.scenario.scenario import Scenario

SCENARIO = Path("scenarios/two_offers.yaml")
POOL, RELAY, NAME = "aws.g6e.xlarge/llama-3.1-8b/fp8:chat", "deepinfra.llama-3.1-8b", "aws-g6e-xlarge-llama-3-1-8b-fp8-chat"
CALLS = f"chat--{RELAY}"
END = datetime(2026, 12, 1, 12)
EDGES = ("0.025", "0.06", "0.5", "1.0", "10.0", "+Inf")
Series = dict[tuple[str, frozenset[tuple[str, str]]], float]  # (metric, labels) -> increase, or mean of a gauge


@cache
def scenario() -> Scenario:
    return load_scenario(SCENARIO)


def saved() -> dict[str, Any]:
    """plan.json's object: four fifths of the chat on one L40S, the rest at a relay."""
    limits = "--max-num-seqs 256 --max-num-batched-tokens 2048 --gpu-memory-utilization 0.9"
    month = 5 * 730 * 3600
    return {
        "schema": "servemix.plan/1", "scenario": "two_offers", "scenario_digest": scenario().digest, "status": "met",
        "cost": {"currency": "USD", "per_month": 1424.2}, "finance": {"usd_per_unit": 1.0},
        "hours": [{"hour": "every hour", "weight_h": 730.0, "demand_rps": 5.0}],
        "fleet": [{
            "pool": POOL, "offer": "aws.g6e.xlarge", "gpu": "l40s", "model": "llama-3.1-8b", "weights": "fp8", "tensor_parallel": 1,
            "replicas": {"base": 1, "peak": 1, "by_hour": [1]}, "replicas_per_host": 1, "lead_s": 0.0, "linger_s": 0.0,
            "engine": {"max_num_seqs": 256, "max_num_batched_tokens": 2048}, "serve": f"vllm serve $MODEL {limits}",
        }],
        "relays": [{
            "relay": RELAY, "model": "llama-3.1-8b", "limits": {"rpm": None, "tpm": None}, "limits_enforced": False,
            "requests_per_month": month / 5, "cost_per_month": 65.7,
        }],
        "classes": [{"name": "chat", "requests_per_month": month, "served_by": {POOL: 0.8, RELAY: 0.2}, "promises": [
            {"metric": "ttft", "quantile": 0.95, "limit_s": 1.0}, {"metric": "tpot", "quantile": 0.95, "limit_s": 0.06}]}],
        "routing": {"chat": {POOL: [0.8], RELAY: [0.2]}},
    }  # fmt: skip


@cache
def plan(folder: Path) -> Deployable:
    """The plan as `deploy` reads it."""
    (folder / "plan.json").write_text(json.dumps(saved()), encoding="utf-8")
    return deployable(folder / "plan.json", load_catalog(), {})


@cache
def planned(folder: Path) -> Planned:
    return planned_for(plan(folder), saved(), scenario(), END, 24)


def quiet(expected: Planned) -> Series:
    """What a day brings that is as planned: metric and labels -> increase."""
    pool, asked = expected.pools[NAME], expected.requests["chat"]
    served, sent = asked * 0.8, expected.sent[RELAY]
    engine, relay = {"model_name": NAME, "engine": "0"}, {"model_id": CALLS, "api_provider": "deepinfra"}
    found: dict[str, tuple[dict[str, str], float]] = {
        "litellm_proxy_total_requests_metric_total": ({"requested_model": "chat", "status_code": "200"}, asked),
        "vllm:request_prompt_tokens_sum": (engine, served * pool.prompt_tokens),
        "vllm:request_prompt_tokens_count": (engine, served),
        "vllm:request_generation_tokens_sum": (engine, served * pool.answer_tokens),
        "vllm:request_generation_tokens_count": (engine, served),
        "vllm:prefix_cache_hits_total": (engine, served * pool.prompt_tokens * pool.hit_share),
        "vllm:prefix_cache_queries_total": (engine, served * pool.prompt_tokens),
        "vllm:num_preemptions_total": (engine, served * pool.preemptions / 1000),
        "vllm:request_time_per_output_token_seconds_sum": (engine, served * pool.tpot_s),
        "vllm:request_time_per_output_token_seconds_count": (engine, served),
        "vllm:kv_cache_usage_perc": (engine, pool.kv_share),
        "litellm_deployment_total_requests_total": (relay, sent),
        "litellm_deployment_failure_responses_total": (relay, sent * expected.failing[RELAY]),
        "litellm_spend_metric_total": (relay, sent * 65.7 / (730 * 3600)),
    }
    series: Series = {(name, frozenset(labels.items())): value for name, (labels, value) in found.items()}
    fast = (0.0, 0.98, 0.98, 0.99, 1.0, 1.0)
    for metric, labels, count in (
        ("vllm:time_to_first_token_seconds", engine, served),
        ("vllm:request_time_per_output_token_seconds", engine, served),
        ("litellm_llm_api_time_to_first_token_metric", {"requested_model": "chat"}, asked),
    ):
        histogram(series, metric, labels, count, fast)
    return series


def histogram(series: Series, metric: str, labels: dict[str, str], count: float, shares: tuple[float, ...]) -> None:
    """Sets the buckets of a histogram: the share of the requests up to each edge."""
    for edge, share in zip(EDGES, shares, strict=True):
        series[f"{metric}_bucket", frozenset({**labels, "le": edge}.items())] = count * share


def scaled(series: Series, factors: dict[str, float]) -> Series:
    """The series, those whose metric begins with a key times its factor."""
    return {
        key: value * next((factor for name, factor in factors.items() if key[0].startswith(name)), 1.0) for key, value in series.items()
    }


def exposition(series: Series, share: float = 1.0) -> str:
    """The page `/metrics` of a process that has counted `share` of it."""
    lines = ["# HELP vllm:kv_cache_usage_perc KV-cache usage. 1 means 100 percent usage."]
    for (metric, labels), value in series.items():
        inside = ",".join(f'{name}="{held}"' for name, held in sorted(labels))
        lines.append(f"{metric}{{{inside}}} {value if metric.endswith('perc') else value * share!r}")
    return "\n".join(lines) + "\n"


QUERY = re.compile(r'(sum|avg) by \(([a-z_, ]+)\) \((?:increase|avg_over_time)\((\S+?)\{([a-z_]+)=~"(.*)"\}\[(\d+)s\]\)\)')


def answered(series: Series, query: str, window_s: int) -> list[dict[str, Any]]:
    """The result of a query of ours over series of a day, for any window; raises for a query of another form."""
    found = QUERY.fullmatch(query)
    assert found is not None, query
    _, by, metric, label, pattern, span_s = found.groups()
    pattern, sums = pattern.replace("\\\\", "\\"), dict[tuple[str, ...], float]()
    for (name, labels), value in series.items():
        held = dict(labels)
        if name == metric and re.fullmatch(pattern, held.get(label, "")):
            key = tuple(held.get(each, "") for each in by.split(", "))
            part = value if metric.endswith("perc") else value * int(span_s) / window_s
            sums[key] = sums.get(key, 0.0) + part
    return [{"metric": dict(zip(by.split(", "), key, strict=True)), "value": [0, str(value)]} for key, value in sums.items()]


@contextmanager
def prometheus(reply: Callable[[str], tuple[int, bytes]]) -> Iterator[tuple[str, list[str]]]:
    """A small server in place of Prometheus: its address, and the requests that it got."""
    asked: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(f"{self.command} {self.path}")
            code, body = reply(parse_qs(urlsplit(self.path).query)["query"][0])
            self.send_response(code)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *words: object) -> None:
            """Says nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", asked
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def of(series: Series, window_s: int = 24 * 3600) -> Callable[[str], tuple[int, bytes]]:
    """Replies of a server that holds the series."""
    return lambda query: (
        200,
        json.dumps({"status": "success", "data": {"resultType": "vector", "result": answered(series, query, window_s)}}).encode(),
    )
