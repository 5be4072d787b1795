"""All files of a deployment, as text, in the order of their names; and writing them."""

from __future__ import annotations

import io
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.scalarstring import LiteralScalarString

from optimize.deploy.alerts import alert_rules
from optimize.deploy.deployable import Deployable
from optimize.deploy.gateway import file_of_hour, gateway_config, variables
from optimize.deploy.gateway_objects import gateway_objects
from optimize.deploy.kubernetes import engine_deployment, engine_service
from optimize.deploy.runbook import runbook
from optimize.deploy.timetable import scaled_object
from optimize.tables.folder import check_folder, write_bytes
from sim.engine.release import CURRENT_VERSION

ENGINE_IMAGE = f"vllm/vllm-openai:v{CURRENT_VERSION}.0"
GATEWAY_IMAGE = "litellm/litellm:latest"
KUBECTL_IMAGE = "bitnami/kubectl:latest"
Json = dict[str, Any]


@dataclass(frozen=True)
class Choices:
    """What the files say that no plan knows: where the fleet runs, in which clock, from which images and checkpoints."""

    namespace: str = "servemix"
    timezone: str = "UTC"
    engine_image: str = ENGINE_IMAGE
    gateway_image: str = GATEWAY_IMAGE
    kubectl_image: str = KUBECTL_IMAGE
    checkpoints: Mapping[str, str] = field(default_factory=dict)


def deployment_files(plan: Deployable, choices: Choices) -> dict[str, str]:
    """Path below the folder -> text; the same plan and choices give the same bytes, and no text holds a secret."""
    given, space = set(choices.checkpoints), choices.namespace
    files: dict[str, str] = {}
    for pool in plan.pools:
        scaling = scaled_object(pool, space, choices.timezone) if plan.weekly else None
        known = f"{pool.model}/{pool.weights}" in given
        objects = [engine_deployment(pool, space, choices.engine_image, known, by_clock=scaling is not None), engine_service(pool, space)]
        files[f"kubernetes/{pool.name}.yaml"] = yaml_text(objects, f"Pool {pool.id} of the plan: engines and their Service.")
        if scaling is not None:
            files[f"keda/{pool.name}.yaml"] = yaml_text([scaling], f"Pool {pool.id}: replicas by the clock of {choices.timezone}.")
    hours = {file_of_hour(hour): t for t, hour in enumerate(plan.hours)} if plan.weekly else {}
    by_hour = {name: _gateway_text(plan, t, space) for name, t in hours.items()}
    busiest = _gateway_text(plan, plan.busiest, space)
    files["gateway/config.yaml"] = busiest
    files |= {f"gateway/hours/{name}": text for name, text in by_hour.items()}
    images = (choices.gateway_image, choices.kubectl_image)
    proxy = gateway_objects(by_hour or {"config.yaml": busiest}, space, images, choices.timezone)
    files["kubernetes/gateway.yaml"] = yaml_text(proxy, "The gateway: its configuration for each hour, the proxy, and the clock.")
    files["gateway/environment.example"] = "".join(f"# {meaning}\n{name}=\n" for name, meaning in variables(plan))
    files["prometheus/rules.yaml"] = yaml_text([alert_rules(plan)], "Recorded quantiles and alerts, made from the plan's promises.")
    files["RUNBOOK.md"] = runbook(plan, space, choices.timezone, given)
    return dict(sorted(files.items()))


def _gateway_text(plan: Deployable, t: int, namespace: str) -> str:
    return yaml_text([gateway_config(plan, t, namespace)], f"LiteLLM proxy, {plan.hours[t]}: weights are the plan's shares, of 10,000.")


def yaml_text(documents: Iterable[Json], comment: str) -> str:
    """The documents as YAML under a line of comment; keys in the order given, long strings unbroken."""
    writer = YAML()
    writer.width, writer.default_flow_style = 10**6, False
    writer.indent(mapping=2, sequence=4, offset=2)
    writer.representer.ignore_aliases = lambda _: True
    text = io.StringIO()
    documents = list(documents)
    writer.dump_all([_plain(each) for each in documents], text)
    return f"# {comment}\n# Written by `servemix deploy`; change the plan, not this file.\n{text.getvalue()}"


def _plain(value: Any) -> Any:
    """The value with texts of several lines as blocks, which people can read."""
    if isinstance(value, dict):
        return {key: _plain(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_plain(each) for each in value]
    return LiteralScalarString(value) if isinstance(value, str) and "\n" in value else value


def write_files(files: Mapping[str, str], folder: Path) -> None:
    """Writes every file, each whole; what an earlier plan left in the same sub-folders is removed, so that nothing old is applied."""
    check_folder(folder)
    for parent in sorted({(folder / name).parent for name in files}):
        parent.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        write_bytes(folder / name, text.encode())
    for name in ("keda", "kubernetes", "gateway/hours", "gateway", "prometheus"):
        for old in sorted((folder / name).glob("*.yaml")):
            if old.relative_to(folder).as_posix() not in files:
                old.unlink()
