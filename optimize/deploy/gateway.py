"""The plan's routing as configurations of the LiteLLM proxy, one for every hour of the week."""

from __future__ import annotations

from typing import Any

from optimize.deploy.deployable import Deployable
from optimize.deploy.kubernetes import address

PARTS = 10_000  # a share of 1 in whole numbers, as weights
RETRIES, ALLOWED_FAILS, COOL_DOWN_S, TIMEOUT_S = 2, 3, 30, 600
PORT = 4000
Json = dict[str, Any]


def gateway_config(plan: Deployable, t: int, namespace: str) -> Json:
    """The configuration of hour `t`: each request class is a model name, its targets are weighted by the plan's shares.

    A target that fails cools down, and the request is tried again at another one of its class. Keys and addresses of relays come from
    the environment.
    """
    entries = [entry for name in plan.shares for entry in _entries(plan, name, t, namespace)]
    return {
        "model_list": entries,
        "router_settings": {
            "routing_strategy": "simple-shuffle",
            "num_retries": RETRIES,
            "allowed_fails": ALLOWED_FAILS,
            "cooldown_time": COOL_DOWN_S,
            "enable_pre_call_checks": True,
            "timeout": TIMEOUT_S,
        },
        "litellm_settings": {"callbacks": ["prometheus"], "disable_hf_tokenizer_download": True},  # it asks no host but its targets
        "general_settings": {"master_key": "os.environ/LITELLM_MASTER_KEY"},
    }


def _entries(plan: Deployable, name: str, t: int, namespace: str) -> list[Json]:
    pools, relays = {pool.id: pool for pool in plan.pools}, {relay.id: relay for relay in plan.relays}
    weights = weights_of({target: by_hour[t] for target, by_hour in plan.shares[name].items()})
    entries: list[Json] = []
    called: Json
    for target, weight in weights.items():
        if target in pools and pools[target].replicas[t] > 0:
            pool = pools[target]
            called = {"model": f"hosted_vllm/{pool.name}", "api_base": address(pool, namespace)}
        elif target in relays:
            relay = relays[target]
            called = {key: f"os.environ/{relay.variable}_{key.upper()}" for key in ("model", "api_base", "api_key")}
            called |= {key: int(limit) for key, limit in (("rpm", relay.rpm), ("tpm", relay.tpm)) if limit is not None}
        else:
            continue
        entries.append({"model_name": name, "litellm_params": called | {"weight": weight}, "model_info": {"id": f"{name}--{target}"}})
    return entries


def weights_of(shares: dict[str, float]) -> dict[str, int]:
    """Whole weights that sum to 10,000, nearest to the shares by largest remainder; targets without weight are left out.

    >>> weights_of({"pool": 2 / 3, "relay": 1 / 3, "spare": 0.0})
    {'pool': 6667, 'relay': 3333}
    """
    total = sum(shares.values())
    if total <= 0:
        return {}
    exact = {name: PARTS * share / total for name, share in shares.items()}
    weights = {name: int(value) for name, value in exact.items()}
    for name in sorted(exact, key=lambda each: (weights[each] - exact[each], each))[: PARTS - sum(weights.values())]:
        weights[name] += 1
    return {name: weight for name, weight in weights.items() if weight > 0}


def file_of_hour(hour: str) -> str:
    """The name of the file of an hour of the week, as the clock of the gateway's start finds it.

    >>> file_of_hour("weekday 09")
    'weekday-09.yaml'
    """
    return f"{hour.replace(' ', '-')}.yaml"


def variables(plan: Deployable) -> list[tuple[str, str]]:
    """Environment variables that the gateway reads, each with what belongs into it. No secret is written anywhere."""
    found = [("LITELLM_MASTER_KEY", "the key with which clients call the gateway; make one up")]
    for relay in plan.relays:
        found += [
            (f"{relay.variable}_MODEL", f"{relay.model} at {relay.id}, as LiteLLM names it: provider/model"),
            (f"{relay.variable}_API_BASE", "the vendor's address, ending in /v1 or as its page says"),
            (f"{relay.variable}_API_KEY", "the key of your account there"),
        ]
    return found
