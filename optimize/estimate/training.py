"""A training run before it is bought: operations, hours, memory, cards, money, energy."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from optimize.estimate.adapters import DEFAULT_RANK, adapter_parameters
from optimize.estimate.amounts import Options
from optimize.estimate.flops import attention_flops, training_flops
from optimize.estimate.interconnect import Interconnect, interconnect
from optimize.estimate.published_utilisation import HOUR_S, MfuBand, mfu_band
from optimize.estimate.rental import Rental, rentals
from optimize.estimate.rules import Rule, training_rules
from optimize.estimate.subjects import find_model, is_inferred, model_of_size
from optimize.estimate.training_memory import (
    METHODS,
    Activations,
    States,
    bytes_per_gpu,
    gpus_needed,
    training_activations,
    training_states,
)
from sim.catalog.facts import Catalog, Gpu, Model
from sim.catalog.loader import load_catalog
from sim.engine.physics import peak_flops

PRECISIONS = ("bf16", "fp16", "fp8")
SCHEMA = "servemix.estimate.training/1"
SEQUENCE = 4096
LEAST_PARAMETERS = 1e6
Json = dict[str, Any]


@dataclass(frozen=True)
class Run:
    """What is to be trained, and on what; `gpus` None: as few as hold it."""

    model: Model
    tokens: float
    gpu: Gpu
    gpus: int | None = None
    mfu: tuple[float, float] | None = None
    precision: str = "bf16"
    method: str = "full"
    rank: int = DEFAULT_RANK
    context: int = SEQUENCE
    micro_batch: int = 1


@dataclass(frozen=True)
class TrainingEstimate:
    """The answer. Pairs are (low, high); hours, money and energy are low where utilisation is high.

    `gpus_needed` holds checkpointed activations, `gpus_needed_kept` all of them; None: on no number of these cards.
    """

    run: Run
    flops: float  # 6ND, or 4ND + 6 x adapters x D
    attention_flops: float
    evidence: MfuBand
    mfu: tuple[float, float]
    gpu_hours: tuple[float, float]
    states: States
    activations: Activations
    adapters: float | None  # parameters
    gpus_needed: int | None
    gpus_needed_kept: int | None
    gpus: int  # that hours, memory and money are given for
    bytes_per_gpu: float
    fits: bool
    interconnect: Interconnect | None  # None on one GPU
    cost: tuple[Rental, ...]
    energy_kwh: tuple[float, float]
    rules: tuple[Rule, ...]
    notes: tuple[str, ...]

    @property
    def days(self) -> tuple[float, float]:
        return self.gpu_hours[0] / self.gpus / 24, self.gpu_hours[1] / self.gpus / 24


def read_run(options: Options, catalog: Catalog, **given: Any) -> Run | None:
    """The run that options describe; None after a problem. Keys: params, model, tokens, gpu, gpus, mfu, precision, method, rank,
    context, micro_batch; texts as typed, None where nothing was.
    """
    params, name = given["params"], given["model"]
    model: Model | None = None
    if (params is None) == (name is None):
        options.wrong("--params, --model", "write one of the two: --params 7e9, or --model llama-2-7b (the catalogue's shape)")
    elif name is not None:
        model = find_model(options, name, catalog)
    else:
        size = options.count("--params", params)
        if size < LEAST_PARAMETERS:
            options.wrong("--params", f"{size:g} parameters are no language model; write at least {LEAST_PARAMETERS:g}")
        model = None if options.problems else model_of_size(size)
    tokens = options.count("--tokens", given["tokens"])
    gpu = options.row("--gpu", given["gpu"], catalog.gpus)
    mfu = None if given["mfu"] is None else options.band("--mfu", given["mfu"])
    context = options.context("--context", given["context"]) if given["context"] else SEQUENCE
    for option, choices in (("precision", PRECISIONS), ("method", METHODS)):
        if given[option] not in choices:
            options.wrong(f"--{option}", f'"{given[option]}" is not one of {", ".join(choices)}')
    if given["rank"] is not None and given["method"] == "full":
        options.wrong("--rank", "full training has no adapters; leave it out, or write --method lora")
    if given["method"] == "qlora" and given["precision"] == "fp8":
        options.wrong("--precision fp8", "qlora multiplies in 16 bit; write --precision bf16")
    if gpu is not None and given["precision"] == "fp8" and gpu.flops.get("fp8", 0) <= 0:
        options.wrong("--precision fp8", f"{gpu.id} has no fp8 arithmetic; write --precision bf16")
    if model is not None and given["context"] and context > model.max_context:
        options.wrong("--context", f"{context:,} tokens are more than the {model.max_context:,} of {model.id}")
    if model is None or gpu is None or options.problems:
        return None
    context = min(context, model.max_context)
    rank = given["rank"] or DEFAULT_RANK
    return Run(model, tokens, gpu, given["gpus"], mfu, given["precision"], given["method"], rank, context, given["micro_batch"])


def estimate_training(**given: Any) -> TrainingEstimate:
    """What a training run takes, from options as typed (keys: `read_run`); InputError with every problem of the command."""
    options, catalog = Options("estimate training"), load_catalog()
    run = read_run(options, catalog, **given)
    options.check()
    assert run is not None
    return training_estimate(run, catalog)


def training_estimate(run: Run, catalog: Catalog) -> TrainingEstimate:
    """What `run` takes."""
    model, gpu = run.model, run.gpu
    adapters = None if run.method == "full" else adapter_parameters(model, run.rank)
    flops = training_flops(model, run.tokens, adapters)
    attention = attention_flops(model.layers, model.heads * model.head_dim, run.context, run.tokens)
    evidence = mfu_band(gpu, catalog.gpus)
    mfu = run.mfu or (evidence.low, evidence.high)
    peak = peak_flops(gpu, run.precision)
    gpu_hours = ((flops + attention) / (mfu[1] * peak * HOUR_S), (flops + attention) / (mfu[0] * peak * HOUR_S))
    states = training_states(model, run.method, run.rank)
    activations = training_activations(model, run.context, run.micro_batch)
    needed = gpus_needed(model, states, activations.checkpointed, gpu)
    gpus = run.gpus or needed or 1
    per_gpu = bytes_per_gpu(model, states, activations.checkpointed, gpus)
    return TrainingEstimate(
        run=run,
        flops=flops,
        attention_flops=attention,
        evidence=evidence,
        mfu=mfu,
        gpu_hours=gpu_hours,
        states=states,
        activations=activations,
        adapters=adapters,
        gpus_needed=needed,
        gpus_needed_kept=gpus_needed(model, states, activations.kept, gpu),
        gpus=gpus,
        bytes_per_gpu=per_gpu,
        fits=per_gpu <= gpu.memory_bytes,
        interconnect=interconnect(model, gpu, gpus, run.context * run.micro_batch, mfu, peak, adapters) if gpus > 1 else None,
        cost=rentals(catalog, gpu.id, gpus, (gpu_hours[0] / gpus, gpu_hours[1] / gpus)),
        energy_kwh=(gpu_hours[0] * gpu.tdp_w / 1e3, gpu_hours[1] * gpu.tdp_w / 1e3),
        rules=training_rules(model, run.tokens, states, activations, gpu, run.context, adapters is None),
        notes=notes_of(run, evidence, gpus),
    )


def notes_of(run: Run, evidence: MfuBand, gpus: int) -> tuple[str, ...]:
    """What a reader must know to read the figures."""
    notes = []
    if is_inferred(run.model):
        m = run.model
        notes.append(
            f"shape inferred: {m.layers} layers of {m.hidden_size}, {m.vocab_size:,} words; only attention, activations and adapters "
            "hang on it; --model NAME or --model config.json gives the real one"
        )
    where = f"on {run.gpu.id}" if evidence.same_gpu else f"on other cards (none on {run.gpu.id})"
    got = f"{evidence.low:.2f} to {evidence.high:.2f}: whole-run MFU of {len(evidence.runs)} published runs {where}, restarts included"
    if run.mfu is None:
        notes.append(f"MFU {got}")
    elif run.mfu[1] > evidence.high or run.mfu[0] < evidence.low:
        notes.append(f"MFU as you gave it, {run.mfu[0]:.2f} to {run.mfu[1]:.2f}; published runs got {got}")
    if run.method != "full":
        notes.append("frozen weights take no weight gradients: 4ND instead of 6ND; 4-bit weights are unpacked on the way (not counted)")
    if run.precision == "fp8":
        notes.append("fp8: products at the fp8 peak, states as in bf16; published shares of the peak are of 16 bit, so this is optimistic")
    if run.model.experts > 1:
        notes.append("mixtures are trained with expert parallelism: cards and links by ZeRO stage 3 alone are pessimistic")
    if run.gpu.caveat:
        notes.append(f"{run.gpu.id}: {run.gpu.caveat}")
    if gpus > 1:
        notes.append(
            "hosts with fewer GPUs than the run are joined by networks that are not in the catalogue: ask before renting single ones"
        )
    notes.append("checkpointing recomputes the forward pass: a third more work that MFU does not count; it lowers the MFU that you get")
    return tuple(notes)


def training_json(e: TrainingEstimate) -> Json:
    """The estimate as one JSON object. `flops` is 6ND; `gpu_hours`, `days` and `energy_kwh` have low and high; bytes are of one whole
    model (activations: of one GPU).
    """
    run, parts = e.run, asdict(e.states)
    return {
        "schema": SCHEMA,
        "model": run.model.id,
        "parameters": run.model.parameters,
        "active_parameters": run.model.active_parameters,
        "trained_parameters": run.model.parameters if e.adapters is None else e.adapters,
        "tokens": run.tokens,
        "method": run.method,
        "precision": run.precision,
        "context": run.context,
        "micro_batch": run.micro_batch,
        "gpu": run.gpu.id,
        "gpus": e.gpus,
        "flops": e.flops,
        "attention_flops": e.attention_flops,
        "total_flops": e.flops + e.attention_flops,
        "mfu": span(e.mfu),
        "mfu_published": {**span((e.evidence.low, e.evidence.high)), "runs": list(e.evidence.runs), "same_gpu": e.evidence.same_gpu},
        "gpu_hours": span(e.gpu_hours),
        "days": span(e.days),
        "memory_bytes": {
            **parts,
            "activations": e.activations.kept,
            "activations_checkpointed": e.activations.checkpointed,
            "attention_matrices": e.activations.attention_matrices,
            "states": e.states.total,
            "total": e.states.total + e.activations.kept,
            "total_checkpointed": e.states.total + e.activations.checkpointed,
            "per_gpu": e.bytes_per_gpu,
        },
        "sharding": "ZeRO stage 3",
        "gpus_needed": e.gpus_needed,
        "gpus_needed_without_checkpointing": e.gpus_needed_kept,
        "fits": e.fits,
        "interconnect": None if e.interconnect is None else asdict(e.interconnect),
        "cost": [
            {
                **{"offer": r.offer, "term": r.term, "hosts": r.hosts, "gpus": r.gpus, "usd_per_gpu_hour": r.usd_per_gpu_hour},
                **{name.lower(): span(amounts) for name, amounts in r.by_currency.items()},
            }
            for r in e.cost
        ],
        "energy_kwh": span(e.energy_kwh),
        "rules": [asdict(rule) for rule in e.rules],
        "notes": list(e.notes),
    }


def span(pair: tuple[float, float]) -> dict[str, float]:
    """A band as JSON."""
    return {"low": pair[0], "high": pair[1]}
