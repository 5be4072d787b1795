"""A checked specification and the catalogue -> Scenario."""

from __future__ import annotations

from dataclasses import replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, cast

from sim.catalog.facts import Catalog, Offer, Relay, Source
from sim.catalog.loader import with_prefill
from sim.errors import InputError
from sim.plural import counted
from sim.scenario.context_budget import context_of, within
from sim.scenario.credit import with_trusted_credit
from sim.scenario.scenario import (
    AccountTier,
    Budget,
    Commitment,
    Conversation,
    Finance,
    Future,
    Policy,
    RelayAccount,
    RequestClass,
    Scenario,
    Slo,
    Spot,
    TokenFactor,
    Tokens,
)
from sim.scenario.schema.candidate import Candidates, OfferSpec, RelaySpec
from sim.scenario.schema.contract import RelayAccountSpec
from sim.scenario.schema.evidence import with_contract
from sim.scenario.schema.fields import MOST
from sim.scenario.schema.finance import FinanceSpec
from sim.scenario.schema.price import long_prompts_of, off_peak_of
from sim.scenario.schema.relay import latency_of, outages_of, retry_of
from sim.scenario.schema.scenario import (
    ClassSpec,
    PolicySpec,
    ScenarioSpec,
    SloSpec,
)
from sim.scenario.schema.traffic import ReplayTraffic
from sim.scenario.spread_traffic import MONTH_H, traffic_of
from sim.scenario.tokenizers import tokenizer_warnings

LONGEST_PLAUSIBLE_S = {"ttft": 120.0, "tpot": 10.0}  # longer waits in a chat are milliseconds written as seconds
WIDEST_STEADY_TTFT_SIGMA = 0.38  # of steady hosts in the llmperf leaderboard's raw data, December 2023


def resolve(spec: ScenarioSpec, catalog: Catalog, path: Path, seed: int, digest: str) -> Scenario:
    """The scenario that `spec` means. Files it names are relative to the folder of `path`."""
    offers, relays = (
        resolve_offers(spec.candidates, catalog, path),
        resolve_relays(spec.candidates, catalog, path),
    )
    classes = tuple(_request_class(each, spec.policy) for each in spec.request_classes)
    classes = _within_budgets(spec, classes, path)
    band = spec.policy.requests_per_user_band
    measured = spec.candidates.measured_capacity
    return Scenario(
        name=spec.name,
        description=spec.description.strip(),
        seed=seed,
        path=path,
        digest=digest,
        traffic=traffic_of(spec.traffic, classes, path.parent),
        request_classes=classes,
        offers=offers,
        relays=relays,
        weights=tuple(dict.fromkeys(spec.candidates.weights)),
        tensor_parallel=tuple(dict.fromkeys(spec.candidates.tensor_parallel)),
        kv_formats=tuple(dict.fromkeys(spec.candidates.kv_formats)),
        batched_tokens=tuple(sorted(set(spec.candidates.max_num_batched_tokens))),
        sequences=tuple(sorted(set(spec.candidates.max_num_seqs))),
        measured_capacity=path.parent / measured if measured is not None else None,
        budget=Budget(MOST if spec.budget.per_month is None else spec.budget.per_month, spec.budget.currency, spec.budget.per_mtok),
        policy=_policy(spec.policy),
        catalog=catalog,
        traffic_error=spec.traffic.forecast_error,
        requests_per_user_band=(band[0], band[1]) if band else None,
        engine=spec.engine.model_dump(exclude_none=True),
        warnings=(
            *_warnings(spec, classes, offers, relays),
            *tokenizer_warnings(classes, catalog),
        ),
        finance=_finance(spec.finance),
        commitments=tuple(Commitment(**(each.model_dump() | {"hold": tuple(each.hold.items())})) for each in spec.commitments),
        futures=tuple(Future(**(each.model_dump() | {"retired": tuple(each.retired)})) for each in spec.futures),
        ranges={name: (ends[0], ends[1]) for name, ends in spec.ranges.items()},
    )


def _request_class(spec: ClassSpec, policy: PolicySpec) -> RequestClass:
    talk = spec.conversation
    return RequestClass(
        name=spec.name,
        share=spec.share,
        kind=spec.kind,
        task=spec.task,
        input_tokens=cast("Tokens | None", spec.input_tokens),  # the validator has made laws of all forms
        conversation=Conversation(talk.system_prompt_tokens, cast(Tokens, talk.user_tokens), talk.history_cap_tokens) if talk else None,
        output_tokens=cast(Tokens, spec.output_tokens),
        models=tuple(dict.fromkeys(each if isinstance(each, str) else each.name for each in spec.models)),
        token_factors=tuple(
            TokenFactor(each.name, each.input_token_factor, each.output_token_factor) for each in spec.models if not isinstance(each, str)
        ),
        slo=_slos(spec.slo),
        data_residency=tuple(spec.data_residency or policy.data_residency),
        self_hosted_only=spec.self_hosted_only,
        priority=spec.priority,
    )


def _within_budgets(spec: ScenarioSpec, classes: tuple[RequestClass, ...], path: Path) -> tuple[RequestClass, ...]:
    """Classes with the token budgets that the file gives them. Raises InputError for a budget in which no prompt fits."""
    kept, problems = [], []
    for each, written in zip(classes, spec.request_classes, strict=True):
        context = None if written.context is None else context_of(written.context)
        if context is None:
            kept.append(each)
            continue
        where = f"{path}: request_classes.{each.name}.context"
        if isinstance(spec.traffic, ReplayTraffic):
            problems.append(f"{where}: a log brings its own prompts; leave the budget out")
            continue
        try:
            prompt, talk, answer, refused = within(context, each.input_tokens, each.conversation, each.output_tokens)
        except ValueError as error:
            problems.append(f"{where}: {error}; write a larger max")
            continue
        own = {"input_tokens": prompt, "conversation": talk, "output_tokens": answer}
        kept.append(replace(each, **own, context=context, refused_share=refused))  # type: ignore[arg-type]
    if problems:
        raise InputError(problems)
    return tuple(kept)


def _slos(spec: SloSpec) -> tuple[Slo, ...]:
    """Rows in the order ttft, tpot, e2e and of rising quantiles, however the user ordered them."""
    rows = []
    for metric in ("ttft", "tpot", "e2e"):
        limits: dict[str, float] = getattr(spec, metric) or {}
        rows += sorted((round(float(name[1:]) / 100, 8), metric, limit) for name, limit in limits.items())
    return tuple(Slo(metric, quantile, limit) for quantile, metric, limit in rows)


def _policy(spec: PolicySpec) -> Policy:
    contracts = {"max_vendor_share", "relay_accounts", "spot", "confidence"}
    values = spec.model_dump(exclude={"requests_per_user_band", "data_residency", "allow", "deny", "payment", *contracts})
    share = spec.max_vendor_share
    return Policy(
        allow=tuple(spec.allow),
        deny=tuple(spec.deny),
        payment=tuple(each.lower() for each in spec.payment),
        vendor_shares=dict(share) if isinstance(share, dict) else {"*": share} if share is not None else {},
        relay_accounts=tuple(_account(row) for row in spec.relay_accounts),
        spot=Spot(**spec.spot.model_dump()) if spec.spot else None,
        confidence=None if isinstance(spec.confidence, str) else spec.confidence,
        **values,
    )


def _account(spec: RelayAccountSpec) -> RelayAccount:
    tiers = tuple(AccountTier(**tier.model_dump()) for tier in spec.tiers)
    return RelayAccount(spec.relay, spec.committed_usd, spec.spend_cap_usd, tiers)


def _finance(spec: FinanceSpec) -> Finance:
    """What belongs to the record by its name; every other key that is given replaces a planning figure of that name."""
    given = spec.model_dump(exclude_none=True)
    own = {name: given.pop(name) for name in Finance.__dataclass_fields__ if name in given}
    return Finance(values={name: float(value) for name, value in given.items()}, **own)


def resolve_offers(candidates: Candidates, catalog: Catalog, path: Path) -> tuple[Offer, ...]:
    """Rows in the order of the file; with measured capacity, an offer without `gpu` carries its own name there."""
    if candidates.offers is None:
        return tuple(catalog.offers.values())
    return tuple(_offer(OfferSpec(name=entry) if isinstance(entry, str) else entry, catalog, path) for entry in candidates.offers)


def _offer(spec: OfferSpec, catalog: Catalog, path: Path) -> Offer:
    known = catalog.offers.get(spec.name)
    given = spec.model_dump(exclude_none=True, exclude={"name", "contract"})
    given = with_contract(given, spec.contract, path, known.source if known else None)
    per_host_hour(given, known.gpus if known else 1)
    if "purchase_usd" in given:
        given["capex_usd"] = given.pop("purchase_usd")
    if "residency" in given:
        given["residency"] = tuple(given["residency"])
    if spec.name in catalog.offers:
        row = catalog.offers[spec.name]
        if "usd_per_hour" in given:
            given.setdefault("grade", "quote")  # a price that the user writes is one that the user was given
        return replace(row, **({"source": _source(path, row.source)} | given)) if given else row
    defaults: dict[str, Any] = {"provider": spec.name, "gpu": spec.name, "gpus": 1, "term": "on_demand", "grade": "quote"}
    if "capex_usd" in given:
        defaults |= {"term": "owned", "usd_per_hour": 0.0}  # the price by the hour follows, see `optimize.money.owned_price`
    return Offer(id=spec.name, **({"source": _source(path)} | defaults | given))


def per_host_hour(given: dict[str, Any], gpus: int) -> None:
    """A price by the month or by the GPU becomes one by the host and hour, in place."""
    if "usd_per_month" in given:
        given["usd_per_hour"] = given.pop("usd_per_month") / MONTH_H
    if "usd_per_gpu_hour" in given:
        given["usd_per_hour"] = given.pop("usd_per_gpu_hour") * given.get("gpus", gpus)


def resolve_relays(candidates: Candidates, catalog: Catalog, path: Path) -> tuple[Relay, ...]:
    """Rows in the order of the file; all of the catalogue where the file has no list and no measured capacity."""
    if candidates.relays is None:
        return () if candidates.measured_capacity else tuple(catalog.relays.values())
    return tuple(_relay(RelaySpec(name=entry) if isinstance(entry, str) else entry, catalog, path) for entry in candidates.relays)


PLAIN = {"usd_per_mtok_input", "usd_per_mtok_output", "usd_per_mtok_cached", "usd_per_mtok_cache_write"}
RECORDS = ("latency", "outages", "retry", "long_prompts", "off_peak", "contract")


def _behaviour(spec: RelaySpec) -> dict[str, Any]:
    """Fields of the record that are records themselves."""
    given: dict[str, Any] = {}
    if spec.latency is not None:
        given["latency"] = latency_of(spec.latency)
    if spec.outages is not None:
        given["outages"] = outages_of(spec.outages)
    if spec.retry is not None:
        given["retry"] = retry_of(spec.retry)
    if spec.long_prompts is not None:
        given["long_prompts"] = long_prompts_of(spec.long_prompts)
    if spec.off_peak is not None:
        given["off_peak"] = off_peak_of(spec.off_peak)
    return given


def _relay(spec: RelaySpec, catalog: Catalog, path: Path) -> Relay:
    relay = _stated_relay(spec, catalog, path)
    return with_trusted_credit(relay, catalog, path) if spec.trust_credit else relay


def _stated_relay(spec: RelaySpec, catalog: Catalog, path: Path) -> Relay:
    given = spec.model_dump(exclude_none=True, exclude={"name", "profile", "trust_credit", *RECORDS}) | _behaviour(spec)
    known = catalog.relays.get(spec.name)
    given = with_contract(given, spec.contract, path, known.source if known else None)
    for name in ("residency", "payment"):
        if name in given:
            given[name] = tuple(given[name])
    if spec.name in catalog.relays:
        row = catalog.relays[spec.name]
        if not given:
            return row
        if {"usd_per_mtok_input", "usd_per_mtok_output"} & set(given):
            given.setdefault("grade", "quote")
        if PLAIN & set(given):
            given.setdefault("off_peak", None)  # a price list's cheap hours are not those of a price that the user was given
        latency = {"ttft_p50_s", "ttft_sigma", "tokens_per_s", "tokens_sigma", "latency"} & set(given)
        latency_source = _source(path, row.latency_source) if latency else row.latency_source
        return with_prefill(replace(row, **({"source": _source(path, row.source)} | given), latency_source=latency_source), catalog.models)
    defaults: dict[str, Any] = {
        "vendor": spec.name,
        "usd_per_mtok_cached": None,
        "ttft_sigma": WIDEST_STEADY_TTFT_SIGMA,
        "tokens_sigma": 0.2,
        "grade": "quote",
        "max_context": context_of_model(str(given.get("model")), catalog),
    }
    relay = Relay(id=spec.name, latency_source=_source(path), **({"source": _source(path)} | defaults | given))
    return with_prefill(relay, catalog.models)


def context_of_model(model: str, catalog: Catalog) -> int:
    """Longest prompt and answer that a relay of `model` takes where no one says: that of the model, else the shortest that any row of the
    catalogue states for it, else the default of a relay.
    """
    if model in catalog.models:
        return catalog.models[model].max_context
    return min((row.max_context for row in catalog.relays.values() if row.model == model), default=Relay.max_context)


def _source(path: Path, row: Source | None = None) -> Source:
    """The user's own file as source; what it overrides is named in the note."""
    note = f"overrides {row.title} ({row.date})" if row else ""
    return Source(title=f"{path.name}, written by the user", date=row.date if row else "", note=note)


def _warnings(spec: ScenarioSpec, classes: tuple[RequestClass, ...], offers: tuple[Offer, ...], relays: tuple[Relay, ...]) -> list[str]:
    """What is allowed but looks like a slip: patterns that match nothing, classes that no candidate may serve."""
    names = [each for offer in offers for each in (offer.id, offer.provider)]
    names += [each for relay in relays for each in (relay.id, relay.vendor)]
    found = []
    for key in ("allow", "deny"):
        for pattern in getattr(spec.policy, key):
            if not any(fnmatchcase(name, pattern) for name in names):
                found.append(f'policy.{key}: "{pattern}" matches no offer, relay, provider or vendor of this scenario')
    for relay in relays:
        if (relay.usd_per_mtok_batch_input is None) != (relay.usd_per_mtok_batch_output is None):
            found.append(f"relay {relay.id}: only one of usd_per_mtok_batch_input and usd_per_mtok_batch_output is set; no batches")
    served = {relay.model for relay in relays}
    for each in classes:
        if not offers and not served & set(each.models):
            found.append(f"request class {each.name}: no offer, and no relay serves {', '.join(each.models)}")
    return found + _long_promises(classes) + _places_left_out(classes, offers, relays)


NAMED = 6  # places that a warning names


def _places_left_out(classes: tuple[RequestClass, ...], offers: tuple[Offer, ...], relays: tuple[Relay, ...]) -> list[str]:
    """What `data_residency` rules out, by place, for each set of regions that a class asks for."""
    found = []
    for places in dict.fromkeys(each.data_residency for each in classes if each.data_residency):
        models = {model for each in classes if each.data_residency == places for model in each.models}
        mine = [relay for relay in relays if not models or relay.model in models]
        out = [relay.id for relay in mine if not set(places) & set(relay.residency)]
        hosts = [offer.id for offer in offers if not set(places) & set(offer.residency)]
        if out or hosts:
            kinds = (("relay", mine, out), ("offer", list(offers), hosts))
            told = [f"{len(lost)} of {counted(len(rows), noun)} ({_first(lost)})" for noun, rows, lost in kinds if lost]
            found.append(f"data must stay in {' or '.join(places)}: {' and '.join(told)} state another place or none, and are left out")
    return found


def _first(names: list[str]) -> str:
    """The first names, and how many more there are."""
    return ", ".join(names[:NAMED]) + (f" and {len(names) - NAMED} more" if len(names) > NAMED else "")


def _long_promises(classes: tuple[RequestClass, ...]) -> list[str]:
    """Limits of chats that no user would wait for; batches and embeddings may."""
    return [
        f"request_classes.{each.name}.slo.{s.metric}.p{100 * s.quantile:g}: {s.limit_s:g} seconds is long for a chat; "
        f"is {s.limit_s:g} milliseconds meant? write {s.limit_s / 1000:g}; if not, write `kind: batch`, which says that no user waits"
        for each in classes
        for s in each.slo
        if each.kind == "chat" and s.limit_s > LONGEST_PLAUSIBLE_S.get(s.metric, float("inf"))
    ]
