"""Pools of plain replicas behind a plain router, on one SimPy clock; the answers of a kernel run, by the slow road."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

import simpy
from simpy.events import EventPriority

from sim.fleet_records import Fleet, Pool, Status
from sim.traffic.columns import Requests
from tests.oracle.engine import THE_RULES, Replica, Rules, Sequence
from tests.oracle.prefix_cache import prefixes


@dataclass
class OracleLog:
    """One entry per request, in the order of `Requests`; times in ps at the client, -1 where it never happened."""

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

    def __init__(self, env: simpy.Environment, pool: Pool, router: str, slack: int, rules: Rules) -> None:
        self.router, self.slack, self.rules = router, slack, rules
        self.last_replica: dict[int, int] = {}
        self.outstanding = [0] * pool.replicas
        self.served = 0
        self.replicas = [Replica(env, pool.cost, pool.kv_blocks, pool.limits, self.released(i), rules) for i in range(pool.replicas)]

    def released(self, replica: int) -> Callable[[Sequence], None]:
        def on_finish(seq: Sequence) -> None:
            self.outstanding[replica] -= 1

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


def simulate_plainly(fleet: Fleet, requests: Requests, end_ps: int | None = None, rules: Rules = THE_RULES) -> OracleLog:
    """What `sim.fleet.simulate` must answer for a fleet of pools whose shares are all 0 or 1 (so that no draw is needed).

    Pools meet in nothing but the split of the classes, so each runs on its own clock. With `end_ps` everything up to and
    including that instant happens on the pool's clock, also the start of a step at it.
    """
    n = len(requests)
    log = OracleLog([-1] * n, [-1] * n, [int(Status.IN_FLIGHT)] * n, [-1] * n, [-1] * n, [0] * n, [0] * n)
    for index, class_id in enumerate(requests.class_id):
        row = fleet.shares[class_id]
        if row.any():
            log.target[index] = int(row.argmax())
            assert row.max() == 1.0
        elif end_ps is None or requests.arrival_ps[index] <= end_ps:
            log.status[index] = int(Status.REJECTED)
    for target, pool in enumerate(fleet.targets):
        assert isinstance(pool, Pool), "the oracle knows pools only"
        run_pool(log, requests, target, pool, fleet, end_ps, rules)
    return log


def run_pool(log: OracleLog, requests: Requests, target: int, pool: Pool, fleet: Fleet, end_ps: int | None, rules: Rules) -> None:
    """Serve the requests of one pool and write what became of them into `log`."""
    env = simpy.Environment(initial_time=0)
    front = OraclePool(env, pool, fleet.router, fleet.affinity_slack, rules)
    prefix_of = prefixes(requests, [i for i in range(len(requests)) if log.target[i] == target])
    shift_ps = pool.network_ps + pool.cost.request_ps  # the replicas' clock runs this far behind the client's
    sequences: list[Sequence] = []

    def route(index: int) -> None:
        session = int(requests.session_id[index])
        replica = front.choose(session)
        seq = Sequence(index, int(requests.input_tokens[index]), int(requests.output_tokens[index]), prefix=prefix_of[index])
        if not front.replicas[replica].can_ever_hold(seq):
            log.status[index] = int(Status.REJECTED)
            return
        log.replica[index] = replica
        if session >= 0:
            front.last_replica[session] = replica
        sequences.append(seq)
        front.outstanding[replica] += 1
        front.replicas[replica].arrive(seq)

    for index in range(len(requests)):
        if log.target[index] == target:
            schedule_arrival(env, int(requests.arrival_ps[index]), partial(route, index), rules)
    while env.peek() < float("inf") and (end_ps is None or env.peek() <= end_ps):
        env.step()
    collect(log, sequences, front.replicas, shift_ps)


def schedule_arrival(env: simpy.Environment, at_ps: int, arrive: Callable[[], None], rules: Rules) -> None:
    """Priority 0 pops before the timeouts (priority 1) of the same instant; equal arrivals pop in the order of their index."""
    event = env.event()
    event._ok, event._value = True, None
    event.callbacks.append(lambda _: arrive())
    priority = EventPriority(0 if rules.arrivals_before_step_ends else 2)
    env.schedule(event, priority, delay=at_ps)


def collect(log: OracleLog, sequences: list[Sequence], replicas: list[Replica], shift_ps: int) -> None:
    for seq in sequences:
        log.preemptions[seq.index] = seq.preemptions
        log.cached_tokens[seq.index] = max(seq.cached_tokens, 0)
        if seq.first_ps >= 0:
            log.first_ps[seq.index] = seq.first_ps + shift_ps
        if seq.finish_ps >= 0:
            log.finish_ps[seq.index] = seq.finish_ps + shift_ps
            log.status[seq.index] = int(Status.FINISHED)
    log.steps.append(sum(r.steps for r in replicas))
    log.target_preemptions.append(sum(r.preemptions for r in replicas))
    log.computed_tokens.append(sum(r.computed_tokens for r in replicas))
    log.target_cached_tokens.append(sum(r.cache.hit_tokens for r in replicas if r.cache))
    log.replicas.append(replicas)
