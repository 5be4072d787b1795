"""The engine settings of a scenario's replicas, and how a pool's router spreads its requests."""

from __future__ import annotations

from dataclasses import fields, replace

from sim.catalog.facts import Gpu
from sim.engine.deployment import CURRENT_RELEASE, EngineLimits
from sim.engine.release import default_limits, engine_release
from sim.engine.routers import DEFAULT, WITH_CACHE
from sim.scenario.scenario import LogTraffic, Scenario


def engine_limits(scenario: Scenario, gpu: Gpu) -> EngineLimits:
    """The scheduler limits that deployments on `gpu` start with: those of the scenario, else those of the engine on such a card.

    A number of sequences that is not stated is at most that of the tokens, as in vLLM, and tokens that are not stated are at least the
    sequences. The prefix cache is on unless the scenario turns it off (as in vLLM V1), and off where no request begins like another:
    there it finds nothing, and the simulator is faster without.
    """
    kinds = {f.name: f.type for f in fields(EngineLimits)}
    stated = {k: v for k, v in scenario.engine.items() if k in kinds}
    given = {k: int(v) if "int" in str(kinds[k]) else bool(v) if kinds[k] == "bool" else v for k, v in stated.items()}
    limits = replace(default_limits(release_of(scenario), gpu), **given)  # type: ignore[arg-type]
    tokens, seqs = limits.max_num_batched_tokens, limits.max_num_seqs
    if "max_num_seqs" not in given:
        limits = replace(limits, max_num_seqs=min(seqs, tokens))
    elif "max_num_batched_tokens" not in given:
        limits = replace(limits, max_num_batched_tokens=max(seqs, tokens))
    return replace(limits, prefix_caching=caches_prefixes(scenario))


def caches_prefixes(scenario: Scenario) -> bool:
    """Whether replicas keep a prefix cache in which anything can be found."""
    return bool(scenario.engine.get("prefix_caching", True)) and shares_prefixes(scenario)


def release_of(scenario: Scenario) -> str:
    """The engine release that every replica runs: that of the version which the scenario names, else today's."""
    version = scenario.engine.get("version")
    return CURRENT_RELEASE if version is None else engine_release("vllm", str(version))


def shares_prefixes(scenario: Scenario) -> bool:
    """Whether prompts may begin alike: conversations, or a log, which may say so."""
    return isinstance(scenario.traffic, LogTraffic) or any(c.conversation is not None for c in scenario.request_classes)


def priorities_of(scenario: Scenario) -> tuple[int, ...]:
    """The priority of each class inside pools, lower first; empty where all are alike."""
    priorities = tuple(c.priority for c in scenario.request_classes)
    return priorities if len(set(priorities)) > 1 else ()


def router_of(scenario: Scenario) -> str:
    """The router that the scenario names; without a name, the one that sends a turn where its history is cached, if anything is cached."""
    if scenario.policy.router is not None:
        return scenario.policy.router
    return WITH_CACHE if caches_prefixes(scenario) else DEFAULT
