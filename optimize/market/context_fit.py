"""Requests that do not fit a context: one rule for own GPUs and relays.

A candidate may serve a class when it refuses no more of its requests than the strictest promise may miss, and when it refuses none that
another candidate would answer. What fits nowhere is refused wherever it is sent, misses every promise, and is said.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from optimize.market.token_factors import class_factors
from optimize.records import Dropped, Floats, PoolOption, RelayTerms, SloRow
from sim.engine.deployment import Deployment
from sim.engine.memory import room_tokens
from sim.requests import Requests
from sim.scenario.scenario import LogTraffic, Scenario
from sim.traffic import at_rates
from sim.traffic.budget_effect import refused_share
from sim.traffic.lengths import turns_mean
from sim.traffic.model_tokens import counted_by_class
from sim.traffic.replay import class_rows

SAMPLE = 20_000


def class_sample(scenario: Scenario, c: int) -> Requests:
    """Requests of class `c` that stand for all: every row of a log, else a fixed sample."""
    if isinstance(scenario.traffic, LogTraffic) and len(rows := class_rows(scenario, c)):
        return rows
    rates = [0.0] * len(scenario.request_classes)
    rates[c] = 1.0
    return at_rates(scenario, rates, seed=77, n_requests=SAMPLE)


@dataclass(frozen=True)
class Lengths:
    """Prompt and answer tokens of requests of one class as one model counts them: all rows of a log, else a sample."""

    total: Floats

    def refused(self, context_tokens: float) -> float:
        """Share of the requests that are longer."""
        return float(np.mean(self.total > context_tokens)) if len(self.total) else 0.0

    def words(self, context_tokens: int) -> str:
        """How far the longest request is beyond a context, and how many are."""
        longest, share = int(self.total.max(initial=0)), self.refused(context_tokens)
        return f"longest request {longest:,} tokens > context of {context_tokens:,}: refuses {100 * share:.3g} % of the requests"


class KnownLengths:
    """The lengths of the classes of a scenario, each drawn once; `samples` of classes, where they were drawn before."""

    def __init__(self, scenario: Scenario, samples: Mapping[int, Requests] | None = None) -> None:
        self.scenario, self._samples = scenario, dict(samples or {})
        self._known: dict[tuple[int, str], Lengths] = {}

    def of(self, c: int, model: str) -> Lengths:
        """The lengths of class `c` as `model` counts them."""
        if (c, model) not in self._known:
            self._known[c, model] = self._lengths(c, model)
        return self._known[c, model]

    def reason(self, c: int, model: str, context_tokens: int) -> str:
        """Why a context of so many tokens may not serve class `c`; empty where it refuses no more than the promise lets miss."""
        request_class, lengths = self.scenario.request_classes[c], self.of(c, model)
        before, allowed = refused_share(request_class, turns_mean(self.scenario)), self.allowed_share(c)
        if before > allowed + 1e-12:
            words = f"request_classes.{request_class.name}.context.max refuses {100 * before:.3g} % of its prompts"
        elif before + (1 - before) * lengths.refused(context_tokens) > allowed + 1e-12:
            words = lengths.words(context_tokens)
        else:
            return ""
        return f"{words}; the promise lets {100 * allowed:.3g} % miss"

    def allowed_share(self, c: int) -> float:
        """The share of requests that the strictest promise of class `c` may miss."""
        return 1.0 - max((slo.quantile for slo in self.scenario.request_classes[c].slo), default=0.95)

    def _lengths(self, c: int, model: str) -> Lengths:
        factors = class_factors(self.scenario.request_classes, model)
        if c not in self._samples:
            self._samples[c] = class_sample(self.scenario, c)
        sample = counted_by_class(self._samples[c], factors)
        return Lengths((sample.input_tokens.astype(np.int64) + sample.output_tokens).astype(np.float64))


def context_of(deployment: Deployment) -> int:
    """Longest request that a replica takes: the context of its model, or what its KV cache holds where that is less."""
    return min(deployment.model.max_context, room_tokens(deployment))


@dataclass(frozen=True)
class Candidate:
    """One candidate for one class: a relay, or a deployment on own GPUs. `late`: it would break the promise even with requests that fit."""

    name: str
    model: str
    context_tokens: int
    late: bool = False


def beaten(lengths: KnownLengths, c: int, known: Sequence[Candidate]) -> dict[str, str]:
    """Name of each candidate that would refuse requests of class `c` which another one answers -> the reason."""
    refused = {each.name: lengths.of(c, each.model).refused(each.context_tokens) for each in known}
    able = [each for each in known if refused[each.name] <= lengths.allowed_share(c) + 1e-12 and not each.late]
    best = min(able, key=lambda each: refused[each.name], default=None)
    if best is None:
        return {}
    return {
        each.name: f"{lengths.of(c, each.model).words(each.context_tokens)}, which {best.name} would answer"
        for each in known
        if refused[each.name] > refused[best.name]
    }


def fitting(
    scenario: Scenario, options: Sequence[PoolOption], relays: Sequence[RelayTerms], slos: Sequence[SloRow]
) -> tuple[tuple[PoolOption, ...], list[RelayTerms], list[Dropped]]:
    """Pools and relays with the classes whose requests fit, and a reason for each class that one of them loses."""
    reasons: dict[int, dict[str, str]] = {}
    lengths = KnownLengths(scenario)
    for c in range(len(scenario.request_classes)):
        own = {shape_name(o): context_of(o.deployment) for o in options if c in o.classes and o.deployment is not None}
        models = {shape_name(o): o.deployment.model.id for o in options if o.deployment is not None}
        known = [Candidate(name, models[name], context) for name, context in own.items()]
        known += [Candidate(t.relay.id, t.relay.model, t.relay.max_context, late(t, c, slos)) for t in relays if t.eligible[c]]
        reasons[c] = beaten(lengths, c, known)
    dropped = [
        Dropped(f"{name}:{scenario.request_classes[c].name}", reason) for c, found in reasons.items() for name, reason in found.items()
    ]
    kept = [replace(t, eligible=np.array([e and t.relay.id not in reasons[c] for c, e in enumerate(t.eligible)])) for t in relays]
    return _pools(scenario, options, reasons), [terms for terms in kept if terms.eligible.any()], dropped


def late(terms: RelayTerms, c: int, slos: Sequence[SloRow]) -> bool:
    """Whether the relay misses a promise of class `c` more often than it may."""
    return any(terms.miss[i] > 1 - row.needed + 1e-9 for i, row in enumerate(slos) if row.class_index == c)


def shape_name(option: PoolOption) -> str:
    """The id of a pool without its classes."""
    return option.id.rpartition(":")[0]


def _pools(scenario: Scenario, options: Iterable[PoolOption], reasons: Mapping[int, Mapping[str, str]]) -> tuple[PoolOption, ...]:
    """The pools with the classes that are left to them; those that are then the same as another, or serve no one, are left out."""
    found: dict[str, PoolOption] = {}
    for option in options:
        classes = tuple(c for c in option.classes if shape_name(option) not in reasons[c])
        name = f"{shape_name(option)}:{'+'.join(scenario.request_classes[c].name for c in classes)}"
        if classes:
            found.setdefault(name, option if classes == option.classes else replace(option, id=name, classes=classes))
    return tuple(found.values())
