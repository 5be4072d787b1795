"""The schedule of a run as a list of steps, so that a fit can price the same steps under other coefficients.

The scheduler is that of docs/explanation/engine.md, in floating-point seconds and one step at a time; tests hold it against the kernel.
In a burst the schedule does not depend on how long a step lasts, and with a fixed number in flight hardly (the gap between an answer and
the client's next request is short), so few runs serve the whole fit.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sim.engine.deployment import BLOCK_TOKENS, PS, StepCost
from sim.engine.jit import compiled

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
COLUMNS = ("tokens", "sequences", "decodes", "context", "pairs", "prefill_context", "waiting", "pace", "seconds")


@dataclass(frozen=True)
class Schedule:
    """Steps and request times of one run.

    steps       [steps, COLUMNS]: `waiting` counts requests without first token in the step (parts of a step count as parts), `pace` sums
                1 / (output - 1) over requests between first and last token: both weigh step times into mean TTFT and mean TPOT
    first_s     [requests] first token; last_s: last token; arrival_s: as replayed (a closed loop sets it)
    end_s       [steps] when each step ended
    """

    steps: Floats
    end_s: Floats
    arrival_s: Floats
    first_s: Floats
    last_s: Floats
    preemptions: int


@compiled
def _run(  # type: ignore[no-untyped-def]
    prompt, output, arrival, in_flight, gap, cached, counted, max_seqs, budget_max, blocks_total, cost_base, cost_context, cost
):
    """Step by step; `cost` holds seconds per sequence, pair and token of prefill context. `in_flight` 0 means open arrivals."""
    count = len(prompt)
    computed = np.zeros(count, np.int64)
    target = prompt.copy()
    made = np.zeros(count, np.int64)
    held = np.zeros(count, np.int64)
    first = np.full(count, -1.0)
    last = np.full(count, -1.0)
    running = np.zeros(max_seqs + 1, np.int64)
    alive = 0
    back = np.zeros(count, np.int64)  # preempted, a stack: the last one put back is first in the queue
    backs = 0
    head = 0  # next of the arrivals not yet admitted
    seen = 0  # arrivals so far
    free = blocks_total
    now = 0.0
    finished = 0
    preemptions = 0
    size = 4096
    rows = np.zeros((size, 9))
    ends = np.zeros(size)
    step = 0
    if in_flight > 0:
        for i in range(count):
            arrival[i] = 0.0 if i < in_flight else np.inf
    while finished < count:
        while seen < count and arrival[seen] <= now:
            seen += 1
        if alive == 0 and backs == 0 and head >= seen:
            now = arrival[seen]
            continue
        preempted = False
        decodes = 0
        context = 0.0
        i = 0
        while i < alive:
            s = running[i]
            if computed[s] < target[s]:
                i += 1
                continue
            gone = False
            if computed[s] % BLOCK_TOKENS == 0 and held[s] * BLOCK_TOKENS <= computed[s]:
                while free == 0:
                    alive -= 1
                    v = running[alive]
                    free += held[v]
                    held[v] = 0
                    computed[v] = 0
                    target[v] = prompt[v] + made[v]
                    back[backs] = v
                    backs += 1
                    preempted = True
                    preemptions += 1
                    if v == s:
                        gone = True
                        break
                if not gone:
                    free -= 1
                    held[s] += 1
            if not gone:
                decodes += 1
                context += computed[s] + 1
            i += 1
        tokens = decodes
        sequences = decodes
        budget = budget_max - decodes
        pairs = 0.0
        prefill = 0.0
        partial = False
        chunk_of = -1
        chunk = 0
        if alive > 0 and computed[running[alive - 1]] < target[running[alive - 1]]:
            s = running[alive - 1]
            c = min(target[s] - computed[s], budget)
            if c > 0:
                pairs += c * float(computed[s]) + c * (c + 1) / 2.0
                prefill += computed[s] + c
                tokens += c
                sequences += 1
                budget -= c
            chunk_of = s
            chunk = c
            partial = c < target[s] - computed[s]
        admitted_from = alive
        last_chunk = 0
        if not preempted and not partial:
            while alive < max_seqs and budget > 0 and (backs > 0 or head < seen):
                s = back[backs - 1] if backs > 0 else head
                need = (target[s] + BLOCK_TOKENS - 1) // BLOCK_TOKENS
                if need > free:
                    break
                if backs > 0:
                    backs -= 1
                else:
                    head += 1
                free -= need
                held[s] = need
                computed[s] = min(cached, target[s] - 1)
                running[alive] = s
                alive += 1
                c = min(target[s] - computed[s], budget)
                pairs += c * float(computed[s]) + c * (c + 1) / 2.0
                prefill += computed[s] + c
                tokens += c
                sequences += 1
                budget -= c
                last_chunk = c
                if computed[s] + c < target[s]:
                    break
        if tokens == 0:
            return rows[:step], ends[:step], first, last, -1
        seconds = cost_base[tokens] + cost[0] * sequences + cost_context[decodes] * context
        seconds += cost[1] * pairs + cost[2] * prefill
        waiting = 0.0
        pace = 0.0
        for j in range(alive):
            s = running[j]
            if s >= counted:
                if first[s] < 0:
                    waiting += 1.0
                elif output[s] > 1:
                    pace += 1.0 / (output[s] - 1)
        for j in range(backs):
            s = back[j]
            if s >= counted:
                if first[s] < 0:
                    waiting += 1.0
                elif output[s] > 1:
                    pace += 1.0 / (output[s] - 1)
        for j in range(head, seen):
            if j >= counted:
                waiting += 1.0
        end = now + seconds
        j = seen
        while j < count and arrival[j] < end:
            if j >= counted:
                waiting += (end - arrival[j]) / seconds
            j += 1
        if step == size:
            size *= 2
            grown = np.zeros((size, 9))
            grown[:step] = rows
            rows = grown
            longer = np.zeros(size)
            longer[:step] = ends
            ends = longer
        rows[step, 0] = tokens
        rows[step, 1] = sequences
        rows[step, 2] = decodes
        rows[step, 3] = context
        rows[step, 4] = pairs
        rows[step, 5] = prefill
        rows[step, 6] = waiting
        rows[step, 7] = pace
        rows[step, 8] = seconds
        ends[step] = end
        step += 1
        now = end
        kept = 0
        for j in range(alive):
            s = running[j]
            done = 0
            if j >= admitted_from:
                c = last_chunk if j == alive - 1 else target[s] - computed[s]
                computed[s] += c
                done = 1 if computed[s] == target[s] else 0
            elif s == chunk_of:
                computed[s] += chunk
                done = 1 if computed[s] == target[s] and chunk > 0 else 0
            else:
                computed[s] += 1
                target[s] = computed[s]
                done = 1
            if done:
                made[s] += 1
                if first[s] < 0:
                    first[s] = now
            if made[s] >= output[s]:
                last[s] = now
                free += held[s]
                held[s] = 0
                finished += 1
                if in_flight > 0 and finished + in_flight <= count:
                    arrival[finished + in_flight - 1] = now + gap
            else:
                running[kept] = s
                kept += 1
        alive = kept
    return rows[:step], ends[:step], first, last, preemptions


def run_schedule(
    prompt: Ints,
    output: Ints,
    arrival_s: Floats | None,
    in_flight: int,
    cost: StepCost,
    kv_blocks: int,
    cached: int = 0,
    counted_from: int = 0,
    gap_s: float = 0.0,
) -> Schedule | None:
    """The schedule of these requests under `cost`; None where KV memory lets no step progress.

    `arrival_s` None with `in_flight` n: the next request reaches the queue `gap_s` after one of n finishes. `cached` leading prompt
    tokens cost nothing. Requests before `counted_from` load the engine but weigh nothing in `waiting` and `pace`.
    """
    max_seqs, budget = len(cost.context_ps) - 1, len(cost.base_ps) - 1
    arrival = np.zeros(len(prompt)) if arrival_s is None else arrival_s.astype(np.float64).copy()
    scalars = np.array([cost.sequence_ps, cost.pair_ps, cost.prefill_context_ps], dtype=np.float64) / PS
    longest = int((np.asarray(prompt) + output).max())
    if longest > kv_blocks * BLOCK_TOKENS:
        return None
    rows, ends, first, last, preemptions = _run(  # type: ignore[no-untyped-call]
        prompt.astype(np.int64),
        output.astype(np.int64),
        arrival,
        in_flight,
        gap_s,
        cached,
        counted_from,
        max_seqs,
        budget,
        kv_blocks,
        cost.base_ps / PS,
        cost.context_ps / PS,
        scalars,
    )
    if preemptions < 0:
        return None
    return Schedule(rows, ends, arrival, first, last, int(preemptions))
