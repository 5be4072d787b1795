"""How fast one replica answers at a batch size: the simulator's step cost, averaged over a steady closed loop instead of simulated."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from optimize.records import Floats
from sim.catalog.facts import CalibrationRow
from sim.engine import physics
from sim.engine.deployment import BLOCK_TOKENS, Deployment
from sim.engine.memory import kv_blocks, sequence_blocks
from sim.engine.step_cost import best_row, coefficients_of

ROUNDS = 3  # of both fixed points; they move less than 1e-3 after two
KNEE_GAIN = 0.25  # what a doubling of the batch must bring


@dataclass(frozen=True)
class Load:
    """Requests that are all alike: `prompt_tokens` in, `answer_tokens` out, both >= 1."""

    prompt_tokens: int
    answer_tokens: int

    @property
    def context_tokens(self) -> int:
        return self.prompt_tokens + self.answer_tokens


@dataclass(frozen=True)
class Rates:
    """What a replica does with `batch` requests open all the time; arrays of one length."""

    batch: Floats
    requests_per_s: Floats
    tokens_per_s: Floats  # answer tokens
    tpot_s: Floats  # mean seconds per step, as every running request feels it


def largest_safe_batch(deployment: Deployment, context_tokens: int) -> int:
    """Requests of `context_tokens` that the KV cache holds at full length at once, so that none is ever preempted; at most
    `max_num_seqs`; 0 when not even one fits.
    """
    per_request = math.ceil(context_tokens / BLOCK_TOKENS) + sequence_blocks(deployment)
    return min(kv_blocks(deployment) // per_request, deployment.limits.max_num_seqs)


def rates(deployment: Deployment, calibration: tuple[CalibrationRow, ...] | None, load: Load, batch: Floats) -> Rates:
    """Steady rates of a closed loop of `batch` clients without think time, lengths as in `load`.

    In K steps each of B requests is answered once. K is the larger of what one request needs (its prefill chunks and a step per
    further token) and of what the prompts of all B need next to the decodes under `max_num_batched_tokens`. A share of the steps
    carries prefill, the others only decodes; each costs what `sim.engine.physics` says of its mean composition.
    Approximation: means inside the convex step cost (slightly optimistic), no preemption.
    """
    shape, c = physics.shape_of(deployment), coefficients_of(best_row(deployment, calibration))
    inside = np.asarray(batch, dtype=np.float64)
    for _ in range(ROUNDS):
        steps, step_s = _cycle(shape, c, deployment.limits.max_num_batched_tokens, load, inside)
        cycle_s = steps * step_s
        away = float(c["request_s"]) / (cycle_s + float(c["request_s"]))  # share of a client's time before the queue
        inside = np.asarray(batch, dtype=np.float64) * (1 - away)
    requests_per_s = inside / cycle_s
    return Rates(np.asarray(batch, dtype=np.float64), requests_per_s, requests_per_s * load.answer_tokens, step_s)


def _cycle(shape: physics.Shape, c: dict[str, float], budget: int, load: Load, batch: Floats) -> tuple[Floats, Floats]:
    """(steps in which every request of the batch is answered once, mean seconds of a step)."""
    prompt, answer = load.prompt_tokens, load.answer_tokens
    decodes = batch.copy()
    for _ in range(ROUNDS):
        room = np.maximum(budget - decodes, 1.0)
        chunks = np.ceil(prompt / room)
        steps = np.maximum(answer - 1 + chunks, batch * prompt / room)
        decodes = batch * (answer - 1) / steps
    mixed = np.minimum(batch * chunks / steps, 1.0)  # share of steps that carry prefill
    starts = batch / steps / mixed  # requests prefilled per such step
    reading = decodes * physics.context_seconds(shape, c, np.maximum(decodes, 1.0)) * (prompt + answer / 2)
    bases = np.asarray(physics.base_seconds(shape, c, np.concatenate([np.maximum(decodes, 1.0), decodes + prompt * starts])))
    plain = bases[: len(batch)] + reading + physics.sequence_seconds(shape, c) * decodes
    pairs = prompt * (prompt + 1) / 2 * starts
    reads = prompt * (chunks + 1) / 2 * starts
    filling = (
        bases[len(batch) :]
        + reading
        + physics.sequence_seconds(shape, c) * (decodes + np.maximum(starts, 1.0))
        + physics.pair_seconds(shape, c) * pairs
        + physics.prefill_context_seconds(shape, c) * reads
    )
    return steps, mixed * filling + (1 - mixed) * plain


def ladder(largest: int) -> Floats:
    """1, 2, 4 ... and `largest`.

    >>> ladder(5).tolist(), ladder(8).tolist()
    ([1.0, 2.0, 4.0, 5.0], [1.0, 2.0, 4.0, 8.0])
    """
    steps = [2.0**k for k in range(int(math.log2(largest)) + 1)]
    return np.array(steps if steps[-1] == largest else [*steps, float(largest)])


def knee(whole: Floats, half: Floats) -> int:
    """Index of the knee: the largest batch of a ladder at which the last doubling still brought a quarter more tokens per second.

    `whole` are the rates of the batches, `half` those of half of each. Beyond the knee a doubling makes every user wait 1.6 times as
    long or more for the last few tokens of the same hardware; perfect scaling would bring twice as many.

    >>> knee(np.array([10.0, 19.0, 30.0, 33.0]), np.array([5.0, 10.0, 19.0, 30.0]))
    2
    """
    worth = np.flatnonzero(whole >= (1 + KNEE_GAIN) * half)
    return int(worth.max(initial=0))
