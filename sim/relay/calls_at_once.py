"""Requests of a relay that only meet each other, worked off without an event for each: limits, retries, outages, load and patience."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from sim.relay import call_kernel
from sim.relay.call_kernel import CALL, COUNTS, END, STATE
from sim.relay.call_rules import MOST_PS
from sim.relay.server import RelayServer
from sim.requests import Requests

Int64s = npt.NDArray[np.int64]
SLOTS = 1024  # calls under way that there is room for at first
MOST_DRAWS = 64  # blocks of each kind at once
BEFORE_PS = 2**61  # all times of a run that the kernel may work off: then no sum leaves 64 bits


def fits_integers(server: RelayServer, requests: Requests) -> bool:
    """Whether 64 bits hold every time of such a run. Absurd limits (one token in a minute, for prompts of a million) do not fit."""
    rules, limits = server.rules, server.limits
    last_ps = int(requests.arrival_ps.max(initial=0)) + max(rules.deadline_ps, 0)
    delays_ps = rules.network_ps + rules.refused_ps + max(rules.patience_ps, 0) + round(max(rules.ceilings_s, default=0.0) * 1e12)
    most_units = (1, server.endpoint.relay.max_context)
    charges_ps = [limit.unit_ps * units + limit.burst_ps for limit, units in zip(limits, most_units, strict=True) if limit]
    streams_ps = 6 * MOST_PS + rules.token_ps  # prompt, first token, and an answer of the slowest speed
    return last_ps + delays_ps + streams_ps + 2 * max(charges_ps, default=0) < BEFORE_PS


class CallsAtOnce:
    """One run of the kernel over the calls of a server, and its stocks of draws."""

    def __init__(self, server: RelayServer, chosen: Int64s, requests: Requests, end_ps: int | None) -> None:
        self._server, self._chosen, self._requests = server, chosen, requests
        self._ends = np.full(len(chosen), np.array((-1, -1, -1, 0), END))
        self._calls, self._heap = np.zeros(0, CALL), np.zeros(0, np.int64)
        self._state = np.zeros(1, STATE)
        self._fill_state(end_ps)
        self._grow()
        self._latency = np.empty((0, 2), np.int64)
        self._uniform = {name: np.empty(0) for name in ("error", "wait", "torn")}
        self._blocks = max(1, min(MOST_DRAWS, len(chosen) // 4096))
        self._refill()

    def _fill_state(self, end_ps: int | None) -> None:
        server, state = self._server, self._state[0]
        relay, rules = server.endpoint.relay, server.rules
        for name, limit in zip(("rpm", "tpm"), server.limits, strict=True):
            if limit is not None:
                state[f"{name}_unit"], state[f"{name}_burst"], state[f"{name}_full"] = limit.unit_ps, limit.burst_ps, limit.full_ps
        told: dict[str, Any] = {"deadline": rules.deadline_ps, "network": rules.network_ps, "refused": rules.refused_ps}
        told |= {"patience": rules.patience_ps, "token_ps": rules.token_ps, "free_tokens": rules.free_tokens, "most_ps": MOST_PS}
        told |= {"max_context": relay.max_context, "stop": call_kernel.NEVER if end_ps is None else end_ps, "free": -1}
        told |= {"error_share": relay.error_share, "torn_share": relay.torn_share, "budget_share": -1.0}
        if server.budget is not None:
            told |= {"budget_share": server.budget.share, "budget": server.budget.left}
        for name, value in told.items():
            state[name] = value
        self._tell_outage()

    def _tell_outage(self) -> None:
        self._state[0]["begin"], self._state[0]["outage_end"] = self._server.draws.outages.begin_ps, self._server.draws.outages.end_ps

    def _grow(self) -> None:
        """Twice as many slots; the new ones are free."""
        size = len(self._calls)
        more = max(size, SLOTS)
        new = np.zeros(more, CALL)
        new["next"] = np.append(np.arange(size + 1, size + more), self._state[0]["free"])
        self._calls = np.concatenate([self._calls, new])
        self._heap = np.concatenate([self._heap, np.zeros(more, np.int64)])
        self._state[0]["free"] = size

    def _refill(self) -> None:
        """More draws of the kinds that are used up."""
        state, draws = self._state[0], self._server.draws
        if state["latency"] == len(self._latency):
            self._latency = np.concatenate([next(draws.latency) for _ in range(self._blocks)])
            state["latency"] = 0
        for name, stock in self._uniform.items():
            if state[name] == len(stock):
                self._uniform[name] = draws.uniform[name].random(4096 * self._blocks)
                state[name] = 0

    def _next_outage(self) -> None:
        """The outage that is on, or comes next, when the kernel goes on."""
        state = self._state[0]
        self._server.draws.outages.down(int(state["outage_end"]))
        self._tell_outage()

    def ends(self) -> Int64s:
        """[5, n] of the requests that have ended: request, first_ps, finish_ps, status, attempts. The server's meter has counted them."""
        requests, answer, rules = self._requests, -1, self._server.rules
        while answer != call_kernel.DONE:
            answer = call_kernel.work(
                self._state, self._calls, self._heap, self._ends, self._chosen,
                requests.arrival_ps, requests.input_tokens, requests.output_tokens,
                self._latency, self._uniform["error"], self._uniform["wait"], self._uniform["torn"], rules.ceilings_s, rules.load,
            )  # fmt: skip
            more = {call_kernel.DRAWS: self._refill, call_kernel.ROOM: self._grow, call_kernel.OUTAGE: self._next_outage}
            if answer in more:
                more[answer]()
        self._server.count(int(self._state[0]["arrival"]), {name: int(self._state[0][name]) for name in COUNTS})
        ended = np.flatnonzero(self._ends["status"] >= 0)
        found = np.empty((5, len(ended)), np.int64)
        found[0] = self._chosen[ended]
        for row, name in enumerate(("first", "finish", "status", "attempts"), start=1):
            found[row] = self._ends[name][ended]
        return found
