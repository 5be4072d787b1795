"""The command line: parse, call, print, exit. No arithmetic."""

from __future__ import annotations

import os
import sys
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any, Literal

import typer
import typer.core

app = typer.Typer(
    name="servemix",
    help="Cheapest mix of GPUs and relay APIs that keeps a latency promise, proved by simulation.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)

ScenarioFile = Annotated[Path, typer.Argument(metavar="SCENARIO", help="Scenario file (YAML).")]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object on stdout and nothing else.")]
OutFolder = Annotated[Path | None, typer.Option("--out", metavar="DIR", help="Write results into this folder.")]
Seed = Annotated[int | None, typer.Option("--seed", min=0, help="Seed instead of the scenario's.")]
Settings = Annotated[list[str] | None, typer.Option("--set", metavar="KEY.PATH=VALUE", help="Override a scenario key; may be repeated.")]
Jobs = Annotated[int, typer.Option("--jobs", min=1, max=256, help="Processes that simulate at the same time.")]

Explain = Literal["brief", "full"]

EXIT_CODES = {"met": 0, "unverified": 0, "over_budget": 3, "infeasible": 3, "missed": 4}


def tell(message: str) -> None:
    """Progress goes to stderr: stdout is the answer."""
    print(message, file=sys.stderr, flush=True)


def emit_json(value: dict[str, Any]) -> None:
    import json

    print(json.dumps(value, indent=2, allow_nan=False))


@app.command(epilog="Example: python cli.py optimize scenarios/two_offers.yaml")
def optimize(
    scenario: ScenarioFile,
    as_json: AsJson = False,
    out: OutFolder = None,
    seed: Seed = None,
    settings: Settings = None,
    jobs: Jobs = 2,
    safety: Annotated[float | None, typer.Option("--safety", min=0, max=0.9, help="Capacity kept back; else policy.safety.")] = None,
    explain: Annotated[Explain, typer.Option("--explain", help="full: alternatives simulated, every promise relaxed (minutes).")] = "brief",
) -> None:
    """Find the cheapest plan that keeps every promise inside the budget, and prove it by simulation.

    Exit code 0: plan met; 2: bad input; 3: no plan inside SLO and budget; 4: the best plan still misses in simulation.
    """
    from optimize.plan import optimize as find_plan
    from optimize.report.terminal.plan import render
    from optimize.report.write import write_results
    from optimize.tables.folder import check_folder
    from optimize.tables.plan_json import plan_json
    from sim.scenario import load_scenario

    margin = [] if safety is None else [f"policy.safety={safety}"]
    loaded = load_scenario(scenario, [*(settings or ()), *margin], seed)
    if out is not None:
        check_folder(out)
    plan = find_plan(loaded, jobs=jobs, tell=tell, full=explain == "full")
    if as_json:
        emit_json(plan_json(plan))
    else:
        print(render(plan), end="")
    if out is not None:
        tell(f"results in {write_results(plan, out, explain)}")
    raise typer.Exit(EXIT_CODES[plan.status])


@app.command(epilog='Example: python cli.py simulate scenarios/two_offers.yaml --fleet "aws.g6e.xlarge/llama-3.1-8b/fp8=2"')
def simulate(
    scenario: ScenarioFile,
    fleet: Annotated[str | None, typer.Option("--fleet", help='"OFFER/MODEL/WEIGHTS[/tpN]=REPLICAS, relay:NAME, ...".')] = None,
    plan: Annotated[Path | None, typer.Option("--plan", help="A plan.json of this scenario instead of --fleet.")] = None,
    hour: Annotated[str | None, typer.Option("--hour", help='Hour slice, e.g. "weekday 14"; default: the hour with most demand.')] = None,
    router: Annotated[
        str | None, typer.Option("--router", help="least_outstanding, round_robin or session_affinity; default: the scenario's.")
    ] = None,
    overflow: Annotated[
        int | None, typer.Option("--overflow", min=1, help="Send to a relay when each replica has this many open requests.")
    ] = None,
    stress: Annotated[
        bool, typer.Option("--stress", help="With --plan: more users, longer steps, relay out, spot lost, hosts down.")
    ] = False,
    harden: Annotated[bool, typer.Option("--harden", help="With --stress: also what planning for it costs (minutes).")] = False,
    as_json: AsJson = False,
    out: OutFolder = None,
    seed: Seed = None,
    settings: Settings = None,
) -> None:
    """Replay one hour of the scenario's traffic against a fleet and print what users feel."""
    from optimize.report.terminal.simulate import render_simulation, simulation_json
    from optimize.simulate.named_fleet import simulate_fleet, write_log
    from optimize.tables.folder import check_folder
    from sim.engine.warm import announce
    from sim.scenario import load_scenario

    loaded = load_scenario(scenario, settings or (), seed)
    if out is not None:
        check_folder(out)
    announce(tell)
    if stress or harden:
        from optimize.report.terminal.stress import render_stress, stress_json
        from optimize.report.write import write_stress
        from optimize.simulate.stress import stress_saved

        found = stress_saved(loaded, plan, hour, harden, tell, fleet, router, overflow)
        emit_json(stress_json(found)) if as_json else print(render_stress(found), end="")
        if out is not None:
            tell(f"results in {write_stress(found, out)}")
        return
    run = simulate_fleet(loaded, fleet=fleet, plan=plan, hour=hour, router=router, overflow=overflow)
    if as_json:
        emit_json(simulation_json(run))
    else:
        print(render_simulation(run), end="")
    if out is not None:
        tell(f"request log in {write_log(run, out)}")


class _Tables(typer.core.TyperGroup):
    """`catalog` and a table is short for `catalog show` and that table."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        return super().parse_args(ctx, args if args and args[0] in self.commands else ["show", *args])


tables = typer.Typer(cls=_Tables, add_completion=False, rich_markup_mode=None)
app.add_typer(tables, name="catalog", help="Facts that plans rest on; `catalog refresh`: new relay prices.")


@tables.command("show", epilog="Example: python cli.py catalog offers aws.g6e.xlarge")
def catalog(
    table: Annotated[str, typer.Argument(help="gpus, models, formats, offers, relays or tokenizers.")] = "gpus",
    name: Annotated[str | None, typer.Argument(help="One row in full, or the rows that a pattern such as 'aws.*' matches.")] = None,
    as_json: AsJson = False,
) -> None:
    """Show the facts that plans rest on, each with its source and date; `catalog refresh --help`: bring relay prices up to date."""
    from optimize.report.terminal.catalogue import catalogue_rows, render_catalogue

    rows = catalogue_rows(table, name)
    if as_json:
        emit_json({"table": table, "rows": rows})
    else:
        print(render_catalogue(table, rows, whole=name is not None), end="")


@tables.command("refresh", epilog="Example: python cli.py catalog refresh --on 2026-11-30")
def catalog_refresh(
    file: Annotated[Path | None, typer.Option("--file", help="A relays.yaml of your own instead of the catalogue's.")] = None,
    package: Annotated[str, typer.Option("--package", help="Price package: genai-prices or litellm.")] = "genai-prices",
    mapping: Annotated[Path | None, typer.Option("--mapping", help="YAML `package: {relay.id: entry}` of your own.")] = None,
    on: Annotated[datetime | None, typer.Option("--on", formats=["%Y-%m-%d"], help="Day of the prices; default: today.")] = None,
    write: Annotated[bool, typer.Option("--write", help="Write the file; else only show what would change.")] = False,
    accept_large: Annotated[bool, typer.Option("--accept-large", help="Also prices that moved over twofold, to or from zero.")] = False,
    as_json: AsJson = False,
) -> None:
    """Relay list prices as an installed price package has them today, as a diff to review. Works offline."""
    from optimize.report.terminal.refresh import diff_text, refresh_json, refresh_words
    from sim.catalog.refresh.refresh import run

    found = run(file, package, mapping, (on or datetime.now()).date(), accept_large, write)
    written = write and bool(found.changed)
    if as_json:
        emit_json(refresh_json(found, written))
        return
    print(diff_text(found, colour=sys.stdout.isatty() and "NO_COLOR" not in os.environ), end="")
    for line in refresh_words(found, written):
        tell(line)


@app.command(epilog="Example: python cli.py validate scenarios/measured/l4_qwen2.5-7b.csv")
def validate(
    points: Annotated[Path, typer.Argument(metavar="FILE.csv", help="Measured serving points; columns: docs/how-to/calibrate.md.")],
    calibration: Annotated[Path | None, typer.Option("--calibration", metavar="FILE", help="Step costs written by `calibrate`.")] = None,
    as_json: AsJson = False,
) -> None:
    """Replay measured serving points through the simulator and print predicted against measured."""
    from optimize.report.terminal.validation import render_validation
    from sim.calibration.validate import validate as replay
    from sim.catalog.loader import load_catalog
    from sim.engine.warm import announce
    from sim.scenario.read.calibration_file import with_calibration

    catalog = load_catalog() if calibration is None else with_calibration(load_catalog(), calibration)
    announce(tell)
    result = replay(points, catalog)
    if as_json:
        emit_json(result.as_json())
    else:
        print(render_validation(result), end="")


estimate = typer.Typer(help="Sizes before there is a scenario, and rules of thumb beside arithmetic.", no_args_is_help=True)
app.add_typer(estimate, name="estimate")

ModelName = Annotated[str | None, typer.Option("--model", help="Model of the catalogue, or the path of a config.json.")]
Mfu = Annotated[str | None, typer.Option("--mfu", metavar="LOW:HIGH", help="Share of the peak; default: what published runs got.")]
Context = Annotated[str | None, typer.Option("--context", help="Tokens of the longest sequence; 8k is 8,192.")]
Prompt = Annotated[str | None, typer.Option("--prompt", help="Prompt tokens of a usual request; default 1,024.")]
Answer = Annotated[str | None, typer.Option("--answer", help="Answer tokens of a usual request; default 256.")]
Currency = Annotated[str, typer.Option("--currency", help="Show costs in this currency too.")]


@estimate.command("training", epilog="Example: python cli.py estimate training --params 7e9 --tokens 1e11 --gpu a100-80 --gpus 64")
def estimate_training(
    tokens: Annotated[str, typer.Option("--tokens", help="Training tokens: 1e11, 100B.")],
    params: Annotated[str | None, typer.Option("--params", help="Parameters: 7e9, 7B; instead of --model.")] = None,
    model: ModelName = None,
    gpu: Annotated[str, typer.Option("--gpu", help="GPU of the catalogue.")] = "h100",
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
    from optimize.estimate import training
    from optimize.report.terminal.estimate import check_currency, render_training

    currency = check_currency(currency)
    size = {"params": params, "model": model, "tokens": tokens, "context": context, "micro_batch": micro_batch}
    how = {"gpu": gpu, "gpus": gpus, "mfu": mfu, "precision": precision, "method": method, "rank": rank}
    answer = training.estimate_training(**size, **how)
    if as_json:
        emit_json(training.training_json(answer))
    else:
        print(render_training(answer, currency), end="")


@estimate.command("serving", epilog="Example: python cli.py estimate serving --model llama-3.1-70b --context 8k --concurrency 64")
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
    from optimize.report.terminal.estimate_serving import render_serving

    load = {"context": context, "prompt": prompt, "answer": answer, "concurrency": concurrency}
    found = serving.estimate_serving(model=model, weights=weights, gpu=gpu, tp=tensor_parallel, kv=kv, **load)
    if as_json:
        emit_json(serving.serving_json(found))
    else:
        print(render_serving(found, all_rows=bool(gpu or weights)), end="")


@estimate.command("compare", epilog="Example: python cli.py estimate compare --model llama-3.2-3b --users 10000")
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
    from optimize.estimate import comparison
    from optimize.report.terminal.estimate import render_comparison

    load = {"context": context, "prompt": prompt, "answer": answer, "users": users, "requests_per_user": requests_per_user}
    train = {"model": model, "tokens": tokens, "gpu": gpu, "mfu": mfu, "adapter_tokens": adapter_tokens}
    found = comparison.estimate_compare(**load, **train, serve_gpu=serve_gpu, weights=weights)
    if as_json:
        emit_json(comparison.compare_json(found))
    else:
        print(render_comparison(found), end="")


@estimate.command("rules", epilog="Example: python cli.py estimate rules")
def estimate_rules(as_json: AsJson = False) -> None:
    """Rules of thumb that contradict arithmetic or each other, both figures side by side."""
    from dataclasses import asdict

    from optimize.estimate.rules import worked_rules
    from optimize.report.terminal.estimate import render_rules
    from sim.catalog.loader import load_catalog

    rules = worked_rules(load_catalog())
    if as_json:
        emit_json({"rules": [asdict(rule) for rule in rules]})
    else:
        print(render_rules(rules), end="")


@app.command(epilog="Example: python cli.py calibrate scenarios/measured/l4_qwen2.5-7b.csv --gpu l4 --model qwen2.5-7b")
def calibrate(
    files: Annotated[list[Path], typer.Argument(metavar="FILE...", help="vLLM, GuideLLM, AIPerf or GenAI-Perf results, or our CSV.")],
    gpu: Annotated[str, typer.Option("--gpu", help="GPU of the catalogue that the runs were made on.")],
    model: Annotated[str, typer.Option("--model", help="Model of the catalogue that was served.")],
    weights: Annotated[str, typer.Option("--weights", help="Weight format of the catalogue.")] = "bf16",
    tensor_parallel: Annotated[int, typer.Option("--tensor-parallel", min=1, max=64, help="GPUs per replica.")] = 1,
    engine: Annotated[str, typer.Option("--engine", help="vllm-v1 (what plans assume), vllm-v0, trt-llm or sglang.")] = "vllm-v1",
    concurrency: Annotated[int | None, typer.Option("--concurrency", min=1, help="Requests in flight, where a file is silent.")] = None,
    max_num_seqs: Annotated[int | None, typer.Option("--max-num-seqs", min=1, help="Of the engine; default: that of its version.")] = None,
    max_num_batched_tokens: Annotated[int | None, typer.Option("--max-num-batched-tokens", min=1, help="As above.")] = None,
    kv_blocks: Annotated[int | None, typer.Option("--kv-blocks", min=1, help="Blocks of 16 tokens, as the engine says.")] = None,
    out: Annotated[Path | None, typer.Option("--out", metavar="FILE", help="Write it for `calibration:` of a scenario.")] = None,
    as_json: AsJson = False,
) -> None:
    """Fit the step cost of one deployment to your own benchmark files; say what they do not show and which runs would help."""
    from optimize.report.terminal.calibration import render_calibration
    from sim.calibration.calibrate import calibrate as fit_own
    from sim.calibration.calibrate import write_calibration
    from sim.calibration.own_runs import Setup
    from sim.catalog.loader import load_catalog
    from sim.engine.warm import announce

    announce(tell)
    setup = Setup(gpu, model, weights, tensor_parallel, engine, max_num_seqs, max_num_batched_tokens, kv_blocks)
    found = fit_own(files, setup, load_catalog(), in_flight=concurrency)
    if out is not None:
        write_calibration(found, out)
    if as_json:
        emit_json(found.as_json())
    else:
        print(render_calibration(found), end="")
    if out is not None:
        tell(f"calibration in {out}")


@app.command("new", epilog="Example: python cli.py new my_bill --from-bill 42000 --model gpt-4.1 --users 1e6")
def new(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Name of the scenario.")],
    out: Annotated[Path | None, typer.Option("--out", metavar="FILE", help="Where to write it; default: NAME.yaml.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace a file that exists.")] = False,
    from_bill: Annotated[str | None, typer.Option("--from-bill", metavar="AMOUNT", help="Today's monthly bill; needs --model.")] = None,
    from_log: Annotated[Path | None, typer.Option("--from-log", metavar="FILE", help="A request log or usage export.")] = None,
    model: Annotated[list[str] | None, typer.Option("--model", help="Model that may answer; may be repeated.")] = None,
    users: Annotated[str | None, typer.Option("--users", help="Users on a weekday: 1e6, 1M.")] = None,
    requests_per_user: Annotated[str | None, typer.Option("--requests-per-user", help="A day.")] = None,
    budget: Annotated[str | None, typer.Option("--budget", help="A month.")] = None,
    currency: Annotated[str, typer.Option("--currency", help="Of bill and budget.")] = "USD",
    mix: Annotated[str, typer.Option("--mix", help="Public traffic that fills lengths: chat, code, reasoning.")] = "chat",
    input_tokens: Annotated[str | None, typer.Option("--input-tokens", help="Mean prompt.")] = None,
    output_tokens: Annotated[str | None, typer.Option("--output-tokens", help="Mean answer.")] = None,
    ttft: Annotated[str | None, typer.Option("--ttft", help="Promise: seconds to the first token, p95.")] = None,
    tpot: Annotated[str | None, typer.Option("--tpot", help="Promise: seconds per token after it, p95.")] = None,
    as_json: AsJson = False,
) -> None:
    """Write a commented scenario from what you have: answers, a bill, a log or a usage export; and say what is worth finding out."""
    from optimize.estimate.new_scenario import new_scenario
    from optimize.report.terminal.new_scenario import new_json, render_new
    from sim.catalog.loader import load_catalog
    from sim.start.answers import Answers, amount

    money = {"budget": amount("--budget", budget), "currency": currency.upper(), "bill": amount("--from-bill", from_bill)}
    volume = {"users": amount("--users", users), "requests_per_user": amount("--requests-per-user", requests_per_user)}
    lengths = {"input_tokens": amount("--input-tokens", input_tokens, 2e5), "output_tokens": amount("--output-tokens", output_tokens, 2e5)}
    promise = {"ttft_s": amount("--ttft", ttft, 86400), "tpot_s": amount("--tpot", tpot, 86400)}
    answers = Answers(name, models=tuple(model or ()), mix=mix, **money, **volume, **lengths, **promise)  # type: ignore[arg-type]
    made = new_scenario(answers, out or Path(f"{name}.yaml"), load_catalog(), from_log, force, tell)
    if as_json:
        emit_json(new_json(made))
    else:
        print(render_new(made), end="")


@app.command(epilog="Example: python cli.py probe --from-log scenarios/gateway_calls.csv --out my_relay")
def probe(
    url: Annotated[str | None, typer.Argument(help="Base address, e.g. https://host/v1; left out with --from-log.")] = None,
    model: Annotated[str | None, typer.Option("--model", help="Model, as the endpoint calls it.")] = None,
    key_env: Annotated[str | None, typer.Option("--key-env", metavar="NAME", help="Environment variable that holds the key.")] = None,
    key_file: Annotated[Path | None, typer.Option("--key-file", help="File that holds the key.")] = None,
    kind: Annotated[str, typer.Option("--kind", help="chat or embedding.")] = "chat",
    mix: Annotated[str, typer.Option("--mix", help="Prompt/answer tokens, with weights: 500/100*3,4000/50*1.")] = "500/100",
    concurrency: Annotated[str, typer.Option("--concurrency", help="Closed loop: users at a time, one level after the other.")] = "1,2,4,8",
    rate: Annotated[str | None, typer.Option("--rate", help="Open arrivals instead: requests a second, one level after the other.")] = None,
    requests: Annotated[int, typer.Option("--requests", min=1, help="Requests of each level.")] = 40,
    limits: Annotated[str, typer.Option("--limits", help="headers, measure (by overload), requests, tokens or off.")] = "headers",
    max_requests: Annotated[int, typer.Option("--max-requests", help="Cap on calls, retries included.")] = 200,
    max_tokens: Annotated[int, typer.Option("--max-tokens", help="Cap on tokens, in and out.")] = 500_000,
    max_seconds: Annotated[float, typer.Option("--max-seconds", help="Cap on time.")] = 300.0,
    max_usd: Annotated[float | None, typer.Option("--max-usd", help="Cap on money; 1 where a price is known.")] = None,
    usd_input: Annotated[float | None, typer.Option("--usd-per-mtok-input", min=0, help="Price of a million input tokens.")] = None,
    usd_output: Annotated[float | None, typer.Option("--usd-per-mtok-output", min=0, help="Price of a million output tokens.")] = None,
    usd_cached: Annotated[float | None, typer.Option("--usd-per-mtok-cached", min=0, help="Price of a million cached ones.")] = None,
    relay: Annotated[str | None, typer.Option("--relay", help="Catalogue row whose prices hold.")] = None,
    connect_s: Annotated[float, typer.Option("--connect-timeout", min=0.01, help="Seconds.")] = 10.0,
    read_s: Annotated[float, typer.Option("--read-timeout", min=0.01, help="Seconds without a piece of the answer.")] = 60.0,
    attempts: Annotated[int, typer.Option("--attempts", min=1, max=20, help="Most calls for one request.")] = 4,
    shared_prefix: Annotated[int, typer.Option("--shared-prefix", min=0, help="Prompt tokens that all prompts have in common.")] = 0,
    ignore_eos: Annotated[bool, typer.Option("--ignore-eos", help="vLLM, SGLang: answers of full length.")] = False,
    from_log: Annotated[Path | None, typer.Option("--from-log", help="LiteLLM spend log or OpenRouter activity; nothing is sent.")] = None,
    as_model: Annotated[str | None, typer.Option("--as-model", help="Model of the catalogue that this is.")] = None,
    as_name: Annotated[str | None, typer.Option("--as-name", help="Name of the relay in the profile.")] = None,
    gpu: Annotated[str | None, typer.Option("--gpu", help="Own server: its GPU; writes points.csv for validate and calibrate.")] = None,
    weights: Annotated[str | None, typer.Option("--weights", help="Own server: bf16, fp8, int4 ...")] = None,
    tensor_parallel: Annotated[int, typer.Option("--tp", min=1, help="Own server: GPUs of a replica.")] = 1,
    engine: Annotated[str, typer.Option("--engine", help="Own server: vllm or sglang.")] = "vllm",
    engine_version: Annotated[str, typer.Option("--engine-version", help="Own server: e.g. 0.20.1.")] = "",
    as_json: AsJson = False,
    out: OutFolder = None,
    seed: Seed = None,
) -> None:
    """Measure a live OpenAI-compatible endpoint within caps; write a relay profile, a request log, a measurement table.

    Every call counts against the caps, and none is sent that could exceed one. The key never leaves the header of the calls.
    Exit code 0: answers were measured; 2: bad input, or nothing was answered; 130: interrupted, what was measured is kept.
    """
    from optimize.tables.folder import check_folder
    from sim.probe import ask, records
    from sim.probe.render import render_probe
    from sim.probe.secret import read_key

    if out is not None:
        check_folder(out)
    own = ask.server_of(gpu, weights, as_model or model or "", tensor_parallel, engine, engine_version)
    asked = ask.Asked(out, as_model, as_name, own)
    if from_log is not None:
        said = ask.log_and_write(from_log, model, asked, tell)
    else:
        caps = records.Caps(max_requests, max_tokens, max_seconds, max_usd)
        patience = records.Patience(connect_s=connect_s, read_s=read_s, attempts=attempts)
        prices = ask.prices_of(relay, usd_input, usd_output, usd_cached)
        at, called = ask.given(url, "URL"), ask.given(model, "--model")
        load = (kind, mix, concurrency, rate, requests, limits)
        setup = ask.setup_of(at, called, *load, caps, patience, prices, shared_prefix, ignore_eos, 1 if seed is None else seed)
        said = ask.probe_and_write(setup, read_key(key_env, key_file), asked, tell)
    if as_json:
        emit_json(said)
    else:
        print(render_probe(said), end="")
    raise typer.Exit(ask.exit_code(said))


@app.command(epilog="Example: python cli.py compare a b, after: optimize scenarios/melange.yaml --out a, and with another --set --out b")
def compare(
    plans: Annotated[list[Path], typer.Argument(metavar="PLAN...", help="plan.json files or results folders; the first is compared with.")],
    actual: Annotated[Path | None, typer.Option("--actual", metavar="FILE", help="An invoice: FOCUS CSV or a usage export.")] = None,
    as_json: AsJson = False,
) -> None:
    """Saved plans side by side, or a plan against an invoice, and the bridge between their bills: its steps add up exactly."""
    from optimize.audit.compare_invoice import compare_actual
    from optimize.audit.compare_plans import compare_plans
    from optimize.report.terminal.comparison import render_comparison
    from sim.errors import InputError

    if actual is not None and len(plans) != 1:
        raise InputError(f"--actual: is compared with one plan, {len(plans)} are named")
    found = compare_plans(plans) if actual is None else compare_actual(plans[0], actual)
    if as_json:
        emit_json(found.as_json())
    else:
        print(render_comparison(found), end="")


@app.command(epilog="Example: python cli.py rerun a, after: python cli.py optimize scenarios/melange.yaml --out a")
def rerun(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Results folder of `optimize --out DIR`.")],
    as_json: AsJson = False,
    jobs: Jobs = 2,
) -> None:
    """Check every input of a saved plan, make the plan again, and say whether it is identical or what changed.

    Exit code 0: identical; 2: bad input; 4: another plan.
    """
    from optimize.audit.rerun import rerun as make_again
    from optimize.plan import optimize as find_plan
    from optimize.tables.plan_json import plan_json

    found = make_again(folder, lambda scenario, how: plan_json(find_plan(scenario, jobs=jobs, tell=tell, full=how == "full")))
    if as_json:
        emit_json(found.as_json())
    else:
        print(found.text(), end="")
    raise typer.Exit(0 if found.identical else 4)


@app.command(epilog="Example: python cli.py whatif scenarios/two_offers.yaml --vary traffic.rate_rps=5:80:log3")
def whatif(
    scenario: ScenarioFile,
    vary: Annotated[
        list[str] | None, typer.Option("--vary", metavar="KEY=VALUES", help="50k,100k or 1e5:3e6:log10 or +NAME,-NAME; may be repeated.")
    ] = None,
    samples: Annotated[int | None, typer.Option("--samples", min=2, help="Latin hypercube of so many points instead of the grid.")] = None,
    one_at_a_time: Annotated[bool, typer.Option("--one-at-a-time", help="Rank the inputs over their ranges (tornado).")] = False,
    uncertain: Annotated[bool, typer.Option("--uncertain", help="Risk: P10/P50/P90, and the cheapest plan that holds with 90 %.")] = False,
    levers: Annotated[bool, typer.Option("--levers", help="Rank what could be done by what it saves.")] = False,
    cluster: Annotated[str | None, typer.Option("--cluster", metavar="ADDRESS", help="Dask scheduler, tcp://HOST:PORT.")] = None,
    as_json: AsJson = False,
    out: OutFolder = None,
    seed: Seed = None,
    settings: Settings = None,
    jobs: Jobs = 2,
) -> None:
    """Plan many scenarios: a grid or sample of inputs, one input at a time, risk, levers. With --out, a killed run resumes.

    Exit code 0: answered; 1: no point came to an answer; 2: bad input; 130: interrupted, what was finished is kept.
    """
    from optimize.report.terminal.whatif import render_whatif, whatif_json
    from optimize.report.write import write_whatif
    from optimize.whatif.entry import Question, Where, exit_code, what_if

    where, question = Where(jobs, cluster, out, tell), Question(scenario, tuple(settings or ()), seed)
    answer = what_if(question, vary or (), where, samples, one_at_a_time, uncertain, levers)
    if as_json:
        emit_json(whatif_json(answer))
    else:
        print(render_whatif(answer), end="")
    if out is not None:
        tell(f"results in {write_whatif(answer, out, tell)}")
    raise typer.Exit(exit_code(answer))


@app.command(epilog="Example: python cli.py decide scenarios/decide_small.yaml")
def decide(
    scenario: ScenarioFile,
    as_json: AsJson = False,
    out: OutFolder = None,
    seed: Seed = None,
    settings: Settings = None,
    jobs: Jobs = 2,
) -> None:
    """Which of the scenario's `commitments` to sign: each is held fixed, the rest is planned again in every future.

    Exit code 0: a stage serves everything in every future; 2: bad input; 3: none does.
    """
    from optimize.finance.commitment.decide import decide as weigh
    from optimize.finance.commitment.decide import exit_code
    from optimize.report.terminal.decision_commitment import decision_json, render_decision, write_decision
    from optimize.tables.folder import check_folder
    from sim.scenario import load_scenario

    loaded = load_scenario(scenario, settings or (), seed)
    if out is not None:
        check_folder(out)
    decision = weigh(loaded, jobs=jobs, tell=tell)
    if as_json:
        emit_json(decision_json(decision))
    else:
        print(render_decision(decision), end="")
    if out is not None:
        tell(f"results in {write_decision(decision, out)}")
    raise typer.Exit(exit_code(decision))


def main() -> None:
    """Entry point of `servemix`: errors that a user can cause are one message and an exit code, never a traceback."""
    from sim.errors import ServeMixError

    try:
        app()
    except ServeMixError as error:
        print(error, file=sys.stderr)
        sys.exit(error.exit_code)
    except SystemExit as end:  # Typer turns Ctrl-C into one without a word
        if isinstance(getattr(end.__context__, "__cause__", None), KeyboardInterrupt):
            print("interrupted; measurements made so far are kept in the capacity cache", file=sys.stderr)
        raise


if __name__ == "__main__":
    main()
