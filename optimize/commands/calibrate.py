"""`servemix calibrate`: step costs from the user's own benchmark files."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
import typer.core

from optimize.commands.common import MOST, AsJson, command, emit_json, tell


@command("calibrate scenarios/measured/l4_qwen2.5-7b.csv --gpu l4 --model qwen2.5-7b")
def calibrate(
    files: Annotated[list[Path], typer.Argument(metavar="FILE...", help="vLLM, GuideLLM, AIPerf or GenAI-Perf results, or our CSV.")],
    gpu: Annotated[str, typer.Option("--gpu", help="GPU of the catalogue that the runs were made on.")],
    model: Annotated[str, typer.Option("--model", help="Model of the catalogue that was served.")],
    weights: Annotated[str, typer.Option("--weights", help="Weight format of the catalogue.")] = "bf16",
    tensor_parallel: Annotated[int, typer.Option("--tensor-parallel", min=1, max=64, help="GPUs per replica.")] = 1,
    engine: Annotated[
        str | None,
        typer.Option("--engine", help="Release: vllm-0.14, vllm-0.12, vllm-v1, trt-llm-1 ...; default: as the CSV says."),
    ] = None,
    concurrency: Annotated[
        int | None, typer.Option("--concurrency", min=1, max=MOST, help="Requests in flight, where a file is silent.")
    ] = None,
    max_num_seqs: Annotated[
        int | None, typer.Option("--max-num-seqs", min=1, max=MOST, help="Of the engine; default: that of its version.")
    ] = None,
    max_num_batched_tokens: Annotated[int | None, typer.Option("--max-num-batched-tokens", min=1, max=MOST, help="As above.")] = None,
    kv_blocks: Annotated[int | None, typer.Option("--kv-blocks", min=1, max=MOST, help="Blocks of 16 tokens, as the engine says.")] = None,
    out: Annotated[Path | None, typer.Option("--out", metavar="FILE", help="Write it for `calibration:` of a scenario.")] = None,
    as_json: AsJson = False,
) -> None:
    """Fit the step cost of one deployment to your own benchmark files; say what they do not show and which runs would help."""
    from optimize.report.terminal.render_calibration import render_calibration
    from sim.calibration.fit_own import calibrate as fit_own
    from sim.calibration.fit_own import write_calibration
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
