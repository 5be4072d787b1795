"""The user's own benchmark runs as points that can be replayed, all of one deployment."""

from __future__ import annotations

import re
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from sim.calibration.points import Point, load_points
from sim.calibration.readers.measurement import Measurement
from sim.calibration.readers.read_benchmark import is_points, read_benchmark
from sim.calibration.readers.values import WHAT
from sim.calibration.replay_points import Run, run_of
from sim.catalog.check import instead
from sim.catalog.facts import Catalog, Model
from sim.engine.deployment import CURRENT_RELEASE
from sim.engine.memory import room_tokens
from sim.engine.physics import shape_of
from sim.engine.release import PARENT
from sim.errors import InputError
from sim.named_files import read_bytes, sha256_of

SERVED = 0.95  # share of what was asked for from which an open run has served it
MARKS = {"nvfp4": "nvfp4", "fp8": "fp8", "w8a8": "int8", "w8a16": "w8a16", "awq": "int4", "gptq": "int4", "w4a16": "int4", "int4": "int4"}
ALIKE = {"int4": ("int4-plain",), "fp8": ("w8a16",), "int8": ("w8a16",), "nvfp4": ("int4",)}  # the same file in other kernels


@dataclass(frozen=True)
class Setup:
    """What the runs were made on. Limits that are None keep the defaults of the engine; without an engine it is that of the first point
    of a CSV, else what plans run.
    """

    gpu: str
    model: str
    weights: str = "bf16"
    tensor_parallel: int = 1
    engine: str | None = None
    max_num_seqs: int | None = None
    max_num_batched_tokens: int | None = None
    kv_blocks: int | None = None


def check_setup(setup: Setup, catalog: Catalog) -> None:
    """Raises InputError with every name of `setup` that the catalogue does not have."""
    problems = [
        f'calibrate: --{option}: "{value}" is not known; {instead(value, known)}'
        for option, value, known in (
            ("gpu", setup.gpu, catalog.gpus),
            ("model", setup.model, catalog.models),
            ("weights", setup.weights, catalog.weight_formats),
            ("engine", setup.engine, PARENT),
        )
        if value is not None and value not in known
    ]
    if not problems and not catalog.gpus[setup.gpu].flops.get(catalog.weight_formats[setup.weights].needs):
        problems.append(f"calibrate: --weights: {setup.weights} does not run on {setup.gpu}")
    if problems:
        raise InputError(problems)


def point_of(one: Measurement, setup: Setup) -> Point:
    """The point of a measurement; where arrivals are known, its rate is their mean."""
    rate = one.rate_rps
    if one.arrival_s is not None:
        rate = (len(one.arrival_s) - 1) / max(float(one.arrival_s.max()), 1e-9) if len(one.arrival_s) > 1 else 1.0
    closed = one.in_flight is not None
    burst = closed and one.in_flight == one.requests and one.requests > 1
    scenario = ("offline" if burst else "fixed_concurrency") if closed else "fixed_qps"
    return Point(
        id=one.name, gpu=setup.gpu, tensor_parallel=setup.tensor_parallel, pipeline_parallel=1, model=setup.model, weights=setup.weights,
        kv_bytes_per_number=2, engine=setup.engine or CURRENT_RELEASE, engine_version="", scenario=scenario, requests=one.requests,
        input_tokens=one.input_tokens, output_tokens=one.output_tokens, distribution="constant" if one.steady else "",
        in_flight=one.in_flight, rate_rps=rate, measured=one.measured, statistic=one.statistic, quality="A", source=one.name, notes="",
    )  # fmt: skip


def _fitted_limits(run: Run, setup: Setup) -> Run:
    """`run` with the engine limits that the user stated."""
    own = {name: value for name in ("max_num_seqs", "max_num_batched_tokens", "kv_blocks") if (value := getattr(setup, name)) is not None}
    limits = replace(run.deployment.limits, **own)
    if limits.max_num_batched_tokens < limits.max_num_seqs:
        stated = f"{limits.max_num_batched_tokens} batched tokens are fewer than {limits.max_num_seqs} sequences"
        raise InputError(f"calibrate: {stated}; write --max-num-batched-tokens >= --max-num-seqs")
    return replace(run, deployment=replace(run.deployment, limits=limits))


def run_for(point: Point, one: Measurement | None, setup: Setup, catalog: Catalog) -> Run | str:
    """How to replay the point: lengths and arrivals as the file has them. Or the reason why it cannot be."""
    if not point.measured:
        return "no TPOT or TTFT in it, and no throughput that says more than what was asked for"
    run = run_of(point, catalog)
    if isinstance(run, str):
        return run
    run = _fitted_limits(run, setup)
    if one is not None and one.prompt is not None and one.output is not None:
        run = replace(run, prompt=one.prompt, output=one.output)
        if one.arrival_s is not None:
            order = np.argsort(one.arrival_s, kind="stable")
            run = replace(run, prompt=one.prompt[order], output=one.output[order], arrival_s=one.arrival_s[order])
    room = room_tokens(run.deployment)
    if int((run.prompt + run.output).max()) > room:
        return f"a request needs more than the {room} KV tokens that remain; state --kv-blocks as the engine printed them"
    return run


def with_evidence(point: Point) -> Point:
    """`point` without its throughput where that only says how much was asked for: an open run that served what came."""
    asked = (point.rate_rps or 0.0) * point.output_tokens
    made = point.measured.get("throughput", 0.0)
    if point.scenario != "fixed_qps" or made < SERVED * asked:
        return point
    return replace(point, measured={name: value for name, value in point.measured.items() if name != "throughput"})


def below_floor(point: Point, run: Run) -> str | None:
    """What is too fast to be true: a TPOT below the time in which memory can read the weights that every token needs."""
    shape = shape_of(run.deployment)
    weights = float(shape.shared) * float(shape.weight_bytes) + 2.0 * float(shape.head)
    floor_s = weights / (float(shape.bandwidth) * float(shape.gpus))
    tpot_s = point.measured.get("tpot")
    if tpot_s is None or tpot_s >= floor_s:
        return None
    why = "a mock server, a smaller model, another card or speculative decoding"
    return f"{point.id}: TPOT {1e3 * tpot_s:.3g} ms is below the {1e3 * floor_s:.3g} ms in which memory can read the weights: {why}"


def unlike(one: Measurement, setup: Setup, catalog: Catalog) -> str | None:
    """What the file says of model and format that the options deny; None where it says nothing that can be compared."""
    name = plain_name(one.model)
    named = [model for model in catalog.models if plain_name(model) in name]
    longest = max(named, key=len, default=setup.model)
    if named and plain_name(setup.model) not in name and not _same_shape(catalog.models[longest], catalog.models[setup.model]):
        return f"its model is {one.model}, not {setup.model}; write --model {longest}"
    stated = [weights for mark, weights in MARKS.items() if mark in name]
    if stated and setup.weights not in (stated[0], *ALIKE.get(stated[0], ())):
        return f"its weights are {stated[0]} ({one.model}), not {setup.weights}; write --weights {stated[0]}"
    return None


def plain_name(text: str) -> str:
    """Letters and digits of a name, in lower case.

    >>> plain_name("meta-llama/Llama-3.1-8B-Instruct")
    'metallamallama318binstruct'
    """
    return re.sub(r"[^a-z0-9]", "", text.lower())


def _same_shape(one: Model, other: Model) -> bool:
    return (one.layers, one.hidden_size, one.parameters) == (other.layers, other.hidden_size, other.parameters)


@dataclass(frozen=True)
class OwnRuns:
    """Points and how to replay each, and (name, reason) of what was left out."""

    points: tuple[Point, ...]
    runs: tuple[Run, ...]
    skipped: tuple[tuple[str, str], ...]
    doubts: tuple[str, ...] = ()  # what is too fast to be true


def _of_file(path: Path, setup: Setup, in_flight: int | None) -> list[tuple[Point, Measurement | None]]:
    if not is_points(path):
        return [(point_of(one, setup), one) for one in read_benchmark(path, in_flight)]
    return [(replace(point, source=f"{path} {point.source}".strip()), None) for point in load_points(path)]


def _stranger(point: Point, setup: Setup) -> str | None:
    for name in ("gpu", "model", "weights", "tensor_parallel", "engine"):
        if getattr(point, name) != getattr(setup, name):
            return f"its {name} is {getattr(point, name)}, not {getattr(setup, name)}"
    return None


def own_runs(files: Sequence[Path], setup: Setup, catalog: Catalog, in_flight: int | None = None) -> OwnRuns:
    """All runs of `files` on `setup`. Raises InputError with the problems of all files, or where no run is left."""
    check_setup(setup, catalog)
    problems: list[str] = []
    found: list[tuple[Point, Measurement | None]] = []
    again = []
    seen: dict[str, Path] = {}
    for path in files:
        try:
            content = sha256_of(path, WHAT)
            if content in seen:
                again.append((str(path), f"holds the same as {seen[content]}; counted once"))
                continue
            seen[content] = path
            found += _of_file(path, setup, in_flight)
        except InputError as error:
            problems += error.problems
    if problems:
        raise InputError(problems)
    stated = next((point.engine for point, one in found if one is None), CURRENT_RELEASE)
    setup = replace(setup, engine=setup.engine or stated)
    found = [(point if one is None else replace(point, engine=str(setup.engine)), one) for point, one in found]
    points, runs, skipped, doubts = [], [], list(again), []
    for point, one in found:
        point = with_evidence(point)
        strange = _stranger(point, setup) if one is None else unlike(one, setup, catalog)
        run = strange or run_for(point, one, setup, catalog)
        if isinstance(run, str):
            skipped.append((point.id, run))
        else:
            points.append(point)
            runs.append(run)
            doubts += [doubt] if (doubt := below_floor(point, run)) else []
    if not points:
        raise InputError(["calibrate: no run can be used:", *(f"  {name}: {why}" for name, why in skipped)])
    return OwnRuns(tuple(points), tuple(runs), tuple(skipped), tuple(doubts))


def digest(files: Sequence[Path]) -> str:
    """Eight digits that change when any of the files does."""
    value = 0
    for path in sorted(files):
        value = zlib.crc32(read_bytes(path, WHAT), value)
    return f"{value:08x}"
