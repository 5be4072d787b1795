"""`servemix new`: a scenario from what people have."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
import typer.core

from optimize.commands.common import AsJson, command, emit_json, program, tell


@command("new my_bill --from-bill 42000 --model gpt-4.1 --users 1e6", "new")
def new(
    name: Annotated[str | None, typer.Argument(metavar="NAME", help="Name of the scenario; with --from-sample that of the sample.")] = None,
    out: Annotated[Path | None, typer.Option("--out", metavar="FILE", help="Where to write it; default: NAME.yaml.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace a file that exists.")] = False,
    from_sample: Annotated[str | None, typer.Option("--from-sample", metavar="SAMPLE", help="Copy a sample: million_dau ...")] = None,
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
    """Write a commented scenario from what you have: a sample, answers, a bill, a log or a usage export; say what is worth finding out."""
    from sim.errors import InputError

    if from_sample is not None:
        from sim.start.samples import copy_sample

        path = out or Path(f"{name or from_sample}.yaml")
        written = [str(each) for each in copy_sample(from_sample, path, force)]
        if as_json:
            emit_json({"scenario": str(path), "written": written})
        else:
            print(f"wrote {', '.join(written)}\n\nNext: {program()} optimize {path}")
        return
    if name is None:
        raise InputError("NAME: is missing; write the name of the new scenario, or --from-sample SAMPLE")
    from optimize.estimate.new_scenario import new_scenario
    from optimize.report.terminal.render_new_scenario import new_json, render_new
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
        print(render_new(made, program()), end="")
