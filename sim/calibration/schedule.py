"""The schedule of a run as a list of steps, so that a fit can price the same steps under other coefficients.

The scheduler is that of docs/explanation/engine.md, in floating-point seconds and one step at a time (see `scheduler`); tests hold it
against the kernel.
In a burst the schedule does not depend on how long a step lasts, and with a fixed number in flight hardly (the gap between an answer and
the client's next request is short), so few runs serve the whole fit.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from sim.calibration.scheduler import ENGINE, REQUEST, STEP, run_steps
from sim.engine.deployment import BLOCK_TOKENS, PS, StepCost

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
    ahead: bool = False,
) -> Schedule | None:
    """The schedule of these requests under `cost`; None where KV memory lets no step progress.

    `arrival_s` None with `in_flight` n: the next request reaches the queue `gap_s` after one of n finishes. `cached` leading prompt
    tokens cost nothing. `ahead`: a step is decided on while the one before it runs. Requests before `counted_from` load the engine but
    weigh nothing in `waiting` and `pace`.
    """
    requests, size = _requests(prompt, output, arrival_s, in_flight), len(prompt)
    if int((requests["prompt"] + requests["output"]).max()) > (kv_blocks - cost.sequence_blocks) * BLOCK_TOKENS:
        return None
    engine = np.zeros(1, ENGINE)
    limits = {"free": kv_blocks, "max_seqs": len(cost.context_ps) - 1, "budget": len(cost.base_ps) - 1, "in_flight": in_flight}
    how = {"cached": cached, "counted": counted_from, "gap": gap_s, "ahead": ahead, "extra": cost.sequence_blocks}
    for name, value in (limits | how).items():
        engine[name] = value
    running, back = np.zeros(len(cost.context_ps), np.int64), np.zeros(size, np.int64)
    scalars = np.array([cost.sequence_ps, cost.pair_ps, cost.prefill_context_ps], dtype=np.float64) / PS
    steps = run_steps(engine[0], np.zeros(1, STEP)[0], requests, running, back, cost.base_ps / PS, cost.context_ps / PS, scalars)
    if len(steps) == 0:
        return None
    arrival, first, last = (requests[name].copy() for name in ("arrival", "first", "last"))
    return Schedule(steps[:, :-1].copy(), steps[:, -1].copy(), arrival, first, last, int(engine["preemptions"][0]))


def _requests(prompt: Ints, output: Ints, arrival_s: Floats | None, in_flight: int) -> npt.NDArray[Any]:
    """Nothing of any request is computed; in a closed loop only the first `in_flight` have an arrival yet."""
    requests = np.zeros(len(prompt), REQUEST)
    requests["prompt"], requests["target"], requests["output"] = prompt, prompt, output
    requests["first"] = requests["last"] = -1.0
    requests["arrival"] = 0.0 if arrival_s is None else arrival_s
    if in_flight > 0:
        requests["arrival"] = np.where(np.arange(len(prompt)) < in_flight, 0.0, np.inf)
    return requests
