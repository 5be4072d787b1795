"""Where data must stay: the catalogue has endpoints that say where they are, and a scenario says what it leaves out."""

from __future__ import annotations

from pathlib import Path

import pytest

from sim.catalog.loader import load_catalog
from sim.scenario import load_scenario

TEXT = """
name: r
traffic: {{rate_rps: 1}}
request_classes:
  - {{name: a, share: 1, input_tokens: 500, output_tokens: 100, models: [{model}], slo: {{ttft: {{p95: 5}}}}}}
policy: {{data_residency: [{place}]}}
budget: {{per_month: 5000, currency: {currency}}}
"""


@pytest.mark.parametrize(
    "model", ["llama-3.1-8b", "llama-3.3-70b", "gpt-oss-120b", "qwen3-32b", "gpt-4.1", "claude-haiku-4.5", "deepseek-v3.2"]
)
def test_common_models_have_a_relay_that_states_the_eu(model: str) -> None:
    rows = [row for row in load_catalog().relays.values() if row.model == model and "eu" in row.residency]
    assert rows and all(row.note and row.source.date for row in rows)


@pytest.mark.parametrize(("place", "model"), [("uk", "qwen3-next-80b-a3b"), ("in", "deepseek-v3.2"), ("cn", "deepseek-v4-flash")])
def test_other_places_have_a_relay_too(place: str, model: str) -> None:
    assert any(row.model == model and place in row.residency for row in load_catalog().relays.values())


def test_what_a_place_leaves_out_is_told(tmp_path: Path) -> None:
    file = tmp_path / "r.yaml"
    file.write_text(TEXT.format(model="llama-3.3-70b", place="eu", currency="EUR"))
    told = [each for each in load_scenario(file).warnings if each.startswith("data must stay in eu")]
    assert len(told) == 1 and "deepinfra.llama-3.3-70b" in told[0] and "relays" in told[0] and "offers" in told[0]


@pytest.mark.parametrize("currency", ["GBP", "JPY", "INR", "CHF", "EUR", "CNY", "USD"])
def test_budgets_may_be_in_these_currencies(tmp_path: Path, currency: str) -> None:
    file = tmp_path / "r.yaml"
    file.write_text(TEXT.format(model="llama-3.3-70b", place="eu", currency=currency))
    assert load_scenario(file).budget.currency == currency
