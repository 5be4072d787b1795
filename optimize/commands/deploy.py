"""`servemix deploy`: files that one can apply, from a plan."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
import typer.core

from optimize.commands.common import command


@command("deploy plans/plan.json --out deploy, after: optimize scenarios/two_offers.yaml --out plans")
def deploy(
    plan: Annotated[Path, typer.Argument(metavar="PLAN", help="A plan.json that `optimize --out DIR` wrote.")],
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="Write the files into this folder.")],
    namespace: Annotated[str, typer.Option("--namespace", help="Kubernetes namespace.")] = "servemix",
    timezone: Annotated[str, typer.Option("--timezone", help="Time zone of the plan's hours, such as Europe/Berlin.")] = "UTC",
    image: Annotated[str | None, typer.Option("--image", help="Container image of vLLM; default: that of the planned version.")] = None,
    gateway_image: Annotated[str | None, typer.Option("--gateway-image", help="Container image of the LiteLLM proxy.")] = None,
    checkpoint: Annotated[
        list[str] | None,
        typer.Option("--checkpoint", metavar="MODEL/WEIGHTS=REPOSITORY", help="Checkpoint stored in that format; may be repeated."),
    ] = None,
) -> None:
    """Engines, timetable, gateway, alerts and a runbook for a plan: files for Kubernetes, KEDA, LiteLLM and Prometheus."""
    from optimize.deploy.choices import choices_of
    from optimize.deploy.deployable import deployable
    from optimize.deploy.files import deployment_files, write_files
    from sim.catalog.loader import load_catalog

    choices = choices_of(namespace, timezone, image, gateway_image, checkpoint or ())
    found = deployable(plan, load_catalog(), choices.checkpoints)
    files = deployment_files(found, choices)
    write_files(files, out)
    for name in files:
        if not name.startswith("gateway/hours/"):
            print(out / name)
    hours = sum(name.startswith("gateway/hours/") for name in files)
    if hours:
        print(f"{out / 'gateway/hours'}: {hours} files, one for each hour of the week")
    print(f"Read {out / 'RUNBOOK.md'} first.")
