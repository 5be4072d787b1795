"""Pools of plain replicas behind a plain router, on one SimPy clock; the answers of a kernel run, by the slow road."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import simpy

from sim.engine.pool import Pool, Status
from sim.fleet.clients import Turns
from sim.fleet.fleet import Fleet
from sim.requests import Requests
from tests.oracle.engine import THE_RULES, Replica, Rules, Sequence
from tests.oracle.prefix_cache import prefixes

BEFORE_STEP_ENDS, AFTER_STEP_ENDS = -(10**9), 10**9  # SimPy priorities; those of timeouts are 1


@dataclass
class OracleLog:
    """One entry per request, in the order of `Requests`; times in ps at the client, -1 where it never happened."""

    arrival_ps: list[int]
    first_ps: list[int]
    finish_ps: list[int]
    status: list[int]
    target: list[int]
    replica: list[int]
    preemptions: list[int]
    cached_tokens: list[int]
    steps: list[int] = field(default_factory=list)  # by target
    target_preemptions: list[int] = field(default_factory=list)
    computed_tokens: list[int] = field(default_factory=list)
    target_cached_tokens: list[int] = field(default_factory=list)
    replicas: list[list[Replica]] = field(default_factory=list)


class OraclePool:
    """The replicas of one pool, and which of them gets the next request."""

    def __init__(self, env: simpy.Environment, pool: Pool, fleet: Fleet, rules: Rules, ended: Callable[[Sequence], None]) -> None:
        self.router, self.slack, self.rules, self.ended = fleet.router, fleet.affinity_slack, rules, ended
        self.shift_ps = pool.network_ps + pool.cost.request_ps  # the replicas' clock runs this far behind the client's
        self.last_replica: dict[int, int] = {}
        self.outstanding = [0] * pool.replicas
        self.served = 0
        self.sequences: list[Sequence] = []
        self.replicas = [Replica(env, pool.cost, pool.kv_blocks, pool.limits, self.released(i), rules) for i in range(pool.replicas)]

    def released(self, replica: int) -> Callable[[Sequence], None]:
        def on_finish(seq: Sequence) -> None:
            self.outstanding[replica] -= 1
            self.ended(seq)

        return on_finish

    def choose(self, session: int) -> int:
        """Round robin counts every request, rejected ones too; least outstanding breaks ties by the lowest index."""
        self.served += 1
        if self.router == "session_affinity" and session in self.last_replica and not self.is_overloaded(self.last_replica[session]):
            return self.last_replica[session]
        if self.router == "round_robin":
            return (self.served - 1) % len(self.replicas)
        least = min(self.outstanding)
        tied = [i for i, n in enumerate(self.outstanding) if n == least]
        return tied[0 if self.rules.route_ties_to == "lowest" else -1]

    def is_overloaded(self, replica: int) -> bool:
        more = self.outstanding[replica] - min(self.outstanding)
        return more > self.slack and self.outstanding[replica] > 1.5 * min(self.outstanding)


class OracleFleet:
    """All pools and the clients, who may wait for an answer before they send on."""

    def __init__(self, fleet: Fleet, requests: Requests, rules: Rules, turns: Turns | None) -> None:
        n = len(requests)
        arrivals = requests.arrival_ps.tolist() if turns is None else [-1] * n
        self.log = OracleLog(arrivals, [-1] * n, [-1] * n, [int(Status.IN_FLIGHT)] * n, [-1] * n, [-1] * n, [0] * n, [0] * n)
        self.env = simpy.Environment(initial_time=0)
        self.requests, self.rules, self.turns = requests, rules, turns
        self.priorities = fleet.priorities
        for index, class_id in enumerate(requests.class_id):
            row = fleet.shares[class_id]
            assert not row.any() or row.max() == 1.0, "shares of 0 and 1, so that no draw is needed"
            self.log.target[index] = int(row.argmax()) if row.any() else -1
        self.prefix_of = prefixes(requests)
        self.pools: list[OraclePool] = []
        for pool in fleet.targets:
            assert isinstance(pool, Pool), "the oracle knows pools only"
            self.pools.append(OraclePool(self.env, pool, fleet, rules, self.finished))
        for index in range(n):
            if turns is None or turns.after[index] < 0:
                self.schedule(index, int(requests.arrival_ps[index]))

    def schedule(self, index: int, at_ps: int) -> None:
        """Arrivals come before the step ends of the same instant, and among themselves in the order of their index."""
        event = self.env.event()
        event._ok, event._value = True, None
        event.callbacks.append(lambda _: self.arrive(index))
        priority = index + (BEFORE_STEP_ENDS if self.rules.arrivals_before_step_ends else AFTER_STEP_ENDS)
        self.env.schedule(event, priority, delay=at_ps - self.env.now)  # type: ignore[arg-type]

    def arrive(self, index: int) -> None:
        log, session = self.log, int(self.requests.session_id[index])
        log.arrival_ps[index] = int(self.env.now)
        if log.target[index] < 0:
            return self.reject(index)
        pool = self.pools[log.target[index]]
        replica = pool.choose(session)
        tokens = int(self.requests.input_tokens[index]), int(self.requests.output_tokens[index])
        priority = self.priorities[self.requests.class_id[index]] if self.priorities else 0
        seq = Sequence(index, *tokens, priority=priority, prefix=self.prefix_of[index])
        if not pool.replicas[replica].can_ever_hold(seq):
            return self.reject(index)
        log.replica[index] = replica
        if session >= 0:
            pool.last_replica[session] = replica
        pool.sequences.append(seq)
        pool.outstanding[replica] += 1
        pool.replicas[replica].arrive(seq)

    def reject(self, index: int) -> None:
        self.log.status[index] = int(Status.REJECTED)
        self.send_on(index, int(self.env.now))

    def finished(self, seq: Sequence) -> None:
        self.send_on(seq.index, seq.finish_ps + self.pools[self.log.target[seq.index]].shift_ps)

    def send_on(self, index: int, known_ps: int) -> None:
        """Whoever waits for request `index` sends the next one when he has thought."""
        for later in range(len(self.requests)) if self.turns is not None else ():
            if self.turns is not None and self.turns.after[later] == index:
                at_ps = known_ps + int(self.turns.think_ps[later])
                assert at_ps > self.env.now, "an answer that brings an arrival at once is not for the oracle"
                self.schedule(later, at_ps)

    def run(self, end_ps: int | None) -> OracleLog:
        """Up to and including `end_ps` on the clock of the arrivals, also the start of a step at it."""
        while self.env.peek() < float("inf") and (end_ps is None or self.env.peek() <= end_ps):
            self.env.step()
        for pool in self.pools:
            self.collect(pool)
        return self.log

    def collect(self, pool: OraclePool) -> None:
        log = self.log
        for seq in pool.sequences:
            log.preemptions[seq.index] = seq.preemptions
            log.cached_tokens[seq.index] = max(seq.cached_tokens, 0)
            if seq.first_ps >= 0:
                log.first_ps[seq.index] = seq.first_ps + pool.shift_ps
            if seq.finish_ps >= 0:
                log.finish_ps[seq.index] = seq.finish_ps + pool.shift_ps
                log.status[seq.index] = int(Status.FINISHED)
        log.steps.append(sum(r.steps for r in pool.replicas))
        log.target_preemptions.append(sum(r.preemptions for r in pool.replicas))
        log.computed_tokens.append(sum(r.computed_tokens for r in pool.replicas))
        log.target_cached_tokens.append(sum(r.cache.hit_tokens for r in pool.replicas if r.cache))
        log.replicas.append(pool.replicas)


def simulate_plainly(
    fleet: Fleet, requests: Requests, end_ps: int | None = None, rules: Rules = THE_RULES, turns: Turns | None = None
) -> OracleLog:
    """What `simulate`, or with `turns` `simulate_turns` of `sim.fleet`, must answer for a fleet of pools whose shares are 0 or 1."""
    return OracleFleet(fleet, requests, rules, turns).run(end_ps)
