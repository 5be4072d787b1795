"""Scenarios built by hand, so that the traffic room is tested without the loader."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from sim.catalog.facts import Catalog
from sim.scenario.scenario import (
    Budget,
    ConstantTraffic,
    Conversation,
    LogTraffic,
    Policy,
    RequestClass,
    Scenario,
    SyntheticTraffic,
    Tokens,
)

DAY = np.array([2, 1.5, 1, 1, 1, 1.5, 2, 3, 4, 5, 6, 6, 6, 6, 7, 7, 6, 6, 6, 6, 6, 5, 4, 3])
Traffic = SyntheticTraffic | ConstantTraffic | LogTraffic


def constant(tokens: float) -> Tokens:
    return Tokens((0.0, 1.0), (tokens, tokens), tokens)


def uniform(low: float, high: float) -> Tokens:
    return Tokens((0.0, 1.0), (low, high), (low + high) / 2)


def chat(system: int = 500, user: Tokens | None = None, cap: int = 8192) -> Conversation:
    return Conversation(system, user or uniform(10, 100), cap)


def request_class(
    name: str,
    share: float,
    inputs: Tokens | None = None,
    output: Tokens | None = None,
    conversation: Conversation | None = None,
) -> RequestClass:
    if conversation is None:
        inputs = inputs or uniform(100, 300)
    return RequestClass(name, share, "chat", "", inputs, conversation, output or uniform(50, 150), ("m",), ())


def week(users: float = 20_000) -> SyntheticTraffic:
    return SyntheticTraffic(users, 3.0, 2.5, tuple((DAY / DAY.sum()).tolist()), 0.85, 1.17)


def scenario(traffic: Traffic, *classes: RequestClass, seed: int = 1) -> Scenario:
    if not classes:
        classes = (request_class("chat", 0.7, conversation=chat()), request_class("faq", 0.3))
    return Scenario(
        name="test",
        description="",
        seed=seed,
        path=Path("test.yaml"),
        digest="",
        traffic=traffic,
        request_classes=classes,
        offers=(),
        relays=(),
        weights=(),
        tensor_parallel=(),
        measured_capacity=None,
        budget=Budget(1.0, "USD"),
        policy=Policy(),
        catalog=Catalog({}, {}, {}, {}, {}, (), "", ""),
    )
