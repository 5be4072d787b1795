"""A plan as `optimize --out DIR` writes it, made by hand: two pools, one of them by the clock, and a relay."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

HOURS = [f"{day} {hour:02}" for day in ("weekday", "weekend") for hour in range(24)]
BY_CLOCK = [1] * 8 + [3] * 4 + [4] * 2 + [3] * 8 + [1] * 2 + [2] * 24  # weekday, then a weekend that does not change
STEADY = "verda.h100/llama-3.1-8b/fp8:faq"
MOVING = "verda.h100x2/llama-3.3-70b/fp8/tp2:chat+faq"
RELAY = "deepinfra.llama-3.3-70b-turbo"


def pool(name: str, offer: str, model: str, tensor_parallel: int, by_hour: list[int], **more: Any) -> dict[str, Any]:
    replicas = {"base": min(by_hour), "peak": max(by_hour), "by_hour": by_hour}
    shape = {"gpu": "h100", "model": model, "weights": "fp8", "tensor_parallel": tensor_parallel, "replicas_per_host": 1}
    parallel = f" --tensor-parallel-size {tensor_parallel}" if tensor_parallel > 1 else ""
    limits = "--max-num-seqs 256 --max-num-batched-tokens 2048 --gpu-memory-utilization 0.9"
    shape |= {"engine": {"max_num_seqs": 256, "max_num_batched_tokens": 2048}, "serve": f"vllm serve $MODEL{parallel} {limits}"}
    return {"pool": name, "offer": offer, **shape, "replicas": replicas, "lead_s": 0.0, "linger_s": 0.0, **more}


def plan(**changed: Any) -> dict[str, Any]:
    """The plan, with keys of its top level changed."""
    promise = {"metric": "ttft", "quantile": 0.95, "limit_s": 2.0}
    return {
        "schema": "servemix.plan/1",
        "scenario": "small",
        "scenario_digest": "0123456789abcdef",
        "status": "met",
        "cost": {"currency": "USD", "per_month": 12345.6},
        "hours": [{"hour": hour, "weight_h": 15.2, "demand_rps": 10.0 + t % 24} for t, hour in enumerate(HOURS)],
        "fleet": [
            pool(STEADY, "verda.h100", "llama-3.1-8b", 1, [1] * 48),
            pool(MOVING, "verda.h100x2", "llama-3.3-70b", 2, BY_CLOCK, lead_s=300.0, linger_s=60.0),
        ],
        "relays": [{"relay": RELAY, "model": "llama-3.3-70b", "limits": {"rpm": 10000.0, "tpm": 10000000.0}}],
        "classes": [
            {
                "name": "chat",
                "requests_per_month": 3000,
                "promises": [promise, {"metric": "tpot", "quantile": 0.95, "limit_s": 0.07}],
            },
            {
                "name": "faq",
                "requests_per_month": 1000,
                "promises": [promise | {"limit_s": 1.5}, promise | {"metric": "e2e", "limit_s": 9.0}],
            },
        ],
        "routing": {
            "chat": {MOVING: [0.75] * 47 + [1.0], RELAY: [0.25] * 47 + [0.0]},
            "faq": {STEADY: [0.6] * 48, MOVING: [0.4] * 48},
        },
    } | changed


def written(folder: Path, **changed: Any) -> Path:
    """The plan in a file."""
    file = folder / "plan.json"
    file.write_text(json.dumps(plan(**changed)), encoding="utf-8")
    return file
