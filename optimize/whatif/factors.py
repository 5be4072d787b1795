"""Inputs that no single key of a scenario holds, as factors on all that they touch: 1 leaves the scenario as it is."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

from optimize.money.amounts import offer_at
from optimize.money.owned_price import with_owned_prices
from sim.catalog.facts import Catalog, Relay
from sim.engine.slower_steps import longer_steps
from sim.relay.slower_relay import slower
from sim.scenario.scenario import ConstantTraffic, RequestClass, Scenario, SyntheticTraffic, Tokens


def users(scenario: Scenario, factor: float) -> Scenario:
    """`factor` times the requests, in whichever way the traffic says how many."""
    traffic = scenario.traffic
    if isinstance(traffic, SyntheticTraffic):
        return replace(scenario, traffic=replace(traffic, daily_active_users=traffic.daily_active_users * factor))
    if isinstance(traffic, ConstantTraffic):
        return replace(scenario, traffic=replace(traffic, rate_rps=traffic.rate_rps * factor))
    return replace(scenario, traffic=replace(traffic, scale=traffic.scale * factor))


def input_tokens(scenario: Scenario, factor: float) -> Scenario:
    """Prompts `factor` times as long: laws, system prompts and what users type; the cap on history stays. Not the lengths of a log."""

    def longer(each: RequestClass) -> RequestClass:
        talk = each.conversation
        if talk is not None:
            system = max(0, round(talk.system_prompt_tokens * factor))
            return replace(each, conversation=replace(talk, system_prompt_tokens=system, user_tokens=scaled(talk.user_tokens, factor)))
        return each if each.input_tokens is None else replace(each, input_tokens=scaled(each.input_tokens, factor))

    return replace(scenario, request_classes=tuple(longer(each) for each in scenario.request_classes))


def output_tokens(scenario: Scenario, factor: float) -> Scenario:
    """Answers `factor` times as long; in conversations the history grows with them. Not the lengths of a log."""
    classes = tuple(replace(each, output_tokens=scaled(each.output_tokens, factor)) for each in scenario.request_classes)
    return replace(scenario, request_classes=classes)


def gpu_prices(scenario: Scenario, factor: float) -> Scenario:
    """Every offer at `factor` times its price."""
    return replace(scenario, offers=tuple(offer_at(each, factor) for each in with_owned_prices(scenario).offers))


def relay_prices(scenario: Scenario, factor: float) -> Scenario:
    """Every relay at `factor` times its prices, provisioned units too."""
    names = [name for name in Relay.__dataclass_fields__ if name.startswith("usd_per_mtok") or name == "unit_usd_per_hour"]

    def dearer(relay: Relay) -> Relay:
        given = {name: value * factor for name in names if (value := getattr(relay, name)) is not None}
        return replace(relay, **given)

    return replace(scenario, relays=tuple(dearer(each) for each in scenario.relays))


def step_time(scenario: Scenario, factor: float) -> Scenario:
    """Every engine step on own GPUs `factor` times as long: the simulator's error. What a request costs before its queue stays."""

    catalog: Catalog = replace(scenario.catalog, calibration=tuple(longer_steps(row, factor) for row in scenario.catalog.calibration))
    return replace(scenario, catalog=catalog)


def relay_latency(scenario: Scenario, factor: float) -> Scenario:
    """Every relay `factor` times as slow: to the first token, and per token after it."""
    return replace(scenario, relays=tuple(slower(each, factor) for each in scenario.relays))


def scaled(law: Tokens, factor: float) -> Tokens:
    """The law of `factor` times as many tokens, at least one.

    >>> scaled(Tokens((0.0, 1.0), (100.0, 300.0), 200.0), 0.5).mean
    100.0
    """
    tokens = tuple(max(1.0, value * factor) for value in law.tokens)
    parts = zip(law.quantiles, law.quantiles[1:], tokens, tokens[1:], strict=False)
    mean = sum((q1 - q0) * (low + high) / 2 for q0, q1, low, high in parts)
    return Tokens(law.quantiles, tokens, mean)


FACTORS: dict[str, Callable[[Scenario, float], Scenario]] = {
    "users": users,
    "input_tokens": input_tokens,
    "output_tokens": output_tokens,
    "gpu_prices": gpu_prices,
    "relay_prices": relay_prices,
    "step_time": step_time,
    "relay_latency": relay_latency,
}


def with_factors(scenario: Scenario, factors: Iterable[tuple[str, float]]) -> Scenario:
    """`scenario` under each factor in turn; a factor of 1 changes nothing."""
    for name, factor in factors:
        if factor != 1.0:
            scenario = FACTORS[name](scenario, factor)
    return scenario
