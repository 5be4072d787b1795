"""A relay as a routing target."""

from __future__ import annotations

from dataclasses import dataclass, field

from sim.catalog.facts import Relay
from sim.catalog.relay_records import RetryPolicy as RetryPolicy


@dataclass(frozen=True)
class RelayEndpoint:
    """A relay as a routing target; `enforce_limits` False means that its RPM/TPM are taken as negotiated away."""

    name: str
    relay: Relay
    retry: RetryPolicy = field(default_factory=RetryPolicy)
    enforce_limits: bool = True
    network_ps: int = 0
