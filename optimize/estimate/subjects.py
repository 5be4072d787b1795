"""What an estimate is about: a model of the catalogue, of a config.json, or only a number of parameters; and the devices to run it on."""

from __future__ import annotations

import math
import os
from functools import cache
from pathlib import Path

from optimize.estimate.amounts import Options
from sim.catalog.check import record_of
from sim.catalog.facts import Catalog, Gpu, Model, Source, WeightFormat
from sim.catalog.model_config import load_model_config
from sim.errors import InputError

CPU_FILE = Path(__file__).with_name("cpus.yaml")
ASPECT = 128  # hidden numbers per layer, and per head: GPT-3 175B, Llama 2 7B and 13B
VOCABULARY = 32_000  # Llama 2
INFERRED = "shape inferred from the number of parameters"


def model_of_size(parameters: float) -> Model:
    """A dense decoder of about that size: N = 12 x layers x hidden^2 with 128 hidden numbers per layer and per head.

    `parameters` stay as given; the shape only enters attention, activations and adapters. An approximation: Llama 2 7B has exactly
    this shape, Llama 2 70B is shallower by a fifth.

    >>> m = model_of_size(7e9)
    >>> m.layers, m.hidden_size
    (33, 4224)
    """
    layers = max(1, round((parameters / (12 * ASPECT**2)) ** (1 / 3)))
    hidden = max(ASPECT, round(math.sqrt(parameters / (12 * layers)) / ASPECT) * ASPECT)
    return Model(
        id=size_name(parameters),
        parameters=parameters,
        active_parameters=parameters,
        layers=layers,
        hidden_size=hidden,
        heads=hidden // ASPECT,
        kv_heads=hidden // ASPECT,
        head_dim=ASPECT,
        intermediate_size=8 * hidden // 3,
        vocab_size=VOCABULARY,
        max_context=10**9,
        source=Source(INFERRED, "2023-07"),
    )


def size_name(parameters: float) -> str:
    """A number of parameters as people say it.

    >>> size_name(7e9), size_name(1.3e8)
    ('7B parameters', '0.13B parameters')
    """
    return f"{parameters / 1e9:.3g}B parameters"


def is_inferred(model: Model) -> bool:
    """Whether the shape was inferred by `model_of_size`."""
    return model.source.title == INFERRED


def find_model(options: Options, name: str, catalog: Catalog) -> Model | None:
    """The catalogue's model of that name, or the one that a config.json (a path that ends in .json, or its folder) describes.

    None after a problem.
    """
    if name not in catalog.models and (name.endswith(".json") or os.path.isdir(Path(name))):
        try:
            return load_model_config(Path(name))
        except InputError as error:
            options.problems += error.problems
            return None
    return options.row("--model", name, catalog.models)


def weight_formats(catalog: Catalog) -> dict[str, WeightFormat]:
    """The catalogue's weight formats by name and by alias (awq, gptq ...)."""
    named = {alias: row for row in catalog.weight_formats.values() for alias in row.aliases}
    return {**named, **catalog.weight_formats}


@cache
def cpus() -> dict[str, Gpu]:
    """Processors as devices with one link-less "card": a socket with its memory. Facts and caveats: cpus.yaml."""
    from ruamel.yaml import YAML

    problems: list[str] = []
    raw = YAML(typ="safe", pure=True).load(CPU_FILE.read_text(encoding="utf-8"))
    rows = [
        record_of(Gpu, item, lambda key, what, i=index: problems.append(f"{CPU_FILE}: cpus.{i}.{key}: {what}"))  # type: ignore[misc]
        for index, item in enumerate(raw["cpus"])
    ]
    if problems:
        raise InputError(problems)
    return {row.id: row for row in rows}
