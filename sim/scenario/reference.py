"""docs/reference/scenario.md, made from the schema: `python -m sim.scenario.reference [FILE]` writes or prints it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from sim.scenario import shapes
from sim.scenario.context_budget import ContextSpec
from sim.scenario.json_schema import FILE, schema_text
from sim.scenario.schema import scenario, traffic
from sim.scenario.schema.candidate import Candidates, OfferSpec, RelaySpec
from sim.scenario.schema.commitment import CommitmentSpec, FutureSpec
from sim.scenario.schema.contract import RelayAccountSpec, SpendTierSpec, SpotSpec
from sim.scenario.schema.evidence import ContractSpec
from sim.scenario.schema.fields import Quantile
from sim.scenario.schema.finance import FinanceSpec
from sim.scenario.schema.model import ModelUse, OwnModel
from sim.scenario.schema.relay import LatencySpec, LawSpec, LoadSpec, OutageSpec, RetrySpec
from sim.scenario.schema.routing import ClassifierSpec, QualitySpec, RoutingSpec

SCHEMA = Path(__file__).resolve().parents[2] / "scenarios" / FILE
SECTIONS: tuple[tuple[str, type[BaseModel]], ...] = (
    ("Top level", scenario.ScenarioSpec),
    ("`traffic` from users", traffic.UserTraffic),
    ("`traffic` from a volume", traffic.VolumeTraffic),
    ("`traffic` at one rate", traffic.RateTraffic),
    ("`traffic` of concurrent users", traffic.ConcurrentTraffic),
    ("`traffic` of a job that is done once", traffic.JobTraffic),
    ("`traffic.job`", traffic.JobSpec),
    ("`traffic` from a log", traffic.ReplayTraffic),
    ("`request_classes[]`", scenario.ClassSpec),
    ("`request_classes[].models[]`", ModelUse),
    ("`request_classes[].conversation`", scenario.ConversationSpec),
    ("`request_classes[].context`", ContextSpec),
    ("`request_classes[].slo`", scenario.SloSpec),
    ("`request_classes[].quality`", QualitySpec),
    ("`routing`", RoutingSpec),
    ("`routing.classifier`", ClassifierSpec),
    ("`models[]`", OwnModel),
    ("`candidates`", Candidates),
    ("`candidates.offers[]`", OfferSpec),
    ("`candidates.relays[]`", RelaySpec),
    ("`candidates.relays[].latency`", LatencySpec),
    ("`candidates.relays[].latency.ttft` and `tpot`", LawSpec),
    ("`candidates.relays[].latency.load[]`", LoadSpec),
    ("`candidates.offers[].contract` and `candidates.relays[].contract`", ContractSpec),
    ("`candidates.relays[].outages`", OutageSpec),
    ("`candidates.relays[].retry`", RetrySpec),
    ("`budget`", scenario.BudgetSpec),
    ("`policy`", scenario.PolicySpec),
    ("`policy.spot`", SpotSpec),
    ("`policy.relay_accounts[]`", RelayAccountSpec),
    ("`policy.relay_accounts[].tiers[]`", SpendTierSpec),
    ("`engine`", scenario.EngineSpec),
    ("`finance`", FinanceSpec),
    ("`commitments[]`", CommitmentSpec),
    ("`futures[]`", FutureSpec),
)

HEAD = """# Scenario keys

Made from the schema by `python -m sim.scenario.reference docs/reference/scenario.md`; change sim/scenario/schema/scenario.py instead.

A scenario is one YAML file. Keys that are not listed here are refused. Numbers are bare: seconds, tokens, requests a second,
US dollars; `0.2`, never `200ms`. Shares are 0 to 1. Paths are relative to the scenario file. `--set key.path=value` replaces a
value from the command line; an entry of a list is named by its number or its `name` (`request_classes.faq.share=0.2`), and
`candidates.relays=+NAME` appends.
"""

TOKENS = """## Token counts

Where a unit says tokens, a law may be written in any of these ways.

| form | meaning |
|---|---|
| `500` | always 500 |
| `{mean: 1155, p50: 1020, p99: 4142}` | the law through these quantiles that has this mean; two quantiles, or mean and p50, are enough |
| `{quantiles: {0.5: 100, 0.99: 900}}` or `[[0.5, 100], [0.99, 900]]` | linear between the points, flat outside them |
| `{lognormal: [mu, sigma]}` | of log(tokens); mean exp(mu + sigma^2/2) |
| `{weibull: [shape, scale]}` | mean scale x Gamma(1 + 1/shape) |
| a name from the table below | a measured law |
"""


def scenario_schema() -> str:
    """All keys of a scenario as Markdown: one table for each mapping."""
    parts = [HEAD]
    for title, model in SECTIONS:
        lines = [f"## {title}\n", f"{model.__doc__}\n", "| key | value | unit | default | meaning |", "|---|---|---|---|---|"]
        lines += [_row(name, field) for name, field in model.model_fields.items()]
        parts.append("\n".join(lines) + "\n")
    named = shapes.load()
    parts.append(TOKENS)
    rows = [f"| `{name}` | {law.mean:,.0f} | {named.meanings[name]} |" for name, law in named.tokens.items()]
    parts.append("\n".join(["| token shape | mean | source |", "|---|---|---|", *rows]) + "\n")
    rows = [f"| `{name}` | {named.meanings[name]} |" for name in named.days]
    parts.append("\n".join(["## Day shapes\n", "| name | meaning |", "|---|---|", *rows]) + "\n")
    return "\n".join(parts)


def _row(name: str, field: FieldInfo) -> str:
    extra = field.json_schema_extra if isinstance(field.json_schema_extra, dict) else {}
    default = _default(field)
    if extra.get("new_row"):
        default = "catalogue; a new row needs it"
    return f"| `{name}` | {_kind(field.annotation)} | {extra.get('unit') or ''} | {default} | {field.description} |"


def _default(field: FieldInfo) -> str:
    if field.is_required():
        return "required"
    if field.default_factory is not None or field.default in (None, "", PydanticUndefined):
        return ""
    value = field.default
    return f"`{str(value).lower() if isinstance(value, bool) else value}`".replace("'", "")


def _kind(annotation: Any) -> str:
    """A type expression in the words of the reference."""
    if "«summary»" in str(annotation):
        return "token count"
    if get_origin(annotation) is Literal:
        return " or ".join(f"`{choice}`" for choice in get_args(annotation))
    if get_origin(annotation) is list:
        return "list"
    if get_origin(annotation) is dict:
        return "mapping of quantiles, such as `{p95: 1.0}`" if get_args(annotation)[0] == Quantile else "mapping"
    names = {str: "text", float: "number", int: "whole number", bool: "true or false"}
    if isinstance(annotation, type):
        return names.get(annotation, "mapping")
    kinds = [_kind(part) for part in get_args(annotation) if part is not type(None) and not _is_mark(part)]
    return " or ".join(dict.fromkeys(kinds))


def _is_mark(part: Any) -> bool:
    """Whether `part` is a mark of Annotated and not a type."""
    return not isinstance(part, type) and get_origin(part) is None


if __name__ == "__main__":
    if len(sys.argv) > 1:
        Path(sys.argv[1]).write_text(scenario_schema(), encoding="utf-8")
        SCHEMA.write_text(schema_text(), encoding="utf-8")  # the same keys, for editors
    else:
        print(scenario_schema(), end="")
