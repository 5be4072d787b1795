"""`servemix estimate`: sizes before there is a scenario."""

from __future__ import annotations

from typing import Annotated

import typer
import typer.core

from optimize.commands.common import AsJson, command, emit_json

estimate = typer.Typer(help="Sizes before there is a scenario, and rules of thumb compared with arithmetic.", no_args_is_help=True)


ModelName = Annotated[str | None, typer.Option("--model", help="Model of the catalogue, or the path of a config.json.")]
Mfu = Annotated[str | None, typer.Option("--mfu", metavar="LOW:HIGH", help="Share of the peak; default: what published runs got.")]
Context = Annotated[str | None, typer.Option("--context", help="Tokens of the longest sequence; 8k is 8,192.")]
Prompt = Annotated[str | None, typer.Option("--prompt", help="Prompt tokens of a usual request; default 1,024.")]
Answer = Annotated[str | None, typer.Option("--answer", help="Answer tokens of a usual request; default 256.")]
Currency = Annotated[str, typer.Option("--currency", help="Show costs in this currency too.")]


@command("estimate training --params 7e9 --tokens 1e11 --gpu a100-80 --gpus 64", "training", estimate)
def estimate_training(
    tokens: Annotated[str, typer.Option("--tokens", help="Training tokens: 1e11, 100B.")],
    params: Annotated[str | None, typer.Option("--params", help="Parameters: 7e9, 7B; instead of --model.")] = None,
    model: ModelName = None,
    gpu: Annotated[str, typer.Option("--gpu", help="GPU of the catalogue; all: every card side by side.")] = "h100",
    gpus: Annotated[int | None, typer.Option("--gpus", min=1, help="How many; default: as few as hold it.")] = None,
    mfu: Mfu = None,
    precision: Annotated[str, typer.Option("--precision", help="bf16, fp16 or fp8.")] = "bf16",
    method: Annotated[str, typer.Option("--method", help="full, lora or qlora.")] = "full",
    rank: Annotated[int | None, typer.Option("--rank", min=1, help="Rank of the adapters; default 16.")] = None,
    context: Context = None,
    micro_batch: Annotated[int, typer.Option("--micro-batch", min=1, help="Sequences on a GPU at a time.")] = 1,
    currency: Currency = "USD",
    as_json: AsJson = False,
) -> None:
    """How much work, memory, time, money and energy a training run takes."""
    from optimize.estimate import cards, training
    from optimize.report.terminal.render_estimate import check_currency, render_training

    currency = check_currency(currency)
    size = {"params": params, "model": model, "tokens": tokens, "context": context, "micro_batch": micro_batch}
    how = {"gpu": gpu, "gpus": gpus, "mfu": mfu, "precision": precision, "method": method, "rank": rank}
    if gpu == cards.ALL:
        answer, others = cards.estimate_over_cards(**size, **how)
        emit_json(cards.cards_json(answer, others)) if as_json else print(render_training(answer, currency, others), end="")
        return
    answer = training.estimate_training(**size, **how)
    if as_json:
        emit_json(training.training_json(answer))
    else:
        print(render_training(answer, currency), end="")


@command("estimate serving --model llama-3.1-70b --context 8k --concurrency 64", "serving", estimate)
def estimate_serving(
    model: Annotated[str, typer.Option("--model", help="Model of the catalogue, or the path of a config.json.")],
    weights: Annotated[list[str] | None, typer.Option("--weights", help="Weight format; may be repeated.")] = None,
    gpu: Annotated[list[str] | None, typer.Option("--gpu", help="GPU of the catalogue, epyc-9654 or xeon-8480; may be repeated.")] = None,
    tensor_parallel: Annotated[int | None, typer.Option("--tp", min=1, help="GPUs that share a replica; default: 1, 2, 4, 8.")] = None,
    context: Context = None,
    prompt: Prompt = None,
    answer: Answer = None,
    concurrency: Annotated[int | None, typer.Option("--concurrency", min=1, help="Requests open at a time.")] = None,
    kv: Annotated[str, typer.Option("--kv", help="Numbers of the KV cache: bf16 or fp8.")] = "bf16",
    as_json: AsJson = False,
) -> None:
    """What a model needs to be served: memory, KV cache, which GPUs, how many requests, how fast, at what price."""
    from optimize.estimate import serving
    from optimize.report.terminal.render_estimate_serving import render_serving

    load = {"context": context, "prompt": prompt, "answer": answer, "concurrency": concurrency}
    found = serving.estimate_serving(model=model, weights=weights, gpu=gpu, tp=tensor_parallel, kv=kv, **load)
    if as_json:
        emit_json(serving.serving_json(found))
    else:
        print(render_serving(found, all_rows=bool(gpu or weights)), end="")


@command("estimate compare --model llama-3.2-3b --users 10000", "compare", estimate)
def estimate_compare(
    model: ModelName = None,
    tokens: Annotated[str | None, typer.Option("--tokens", help="Training tokens; default 20 per parameter.")] = None,
    users: Annotated[str | None, typer.Option("--users", help="Daily users; default 10,000.")] = None,
    requests_per_user: Annotated[float | None, typer.Option("--requests-per-user", min=0.01, help="A day; default 7.5.")] = None,
    gpu: Annotated[str, typer.Option("--gpu", help="GPU to train on.")] = "h100",
    serve_gpu: Annotated[str | None, typer.Option("--serve-gpu", help="GPU to serve on; default: the cheapest that carries it.")] = None,
    weights: Annotated[str, typer.Option("--weights", help="Weight format to serve in.")] = "bf16",
    context: Context = None,
    prompt: Prompt = None,
    answer: Answer = None,
    mfu: Mfu = None,
    adapter_tokens: Annotated[str | None, typer.Option("--adapter-tokens", help="Tokens to tune an open model on; default 50M.")] = None,
    as_json: AsJson = False,
) -> None:
    """One training against a year of serving: shares, when serving overtakes, what LoRA changes. Without options: a 3B support model."""
    from optimize.estimate import side_by_side
    from optimize.report.terminal.render_estimate import render_comparison

    load = {"context": context, "prompt": prompt, "answer": answer, "users": users, "requests_per_user": requests_per_user}
    train = {"model": model, "tokens": tokens, "gpu": gpu, "mfu": mfu, "adapter_tokens": adapter_tokens}
    found = side_by_side.estimate_compare(**load, **train, serve_gpu=serve_gpu, weights=weights)
    if as_json:
        emit_json(side_by_side.compare_json(found))
    else:
        print(render_comparison(found), end="")


@command("estimate rules", "rules", estimate)
def estimate_rules(as_json: AsJson = False) -> None:
    """Rules of thumb that contradict arithmetic or each other, both figures side by side."""
    from dataclasses import asdict

    from optimize.estimate.rules import worked_rules
    from optimize.estimate.side_by_side import training_share_rule
    from optimize.report.terminal.render_estimate import render_rules
    from sim.catalog.loader import load_catalog

    rules = (*worked_rules(load_catalog()), training_share_rule())
    if as_json:
        emit_json({"rules": [asdict(rule) for rule in rules]})
    else:
        print(render_rules(rules), end="")
