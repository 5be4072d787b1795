"""The page that goes with the files: what they are, how they are applied, what to do when an alert comes."""

from __future__ import annotations

from optimize.deploy.deployable import Deployable, RunningPool
from optimize.deploy.gateway import variables
from optimize.deploy.kubernetes import OFFER_LABEL
from optimize.deploy.timetable import shifts
from optimize.deploy.vllm_serve import needs_checkpoint, serve_line


def runbook(plan: Deployable, namespace: str, timezone: str, given: set[str]) -> str:
    """The runbook as Markdown; `given`: "MODEL/WEIGHTS" whose checkpoint was named."""
    parts = [
        _heading(plan, timezone),
        _apply(plan, namespace, given),
        *(_pool(plan, pool, f"{pool.model}/{pool.weights}" in given) for pool in plan.pools),
        _gateway(plan),
        ALERTS,
        EVERY_DAY,
        LIMITS,
    ]
    return "\n".join(parts)


def _heading(plan: Deployable, timezone: str) -> str:
    warning = "" if plan.status == "met" else f"\n**This plan is {plan.status.replace('_', ' ')}: read its verdict before you run it.**\n"
    clock = f"Hours are those of {timezone}." if plan.weekly else "The plan follows a log; the fleet of its busiest hour runs all the time."
    return (
        f"# Runbook: {plan.scenario}\n\nMade from a plan of {plan.cost} a month (scenario digest {plan.digest}). {clock}\n{warning}\n"
        "| folder | what it holds |\n|---|---|\n"
        "| `kubernetes/` | engines, services, the gateway |\n"
        "| `keda/` | how many replicas run when |\n"
        "| `gateway/` | the proxy's configuration for each hour, and the names of what it reads from the environment |\n"
        "| `prometheus/` | recording and alert rules |\n"
    )


def _apply(plan: Deployable, namespace: str, given: set[str]) -> str:
    offers = sorted({pool.offer for pool in plan.pools})
    missing = sorted({f"{p.model}/{p.weights}" for p in plan.pools if needs_checkpoint(p, f"{p.model}/{p.weights}" in given)})
    steps = [f"`kubectl create namespace {namespace}`"]
    steps += [f"Label the nodes of each offer: `kubectl label node NODE {OFFER_LABEL}={offer}`" for offer in offers]
    steps += [
        f"{name} needs a checkpoint stored in that format, and none was named: make the files again with `--checkpoint {name}=REPOSITORY`."
        for name in missing
    ]
    if any(pool.repository.startswith("meta-llama/") for pool in plan.pools):
        token = f"kubectl create secret generic model-access -n {namespace} --from-literal=HF_TOKEN=..."
        steps.append(f"Models behind a licence page need a token: `{token}`")
    steps += [
        f"Fill `gateway/environment.example` and store it: `kubectl create secret generic gateway-secrets -n {namespace} "
        "--from-env-file=gateway/environment`. Keep the filled file out of version control.",
        "`kubectl apply -f kubernetes/`, then `kubectl apply -f keda/` (KEDA 2.10 or newer must be installed).",
        "Give `prometheus/rules.yaml` to Prometheus (`rule_files`), or as the `spec` of a PrometheusRule.",
        "Send a request of each class through the gateway, and compare `vllm:num_requests_running` of the pools with the shares below.",
    ]
    return "\n## Apply\n\n" + "\n".join(f"{k}. {step}" for k, step in enumerate(steps, start=1)) + "\n"


def _pool(plan: Deployable, pool: RunningPool, given: bool) -> str:
    rows = [f"| {each.replicas} | `{each.start}` | `{each.end}` |" for each in shifts(pool)] if plan.weekly else []
    clock = "\n".join(["| replicas | from | to |", "|---|---|---|", *rows]) if rows else "The number of replicas does not change."
    promises = "; ".join(
        f"{name} {p.metric.upper()} p{p.quantile * 100:g} within {p.limit_s:g} s" for name in pool.classes for p in plan.promises[name]
    )
    return (
        f"\n## Pool {pool.name}\n\n{pool.id} on {pool.offer}: at least {min(pool.replicas)}, at most {max(pool.replicas)} replicas, "
        f"{pool.replicas_per_host} to a host.\n"
        f"It keeps: {promises or 'no promise'}.\n\n{clock}\n\nBy hand on one host:\n\n```sh\n{serve_line(pool, given)}\n```\n"
    )


def _gateway(plan: Deployable) -> str:
    t = plan.busiest
    sent = [(name, target, by_hour[t]) for name, targets in plan.shares.items() for target, by_hour in targets.items() if by_hour[t]]
    rows = [f"| {name} | {target} | {share:.1%} |" for name, target, share in sent]
    needed = "\n".join(f"- `{name}`: {meaning}" for name, meaning in variables(plan))
    return (
        f"\n## Gateway\n\nClients name a request class as the model. In the busiest hour ({plan.hours[t]}):\n\n"
        + "\n".join(["| class | goes to | share |", "|---|---|---|", *rows])
        + f"\n\nIt reads from the environment:\n\n{needed}\n\n"
        + (CLOCK if plan.weekly else "")
    )


CLOCK = """At every full hour `gateway-clock` has the proxy start anew, one pod after the other, on the configuration of that hour.
With another time zone than UTC the image must know time zones: `date` in a pod shows whether it does.
"""
ALERTS = """
## When an alert comes

**A promise is not kept** (`Pool...AbovePromise`, `Class...AbovePromise`). Look at demand first (`DemandAbovePlan`), then at missing
replicas, then at `vllm:num_requests_waiting`. Demand as planned and all replicas ready: steps are slower, or prompts longer, than planned.
Add a replica (`kubectl scale`, or raise `minReplicaCount`, which KEDA would otherwise undo), then measure with the benchmark that
`servemix optimize` prints under "How far to trust it", and plan again with `servemix calibrate`.

**The KV cache is full** (`KvCacheFull`, `Preemptions`). Prompts or answers are longer than planned, or fewer prefixes are found. Compare
`vllm:request_prompt_tokens` and `vllm:request_generation_tokens` with the scenario. Add a replica; then plan again with today's lengths.

**Replicas are missing** (`ReplicasMissing`). `kubectl get pods -l servemix/pool=POOL`: pending pods mean that the offer has no host left.
Take another offer of the same card, or send the class to a relay for the time being: raise the relay's weight in `gateway/`.

**Demand has outgrown the plan** (`DemandAbovePlan`). Plan again with the observed rate; until then add replicas in proportion.

**A relay fails** (`RelayFailing`). Calls are tried again at other targets of the class. If it lasts, set its weight to 0 in the hour's
configuration, and see with `servemix simulate --plan plan.json --stress` what the fleet does without it.
"""
EVERY_DAY = """
## Every day

Alerts watch minutes. `servemix track plan.json --prometheus URL` holds a day against the plan: demand, lengths, cache hits, step time,
relays and spend. Exit code 0 means as planned, 4 a broken promise, 5 a drift; so it can stand in a cron table.
"""
LIMITS = """
## What these files do not do

- Quantiles come from histogram buckets, between which Prometheus interpolates: near a limit they may be off by the width of a bucket.
- The Service spreads connections evenly. The plan's simulator sends each request to the replica with the least work, or where its
  conversation is cached; a router that does so (the vLLM production stack, llm-d, an inference gateway) comes closer to the plan.
- The timetable holds for the demand of the plan; nothing here reacts to a surge.
- Each pod of the gateway counts a relay's calls a minute by itself: two pods may send twice the limit, unless they share a Redis.
"""
