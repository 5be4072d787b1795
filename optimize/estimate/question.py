"""What is to be served, as options say it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from optimize.estimate.amounts import Options
from optimize.estimate.serving_point import Load
from optimize.estimate.subjects import cpus, find_model, weight_formats
from sim.catalog.facts import Catalog, Gpu, Model, WeightFormat

FORMATS = ("bf16", "fp8", "int4")  # when none is asked for: the ones that every engine has
GROUPS = (1, 2, 4, 8)
CONTEXT = 8192
PROMPT, ANSWER = 1024, 256  # tokens when not asked for, near the means of Azure's conversations of 2023 (1,155 and 211)
KV_BYTES = {"bf16": 2, "fp8": 1}


@dataclass(frozen=True)
class Question:
    """What is to be served. Memory is sized for requests of `context` tokens, speed for those of `load`, which are as long or shorter."""

    model: Model
    weights: tuple[WeightFormat, ...]
    devices: tuple[Gpu, ...]
    groups: tuple[int, ...]
    context: int
    load: Load
    concurrency: int | None
    kv: str


def read_question(options: Options, catalog: Catalog, **given: Any) -> Question | None:
    """The question that options ask; None after a problem.

    Keys: model, weights and gpu (lists), tp, context, prompt, answer, concurrency, kv; texts as typed, None where nothing was.
    """
    model = find_model(options, given["model"], catalog)
    if model is not None and model.kind == "embedding":
        options.wrong("--model", f"{model.id} embeds and answers nothing; write a model that generates")
    devices = {**catalog.gpus, **cpus()}
    chosen = [row for row in (options.row("--gpu", name, devices) for name in given["gpu"] or devices) if row]
    known = weight_formats(catalog)
    formats = [row for row in (options.row("--weights", name, known) for name in given["weights"] or FORMATS) if row]
    if given["kv"] not in KV_BYTES:
        options.wrong("--kv", f'"{given["kv"]}" is not one of {", ".join(KV_BYTES)}')
    if given["tp"] is not None:
        _check_group(options, given["tp"], model, chosen if given["gpu"] else [])
    if given["gpu"] and given["weights"]:
        _check_formats(options, chosen, formats)
    lengths = read_lengths(options, model, given["context"], given["prompt"], given["answer"])
    if model is None or lengths is None or options.problems:
        return None
    groups = (given["tp"],) if given["tp"] else GROUPS
    return Question(model, tuple(formats), tuple(chosen), groups, *lengths, given["concurrency"], given["kv"])


def read_lengths(
    options: Options, model: Model | None, context: str | None, prompt: str | None, answer: str | None
) -> tuple[int, Load] | None:
    """(context, load): defaults shrink to what the model and the context allow, what was typed never does. None after a problem."""
    asked = {
        name: options.context(f"--{name}", text) for name, text in (("context", context), ("prompt", prompt), ("answer", answer)) if text
    }
    if options.problems or model is None:
        return None
    size = asked.get("context", min(CONTEXT, model.max_context))
    if size > model.max_context:
        options.wrong("--context", f"{size:,} tokens are more than the {model.max_context:,} of {model.id}; write at most that")
    out = asked.get("answer", min(ANSWER, max(1, size - asked.get("prompt", size // 2))))
    into = asked.get("prompt", min(PROMPT, max(1, size - out)))
    if into + out > size:
        options.wrong(
            "--prompt, --answer", f"{into:,} + {out:,} tokens are more than the context of {size:,}; write fewer, or a larger --context"
        )
    return size, Load(into, out)


def _check_group(options: Options, size: int, model: Model | None, devices: list[Gpu]) -> None:
    if model is not None and model.heads % size:
        options.wrong("--tp", f"{model.heads} attention heads of {model.id} do not split over {size} GPUs; write a divisor")
    for gpu in devices:
        if gpu.link == "none" and size > 1:
            options.wrong("--tp", f"{gpu.id} has no link to another; write --tp 1")


def _check_formats(options: Options, devices: list[Gpu], formats: list[WeightFormat]) -> None:
    """A format that none of the named devices can run is a contradiction; one that some cannot is a row with a reason."""
    for row in formats:
        if devices and all(gpu.flops.get(row.needs, 0) <= 0 for gpu in devices):
            names = ", ".join(gpu.id for gpu in devices)
            options.wrong(f"--weights {row.id}", f"{names} has no {row.needs} arithmetic; try bf16, w8a16 or int4")
