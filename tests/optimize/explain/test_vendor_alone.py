"""A line for each vendor of relays: its price, or the class that it cannot answer."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from pathlib import Path

from optimize.explain.vendor_alone import cheapest_first, vendor_alone, vendors
from optimize.plan import market_for
from optimize.records import Alternative
from optimize.search.known_market import Market
from sim.scenario import load_scenario

SCENARIO = Path(__file__).parents[3] / "scenarios/two_offers.yaml"


def sold(name: str, vendor: str, price: float, model: str = "llama-3.1-8b", ttft_s: float = 0.3) -> str:
    return (
        f"{{name: {name}, vendor: {vendor}, model: {model}, usd_per_mtok_input: {price}, usd_per_mtok_output: {price}, "
        f"ttft_p50_s: {ttft_s}, tokens_per_s: 200}}"
    )


@lru_cache
def market() -> Market:
    """Two classes, four vendors: one cheap, one dear, one too slow, one with a model that only the first class accepts."""
    each = "{name: %s, share: 0.5, input_tokens: 500, output_tokens: 100, models: [%s], slo: {ttft: {p95: 2}}}"
    relays = ", ".join(
        [sold("a", "dear", 1.0), sold("b", "cheap", 0.1), sold("c", "slow", 0.01, ttft_s=9.0), sold("d", "other", 0.01, "llama-3.3-70b")]
    )
    settings = (
        f"request_classes=[{each % ('chat', 'llama-3.1-8b, llama-3.3-70b')}, {each % ('faq', 'llama-3.1-8b')}]",
        f"candidates={{offers: [], relays: [{relays}]}}",
        "traffic={rate_rps: 1}",
    )
    return market_for(load_scenario(SCENARIO, settings, None), jobs=1)[0]


def test_each_vendor_has_a_line_cheapest_first_and_a_reason_where_it_cannot() -> None:
    given = market()
    found = cheapest_first(vendor_alone(each, None, given) for each in vendors(given))
    assert [each.name.split()[2] for each in found[:2]] == ["cheap", "dear"]
    cheap, dear = found[0].per_month_usd, found[1].per_month_usd
    assert cheap is not None and dear is not None and abs(dear / cheap - 10) < 0.01
    notes = {each.name.split()[2]: each.note for each in found[2:]}
    assert notes["other"] == "it has no relay that may answer faq"
    assert notes.get("slow")


def test_a_single_vendor_needs_no_line_of_its_own() -> None:
    given = market()
    assert vendors(given) == ["cheap", "dear", "other", "slow"]
    assert vendors(replace(given, relays=given.relays[:1])) == []


def test_what_cannot_be_comes_last() -> None:
    rows = [Alternative("a", "infeasible", None), Alternative("b", "within_budget", 2.0), Alternative("c", "over_budget", 1.0)]
    assert [each.name for each in cheapest_first(rows)] == ["c", "b", "a"]
