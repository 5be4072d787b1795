"""What the user's runs do not show, and which further runs would show most of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from sim.calibration.own_fit import OwnFit, own_scale
from sim.calibration.points import METRICS, Point
from sim.calibration.replay_points import Run
from sim.calibration.trace import bind, step_seconds, trace_of
from sim.calibration.weighted_least_squares import STEP, jacobian
from sim.engine.deployment import BLOCK_TOKENS, Deployment
from sim.engine.memory import kv_blocks
from sim.engine.physics import shape_of
from sim.plural import counted

Floats = npt.NDArray[np.float64]
KNOWN_WITHIN = 0.05  # a step time of which the standard deviation is larger is called unknown
SHAPES = ((128, 128), (512, 256), (4096, 128), (16384, 64))  # prompt and answer tokens of runs that may be proposed
CONCURRENCIES = (1, 4, 16, 64, 128, 256)
PROPOSED = 3
LONGEST_RUN_S = 900.0


@dataclass(frozen=True)
class State:
    """A kind of step and what is known of its time: before and after the fit, in seconds, and standard deviations relative to it."""

    name: str
    before_s: float
    fitted_s: float
    prior_sd: float
    sd: float

    @property
    def known(self) -> bool:
        """Whether the runs tell this step time within 5 %."""
        return self.sd <= KNOWN_WITHIN


@dataclass(frozen=True)
class Proposal:
    """A further run: requests in flight, tokens, how long it takes, and the mean sd of all step times once it is there as well."""

    in_flight: int
    input_tokens: int
    output_tokens: int
    requests: int
    seconds: float
    mean_sd: float

    def command(self, model: str = "$MODEL") -> str:
        """The benchmark command, for a server of this deployment that is already running."""
        return (
            f"vllm bench serve --model {model} --dataset-name random --random-input-len {self.input_tokens} "
            f"--random-output-len {self.output_tokens} --ignore-eos --max-concurrency {self.in_flight} --num-prompts {self.requests} "
            f"--save-result --save-detailed --result-filename c{self.in_flight}_in{self.input_tokens}_out{self.output_tokens}.json"
        )


def reference_steps(deployment: Deployment) -> dict[str, tuple[float, ...]]:
    """Kinds of steps that plans hang on -> tokens, sequences, decodes, context, pairs, prefill context; those that fit the memory."""
    limits, room = deployment.limits, kv_blocks(deployment) * BLOCK_TOKENS
    found: dict[str, tuple[float, ...]] = {}
    for batch, context in ((1, 1024), (16, 1024), (64, 1024), (limits.max_num_seqs, 512), (16, 8192)):
        if batch <= limits.max_num_seqs and batch * context <= room:
            found[f"{batch} decodes at {context} tokens each"] = (batch, batch, batch, batch * context, 0, 0)
    chunk = limits.max_num_batched_tokens
    for tokens in sorted({min(512, chunk), chunk}):
        found[f"prompt of {tokens} tokens"] = (tokens, 1, 0, 0, tokens * (tokens + 1) / 2, tokens)
    if room > 16384 + chunk:
        found[f"{chunk} tokens after 16384 of a prompt"] = (chunk, 1, 0, 0, chunk * 16384 + chunk * (chunk + 1) / 2, 16384 + chunk)
    return found


def _step_table(fit: OwnFit, theta: Floats) -> Floats:
    values = {name: np.atleast_1d(fit.design.coefficients(theta)[name])[:1] for name in fit.design.start}
    return step_seconds(shape_of(fit.deployment), values, np.array(list(reference_steps(fit.deployment).values())))


def sensitivities(fit: OwnFit) -> Floats:
    """[steps, parameters] change of the logarithm of each reference step per unit of each parameter."""
    here = np.log(_step_table(fit, fit.theta))
    moves = np.eye(len(fit.theta)) * STEP
    return np.stack([(np.log(_step_table(fit, fit.theta + move)) - here) / STEP for move in moves], axis=1)


def _sds(slopes: Floats, covariance: Floats) -> Floats:
    return np.asarray(np.sqrt(np.einsum("ij,jk,ik->i", slopes, covariance, slopes)), dtype=np.float64)


def states(fit: OwnFit) -> list[State]:
    """Every reference step before and after the fit."""
    slopes = sensitivities(fit)
    prior = np.diag([parameter.sd**2 for parameter in fit.design.parameters])
    columns = (_step_table(fit, np.zeros_like(fit.theta)), _step_table(fit, fit.theta), _sds(slopes, prior), _sds(slopes, fit.covariance))
    rows = zip(reference_steps(fit.deployment), *columns, strict=True)
    return [State(name, *(float(value) for value in values)) for name, *values in rows]


def missing(points: Sequence[Point], runs: Sequence[Run], found: Sequence[State]) -> list[str]:
    """What the runs are too few for, in words: loads and lengths that none of them had, and step times that stay open."""
    flying = {point.in_flight for point in points if point.in_flight is not None}
    words = []
    if len(points) < 4:
        words.append(f"{counted(len(points), 'run')}: errors are those of the catalogue, four are needed to leave one out")
    if not any(point.rate_rps for point in points) and len(flying) < 3:
        loads = ", ".join(str(n) for n in sorted(flying))
        words.append(f"too few batch sizes: only {loads} in flight; what a step costs and what each sequence adds cannot be told apart")
    longest = max(int(run.prompt.max()) for run in runs)
    if longest < 4096:
        words.append(f"no long prompts: the longest has {longest} tokens; attention over long contexts stays as in the catalogue")
    if not any("ttft" in point.measured for point in points):
        words.append("no TTFT: seconds per request before the queue stay as in the catalogue")
    if not any("tpot" in point.measured for point in points):
        words.append("no TPOT: decode and prefill are told apart by throughput alone")
    words += [f"step time of {state.name}: known to +/-{state.sd:.0%} only" for state in found if not state.known]
    return words


def _candidate(deployment: Deployment, in_flight: int, shape: tuple[int, int]) -> tuple[Point, Run]:
    count = max(8, 4 * in_flight)
    made = Point(
        id=f"{in_flight} x {shape}", gpu=deployment.gpu.id, tensor_parallel=deployment.tensor_parallel, pipeline_parallel=1,
        model=deployment.model.id, weights=deployment.weights.id, kv_bytes_per_number=2, engine=deployment.engine, engine_version="",
        scenario="fixed_concurrency", requests=count, input_tokens=float(shape[0]), output_tokens=float(shape[1]), distribution="fixed",
        in_flight=in_flight, rate_rps=None, measured=dict.fromkeys(METRICS, 1.0), statistic={}, quality="A", source="", notes="",
    )  # fmt: skip
    lengths = [np.full(count, tokens, dtype=np.int64) for tokens in shape]
    return made, Run(deployment, lengths[0], lengths[1], None, in_flight, 0, 0)


def _information(fit: OwnFit, point: Point, run: Run) -> tuple[Floats, float] | None:
    """What a run would tell, as [parameters, METRICS] slopes in spreads, and how long it takes; None where it does not fit."""
    room = kv_blocks(run.deployment) * BLOCK_TOKENS
    if run.in_flight > run.deployment.limits.max_num_seqs or run.in_flight * int(run.prompt[0] + run.output[0]) > room:
        return None
    trace = trace_of(point, run, fit.coefficients)
    if trace is None:
        return None
    seconds = float(run.output.sum()) / trace.direct["throughput"]
    one = replace(fit.design, members=tuple(np.arange(1) for _ in fit.theta), size=1)
    measured = np.array([[trace.direct[metric] for metric in METRICS]])
    point = replace(point, measured=dict(trace.direct))
    columns = jacobian(bind([trace], [run]), one, fit.theta, measured, own_scale([point]), np.zeros((1, len(METRICS))))
    return columns[:, 0, :], seconds


def proposals(fit: OwnFit, count: int = PROPOSED) -> list[Proposal]:
    """The `count` runs that together narrow the step times most, chosen one after the other; each takes at most 15 minutes."""
    known: list[tuple[Point, Run, Floats, float]] = []
    for shape in SHAPES:
        for in_flight in CONCURRENCIES:
            made, run = _candidate(fit.deployment, in_flight, shape)
            told = _information(fit, made, run)
            if told is not None and told[1] <= LONGEST_RUN_S:
                known.append((made, run, *told))
    slopes, precision = sensitivities(fit), np.linalg.inv(fit.covariance)
    chosen: list[Proposal] = []
    for _ in range(min(count, len(known))):
        after = [_sds(slopes, np.asarray(np.linalg.inv(precision + f @ f.T), dtype=np.float64)) for _, _, f, _ in known]
        best = int(np.argmin([float((sd**2).sum()) for sd in after]))
        made, run, information, seconds = known.pop(best)
        precision = precision + information @ information.T
        mean_sd = float(after[best].mean())
        chosen.append(Proposal(run.in_flight, int(made.input_tokens), int(made.output_tokens), len(run.prompt), seconds, mean_sd))
    return chosen
