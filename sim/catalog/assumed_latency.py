"""What is assumed of a relay's latency where no one measured it: how TTFT grows with the prompt.

Published TTFTs are those of prompts of about a thousand tokens. A longer one is computed first: 2 operations per active parameter and
token, on the part of a host that one request gets. Taken here: four H100 at 60 % of their dense 16-bit peak, which is about what one of the
eight-GPU hosts that sell 70B models shows for long prompts. A vendor may be three times as fast or as slow: probe the endpoint
(docs/how-to/measure-a-relay.md), and the measured slope takes the place of this one. Attention to what came before is left out: optimistic
for very long prompts. Cached prompts count like others: pessimistic where a vendor caches.
"""

from __future__ import annotations

from sim.catalog.facts import Model, Relay

MEASURED_AT_TOKENS = 1000  # prompts of the public latency tables have 550 to 1,000
FLOPS = 4 * 989e12 * 0.6
UNKNOWN_PARAMETERS = 40e9  # active ones of a model whose maker does not state them: those of the largest open mixtures


def assumed_prefill_s_per_token(model: Model | None) -> float:
    """Seconds that each further prompt token adds to the first one's; `model` None: its size is not known.

    >>> assumed_prefill_s_per_token(None) * 100_000 < 10
    True
    """
    return 2.0 * (UNKNOWN_PARAMETERS if model is None else model.active_parameters) / FLOPS


def has_assumed_latency(relay: Relay) -> bool:
    """Whether the plan rests on an assumption about the latency of `relay`: no one has probed it."""
    return relay.latency is None
