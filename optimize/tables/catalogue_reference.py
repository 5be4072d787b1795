"""docs/reference/catalogue.md, made from the records: `python -m optimize.tables.catalogue_reference [FILE]` writes or prints it."""

from __future__ import annotations

import dataclasses
import inspect
import re
import sys
from pathlib import Path
from typing import get_type_hints

from sim.catalog.contract import Contract
from sim.catalog.facts import CalibrationRow, Gpu, Model, Offer, Relay, Source, Tokenizer, WeightFormat
from sim.catalog.model_config import FAMILIES
from sim.catalog.price_terms import LongPrompt, OffPeak

FIELD = re.compile(r"^    (\w+): [^#]*?(?:  # (.*))?$")
TABLES: tuple[tuple[str, str, type], ...] = (
    ("gpus", "gpus.yaml", Gpu),
    ("models", "models.yaml", Model),
    ("formats", "weight_formats.yaml", WeightFormat),
    ("offers", "offers.yaml", Offer),
    ("relays", "relays.yaml", Relay),
    ("long prompts of a relay", "relays.yaml", LongPrompt),
    ("off-peak hours of a relay", "relays.yaml", OffPeak),
    ("contract of an offer or a relay", "offers.yaml, relays.yaml", Contract),
    ("tokenizers", "tokenizers.yaml", Tokenizer),
    ("step costs", "calibration.yaml", CalibrationRow),
    ("source of a row", "every file", Source),
)
HEAD = """# The catalogue

Made from the records by `python -m optimize.tables.catalogue_reference docs/reference/catalogue.md`; change sim/catalog/facts.py instead.

Facts live in YAML files in `sim/catalog/`, one row per fact, each with its source and date. `catalog` lists a table in 100
columns with its sources by number; with a name it shows every field of the row, with a pattern such as `'aws.*'` the rows that
match; `--json` gives all of it. Rows in a scenario (`candidates.offers`, `candidates.relays`, `models`) override or add to them.
`catalog refresh` [brings list prices of relays up to date](../how-to/keep-prices-current.md).

```console
$ python cli.py catalog offers owned.l40sx2
id: owned.l40sx2
...
capex_usd: 23,800
power_w: 1,274
...
$ python cli.py catalog relays 'holysheep.gpt*'
id: holysheep.gpt-4.1
...
grade: claimed
...
$ python cli.py catalog gpus h10
catalog: gpus has no "h10"; did you mean h100 or a10?
$ echo $?
2
```

## Evidence

`grade` says how firm a price is: `quote` (made to you; any price that a scenario writes), `contract`, `list` (published by the
seller), `claimed` (no seller stands behind it). Of several rows of one vendor, model and format a plan uses the firmest;
claimed rows only with `policy.trust_claims`. A `!` in a list means that something speaks against the row, and says what below it:

- a claimed price that equals the maker's price of the other side, is dearer than the maker's, or under half of it;
- credit that is sold at another rate than the banks';
- a first token sooner than the best median ever measured (0.2 s);
- a model that retires, with successor and price, sharper inside the month after the catalogue's date; a price that will change;
- a caveat of the row: contested rates, licence, reliability.

Relays whose model was retired before the catalogue's date are not planned with.

## A model that is not in it

Write the `config.json` that comes with its weights (Hugging Face format) into the scenario: `models: [{name: my-model, config:
my-model/config.json}]`. Parameters are counted from the shape. Readable kinds (`model_type`): KINDS.
"""


def fields_of(record: type) -> list[tuple[str, str, str]]:
    """(name, kind, meaning) of each field, the meaning as the comment next to it says.

    >>> fields_of(Source)[1]
    ('date', 'text', '')
    """
    comments = {}
    for line in inspect.getsource(record).splitlines():
        match = FIELD.match(line)
        if match:
            comments[match[1]] = (match[2] or "").replace("None:", "absent:").replace("None means", "absent means")
    hints = get_type_hints(record)
    return [(f.name, kind_of(str(hints[f.name])), comments.get(f.name, "")) for f in dataclasses.fields(record)]


def kind_of(hint: str) -> str:
    """A type in the words of the reference.

    >>> kind_of("float | None"), kind_of("tuple[str, ...]"), kind_of("dict[str, float]")
    ('number or absent', 'names', 'numbers by name')
    """
    optional = " or absent" if "None" in hint else ""
    if "dict[" in hint:
        return f"numbers by name{optional}"
    if "tuple[str" in hint:
        return f"names{optional}"
    if "tuple[sim." in hint:
        return f"mappings{optional}"
    if "price_terms." in hint or "contract." in hint:
        return f"mapping{optional}"
    if "records." in hint:
        return ("source" if "Source" in hint else "mapping") + optional
    for key, word in (("bool", "true or false"), ("int", "whole number"), ("float", "number"), ("str", "text")):
        if key in hint:
            return word + optional
    return hint


def catalogue_reference() -> str:
    """The page as Markdown."""

    parts = [HEAD.replace("KINDS", ", ".join(f"`{kind}`" for kind in FAMILIES))]
    for title, file, record in TABLES:
        about = " ".join((inspect.getdoc(record) or "").split())
        rows = [f"| `{name}` | {kind} | {meaning} |" for name, kind, meaning in fields_of(record)]
        parts.append("\n".join([f"## {title} ({file})\n", f"{about}\n", "| field | value | meaning |", "|---|---|---|", *rows]) + "\n")
    return "\n".join(parts)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        Path(sys.argv[1]).write_text(catalogue_reference(), encoding="utf-8")
    else:
        print(catalogue_reference(), end="")
