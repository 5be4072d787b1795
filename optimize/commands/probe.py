"""`servemix probe`: a live endpoint, measured."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
import typer.core

from optimize.commands.common import MOST, AsJson, OutFolder, Seed, command, emit_json, tell


@command("probe --from-log scenarios/gateway_calls.csv --out my_relay")
def probe(
    url: Annotated[str | None, typer.Argument(help="Base address, e.g. https://host/v1; left out with --from-log.")] = None,
    model: Annotated[str | None, typer.Option("--model", help="Model, as the endpoint calls it.")] = None,
    key_env: Annotated[str | None, typer.Option("--key-env", metavar="NAME", help="Environment variable that holds the key.")] = None,
    key_file: Annotated[Path | None, typer.Option("--key-file", help="File that holds the key.")] = None,
    kind: Annotated[str, typer.Option("--kind", help="chat or embedding.")] = "chat",
    mix: Annotated[str, typer.Option("--mix", help="Prompt/answer tokens, with weights: 500/100*3,4000/50*1.")] = "500/100",
    concurrency: Annotated[str, typer.Option("--concurrency", help="Closed loop: users at a time, one level after the other.")] = "1,2,4,8",
    rate: Annotated[str | None, typer.Option("--rate", help="Open arrivals instead: requests a second, one level after the other.")] = None,
    requests: Annotated[int, typer.Option("--requests", min=1, max=MOST, help="Requests of each level.")] = 40,
    limits: Annotated[str, typer.Option("--limits", help="headers, measure (by overload), requests, tokens or off.")] = "headers",
    max_requests: Annotated[int, typer.Option("--max-requests", max=MOST, help="Cap on calls, retries included.")] = 200,
    max_tokens: Annotated[int, typer.Option("--max-tokens", max=MOST, help="Cap on tokens, in and out.")] = 500_000,
    max_seconds: Annotated[float, typer.Option("--max-seconds", help="Cap on time.")] = 300.0,
    max_usd: Annotated[float | None, typer.Option("--max-usd", help="Cap on money; 1 where a price is known.")] = None,
    usd_input: Annotated[float | None, typer.Option("--usd-per-mtok-input", min=0, help="Price of a million input tokens.")] = None,
    usd_output: Annotated[float | None, typer.Option("--usd-per-mtok-output", min=0, help="Price of a million output tokens.")] = None,
    usd_cached: Annotated[float | None, typer.Option("--usd-per-mtok-cached", min=0, help="Price of a million cached ones.")] = None,
    relay: Annotated[str | None, typer.Option("--relay", help="Catalogue row whose prices hold.")] = None,
    connect_s: Annotated[float, typer.Option("--connect-timeout", min=0.01, help="Seconds.")] = 10.0,
    read_s: Annotated[float, typer.Option("--read-timeout", min=0.01, help="Seconds without a piece of the answer.")] = 60.0,
    attempts: Annotated[int, typer.Option("--attempts", min=1, max=20, help="Most calls for one request.")] = 4,
    shared_prefix: Annotated[
        int, typer.Option("--shared-prefix", min=0, max=MOST, help="Prompt tokens that all prompts have in common.")
    ] = 0,
    ignore_eos: Annotated[bool, typer.Option("--ignore-eos", help="vLLM, SGLang: answers of full length.")] = False,
    from_log: Annotated[Path | None, typer.Option("--from-log", help="LiteLLM spend log or OpenRouter activity; nothing is sent.")] = None,
    as_model: Annotated[str | None, typer.Option("--as-model", help="Model of the catalogue that this is.")] = None,
    as_name: Annotated[str | None, typer.Option("--as-name", help="Name of the relay in the profile.")] = None,
    gpu: Annotated[str | None, typer.Option("--gpu", help="Own server: its GPU; writes points.csv for validate and calibrate.")] = None,
    weights: Annotated[str | None, typer.Option("--weights", help="Own server: bf16, fp8, int4 ...")] = None,
    tensor_parallel: Annotated[int, typer.Option("--tp", min=1, max=64, help="Own server: GPUs of a replica.")] = 1,
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
    from sim.probe import attempts as records
    from sim.probe import options as ask
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
