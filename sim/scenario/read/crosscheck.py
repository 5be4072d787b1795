"""Faults that only show when two values are seen together. Reads raw values, so that it also works in a file with other faults."""

from __future__ import annotations

import math
from typing import Any

from sim.catalog.facts import Catalog
from sim.engine.deployment import EngineLimits
from sim.scenario.read.document import Path, Problems, nearest, shown

SHARE_TOLERANCE = 1e-6
ROOTS = ("traffic", "request_classes", "candidates", "budget", "policy", "engine", "finance", "routing", "factor")  # of `ranges`


def crosscheck(problems: Problems, data: dict[str, Any], catalog: Catalog) -> None:
    """Shares that do not sum to 1, names used twice, entries that are neither a catalogue row nor a whole new one."""
    classes = _dicts(data.get("request_classes"))
    _shares(problems, classes)
    _twice(problems, [(("request_classes", i, "name"), each.get("name")) for i, each in classes])
    for index, each in classes:
        _one_prompt(problems, ("request_classes", index), each)
        _own_hosts(problems, ("request_classes", index), each, catalog)
        _models_twice(problems, ("request_classes", index, "models"), each.get("models"))
        _quantiles_twice(problems, ("request_classes", index, "slo"), each.get("slo"))
    candidates = data.get("candidates")
    if isinstance(candidates, dict):
        measured = candidates.get("measured_capacity") is not None
        offer_keys = ("usd_per_hour",) if measured else ("gpu", "usd_per_hour")
        _entries(problems, "offers", candidates, set(catalog.offers), offer_keys)
        relay_keys = ("model", "usd_per_mtok_input", "usd_per_mtok_output", "ttft_p50_s", "tokens_per_s")
        _entries(problems, "relays", candidates, set(catalog.relays), relay_keys)
        if candidates.get("offers") == [] and candidates.get("relays") == []:
            text = "offers nothing: both lists are empty; name an offer or a relay, or leave a list out for all of the catalogue"
            problems.add(("candidates",), text, of_key=True)
        if measured and not candidates.get("offers"):
            problems.add(
                ("candidates", "measured_capacity"),
                "needs `offers`; write those that the file names, with prices",
            )
    _engine(problems, data.get("engine"))
    _accounts(problems, data, catalog)
    _vendors(problems, data, catalog)
    _places(problems, data, catalog)
    _ranges(problems, data)
    _held(problems, data, catalog)


def _accounts(problems: Problems, data: dict[str, Any], catalog: Catalog) -> None:
    """Contracts name relays of this scenario."""
    policy, candidates = data.get("policy"), data.get("candidates")
    if not isinstance(policy, dict):
        return
    listed = candidates.get("relays") if isinstance(candidates, dict) else None
    known = set(catalog.relays)
    if isinstance(listed, list):
        known = {name for each in listed if isinstance(name := each.get("name") if isinstance(each, dict) else each, str)}
    for index, each in _dicts(policy.get("relay_accounts")):
        name = each.get("relay")
        if isinstance(name, str) and name not in known:
            path = ("policy", "relay_accounts", index, "relay")
            problems.add(path, f"{shown(name)} is no relay of this scenario; {nearest(name, known)}")


def _vendors(problems: Problems, data: dict[str, Any], catalog: Catalog) -> None:
    """Shares are of vendors that exist: a slip would leave the vendor that was meant unlimited."""
    policy = data.get("policy")
    shares = policy.get("max_vendor_share") if isinstance(policy, dict) else None
    known = {"*", *(row.vendor for row in catalog.relays.values()), *_written(data, "relays", "vendor"), *_written(data, "relays", "name")}
    for name in shares if isinstance(shares, dict) else ():
        if name not in known:
            path = ("policy", "max_vendor_share", str(name))
            problems.add(path, f"{shown(name)} is no vendor of a relay; {nearest(str(name), known)}", of_key=True)


def _places(problems: Problems, data: dict[str, Any], catalog: Catalog) -> None:
    """Data stays in places that some offer or relay states; else everything would be dropped for a slip."""
    known = {place for rows in (catalog.offers, catalog.relays) for row in rows.values() for place in row.residency}
    for kind in ("offers", "relays"):
        for place in _written(data, kind, "residency"):
            known |= {each for each in place if isinstance(each, str)} if isinstance(place, list) else set()
    policy = data.get("policy")
    wanted: list[tuple[Path, Any]] = [(("policy",), policy)] if isinstance(policy, dict) else []
    wanted += [(("request_classes", index), each) for index, each in _dicts(data.get("request_classes"))]
    for path, holder in wanted:
        places = holder.get("data_residency")
        for k, place in enumerate(places if isinstance(places, list) else ()):
            if isinstance(place, str) and place not in known:
                problems.add((*path, "data_residency", k), f"{shown(place)} is stated by no offer or relay; {nearest(place, known)}")


def _written(data: dict[str, Any], kind: str, key: str) -> list[Any]:
    """Values of `key` in the entries of the scenario's own list of offers or relays."""
    candidates = data.get("candidates")
    entries = _dicts(candidates.get(kind)) if isinstance(candidates, dict) else []
    return [value for _, each in entries if (value := each.get(key)) is not None and (key == "residency" or isinstance(value, str))]


def _ranges(problems: Problems, data: dict[str, Any]) -> None:
    """Ranges are of keys that scenarios have, or of factors."""
    ranges = data.get("ranges")
    for name in ranges if isinstance(ranges, dict) else ():
        root = str(name).partition(".")[0]
        if root not in ROOTS:
            problems.add(("ranges", str(name)), f"{shown(name)} is no key of a scenario; {nearest(root, ROOTS)}", of_key=True)


def _held(problems: Problems, data: dict[str, Any], catalog: Catalog) -> None:
    """Commitments hold offers that are known, futures retire models that somebody sells."""
    candidates = data.get("candidates")
    own = [each.get("name") for _, each in _dicts(candidates.get("offers") if isinstance(candidates, dict) else None)]
    offers = {*catalog.offers, *(name for name in own if isinstance(name, str))}
    for index, each in _dicts(data.get("commitments")):
        hold = each.get("hold")
        for name in hold if isinstance(hold, dict) else ():
            if isinstance(name, str) and name not in offers:
                path = ("commitments", index, "hold", name)
                problems.add(path, f"{shown(name)} is no offer of the scenario or the catalogue; {nearest(name, offers)}", of_key=True)
    sellers = _dicts(candidates.get("relays") if isinstance(candidates, dict) else None)
    models = {"main", *(row.model for row in catalog.relays.values())}
    models |= {model for _, each in sellers if isinstance(model := each.get("model"), str)}
    for index, each in _dicts(data.get("futures")):
        retired = each.get("retired")
        for k, name in enumerate(retired if isinstance(retired, list) else ()):
            if isinstance(name, str) and name not in models:
                problems.add(("futures", index, "retired", k), f"{shown(name)} is sold by no relay; {nearest(name, models)}")


def _dicts(items: Any) -> list[tuple[int, dict[str, Any]]]:
    if not isinstance(items, list):
        return []
    return [(index, each) for index, each in enumerate(items) if isinstance(each, dict)]


def _number(value: Any) -> float:
    """The value, NaN where it is no number."""
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else math.nan


def _shares(problems: Problems, classes: list[tuple[int, dict[str, Any]]]) -> None:
    shares = [_number(each.get("share")) for _, each in classes]
    if not shares or not all(0 < share <= 1 for share in shares):
        return
    total = sum(shares)
    if abs(total - 1) > SHARE_TOLERANCE:
        rest = "; write shares whose sum is 1"
        fitting = shares[-1] + 1 - total
        if 0 < fitting <= 1:
            name = classes[-1][1].get("name")
            rest += f", such as {fitting:.6g} for {shown(name)}"
        problems.add(("request_classes",), f"the shares sum to {total:.6g}{rest}", of_key=True)


def _twice(problems: Problems, names: list[tuple[Path, Any]]) -> None:
    first: dict[str, Path] = {}
    for path, name in names:
        if isinstance(name, str) and first.setdefault(name, path) is not path:
            problems.add(path, f"{shown(name)} is used twice; write another name")


def _models_twice(problems: Problems, path: Path, models: Any) -> None:
    """A model stands once: two entries could contradict each other in their token factors."""
    names = [each.get("name") if isinstance(each, dict) else each for each in models] if isinstance(models, list) else []
    for index, name in enumerate(names):
        same = names.index(name) if isinstance(name, str) else index
        if same != index and models[same] != models[index]:
            problems.add((*path, index), f"{shown(name)} is named twice, with other factors; keep one entry")


def _quantiles_twice(problems: Problems, path: Path, slo: Any) -> None:
    """`p95` and `p95.0` are one promise."""
    for metric, limits in slo.items() if isinstance(slo, dict) else ():
        seen: dict[float, str] = {}
        for name in limits if isinstance(limits, dict) else ():
            quantile = _number_of(str(name)[1:])
            if quantile is not None and seen.setdefault(quantile, str(name)) != str(name):
                problems.add((*path, metric, name), f"is the same quantile as {seen[quantile]}; keep one", of_key=True)


def _number_of(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _one_prompt(problems: Problems, path: Path, each: dict[str, Any]) -> None:
    given = [key for key in ("input_tokens", "conversation") if each.get(key) is not None]
    if len(given) == 2:
        problems.add((*path, "conversation"), "stands together with input_tokens; write one of the two", of_key=True)
    if not given:
        problems.add(path, "has no prompt length; write `input_tokens: 500` or `conversation: {...}`")


def _own_hosts(problems: Problems, path: Path, each: dict[str, Any], catalog: Catalog) -> None:
    models = each.get("models")
    if each.get("self_hosted_only") is not True or not isinstance(models, list) or not catalog.models:
        return
    names = [model.get("name") if isinstance(model, dict) else model for model in models]
    named = [name for name in names if isinstance(name, str)]
    if named and len(named) == len(models) and not set(named) & set(catalog.models):
        problems.add((*path, "models"), f"none can be self-hosted; {nearest(named[0], catalog.models)}")


def _entries(problems: Problems, kind: str, candidates: dict[str, Any], known: set[str], new: tuple[str, ...]) -> None:
    entries = candidates.get(kind)
    if not isinstance(entries, list):
        return
    root: Path = ("candidates", kind)
    noun = kind.removesuffix("s")
    named: list[tuple[Path, Any]] = []
    for index, entry in enumerate(entries):
        path = (*root, index)
        row = entry if isinstance(entry, dict) else {}
        name = row.get("name") if row else entry
        named.append(((*path, "name") if row else path, name))
        prices = [key for key in ("usd_per_hour", "usd_per_month", "usd_per_gpu_hour") if row.get(key) is not None]
        if len(prices) > 1:
            problems.add((*path, prices[1]), f"stands beside {prices[0]}; write one price", of_key=True)
        if row.get("purchase_usd") is not None and row.get("term") not in (None, "owned"):
            problems.add(
                (*path, "purchase_usd"), f"is a price to buy hosts, and `term` is {shown(row['term'])}; write term: owned, or leave it out"
            )
        if not isinstance(name, str) or name in known:
            continue
        other = ("purchase_usd", "usd_per_month", "usd_per_gpu_hour")
        bought = {"usd_per_hour"} if any(row.get(key) is not None for key in other) else set()  # the price by the hour follows
        lacking = [key for key in new if row.get(key) is None and key not in bought]
        if lacking:
            text = f"{shown(name)} is no {noun} of the catalogue; {nearest(name, known)}; a new {noun} needs {', '.join(lacking)}"
            problems.add(named[-1][0], text)
    _twice(problems, named)


def _engine(problems: Problems, engine: Any) -> None:
    if not isinstance(engine, dict):
        return
    defaults = EngineLimits()
    tokens = _number(engine.get("max_num_batched_tokens", defaults.max_num_batched_tokens))
    seqs = _number(engine.get("max_num_seqs", defaults.max_num_seqs))
    if tokens < seqs:
        key = "max_num_batched_tokens" if "max_num_batched_tokens" in engine else "max_num_seqs"
        text = f"{tokens:g} batched tokens are fewer than {seqs:g} sequences; write max_num_batched_tokens >= max_num_seqs"
        problems.add(("engine", key), text)
