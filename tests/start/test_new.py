"""`servemix new` from end to end: what it writes agrees with what it was given, and its ranking is computed, not listed."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from cli import app
from optimize.estimate.new_scenario import NewScenario, new_scenario
from optimize.estimate.rough_prices import Pricer, price_row
from optimize.money import relay_request_usd, requests_per_month
from optimize.report.terminal.render_new_scenario import new_json, render_new
from sim.catalog.loader import load_catalog
from sim.errors import InputError
from sim.scenario import load_scenario
from sim.start.answers import Answers
from sim.traffic import demand
from tests.shared_data import shared_data

CATALOG = load_catalog()


def made(tmp_path: Path, answers: Answers, log: Path | None = None, force: bool = False) -> NewScenario:
    return new_scenario(answers, tmp_path / f"{answers.name}.yaml", CATALOG, log, force, lambda _: None)


@pytest.mark.parametrize(
    ("model", "bill", "currency", "mix"),
    [
        ("gpt-4.1", 42_000, "USD", "chat"),
        ("claude-sonnet-4.5", 900, "EUR", "code"),
        ("deepseek-v3.2", 3e6, "CNY", "reasoning"),
        ("llama-3.3-70b", 7, "USD", "chat"),
    ],
)
def test_the_bill_computed_again_from_the_file_is_the_bill(tmp_path: Path, model: str, bill: float, currency: str, mix: str) -> None:
    new = made(tmp_path, Answers("bill", users=1e6, models=(model,), bill=bill, currency=currency, mix=mix))
    scenario = load_scenario(new.path)
    asked, row = demand(scenario), price_row(model, CATALOG)
    requests = requests_per_month(asked.mean_rps[0], asked.weight_h)
    usd = requests * relay_request_usd(row, float(asked.input_tokens[0]), 0.0, float(asked.output_tokens[0]))
    assert usd / CATALOG.fx_usd.get(currency, 1.0) == pytest.approx(bill, rel=0.02)
    assert scenario.budget.per_month == pytest.approx(bill) and scenario.budget.currency == currency
    assert new.recomputed_usd == pytest.approx(usd, rel=1e-6)


def test_twice_the_bill_is_twice_the_volume(tmp_path: Path) -> None:
    one = made(tmp_path, Answers("one", models=("gpt-4.1",), bill=1000))
    two = made(tmp_path, Answers("two", models=("gpt-4.1",), bill=2000))
    assert two.quick.requests.sum() == pytest.approx(2 * one.quick.requests.sum(), rel=1e-4)


def test_the_ranking_is_by_what_each_end_costs(tmp_path: Path) -> None:
    new = made(tmp_path, Answers("mine", models=("gpt-4.1",), bill=42_000, users=1e6))
    swings = [each.swing for each in new.effects]
    assert swings == sorted(swings, reverse=True)
    first = new.effects[0]
    assert first.gap.path == "request_classes.0.models"
    only = Pricer().quick(load_scenario(new.path, [f"{first.gap.path}={first.gap.low}"]))
    assert first.low[1] == pytest.approx(only.best[1] * 42_000 / only.at_row(price_row("gpt-4.1", CATALOG)))
    assert first.swing == pytest.approx(first.low[1] / new.quick.best[1], rel=1e-6)


def test_another_model_has_another_ranking(tmp_path: Path) -> None:
    dear = made(tmp_path, Answers("dear", models=("gpt-4.1",), users=1e5))
    cheap = made(tmp_path, Answers("cheap", models=("llama-3.1-8b",)))
    assert [each.gap.path for each in dear.effects] != [each.gap.path for each in cheap.effects]
    assert cheap.effects[0].gap.path == "traffic.daily_active_users"


def test_a_budget_that_nobody_gave_is_enough_for_relays(tmp_path: Path) -> None:
    new = made(tmp_path, Answers("mine", users=1e5))
    assert load_scenario(new.path).budget.per_month == pytest.approx(1.2 * new.quick.relays_usd, rel=1e-3)


def test_nothing_is_written_when_anything_is_wrong(tmp_path: Path) -> None:
    for answers, log, words in [
        (Answers("a", bill=5.0), None, "needs the one model"),
        (Answers("a", bill=5.0, models=("llama-2-13b",)), None, "the catalogue has no seller of"),
        (Answers("a", models=("nope",)), None, "no model of the catalogue"),
        (Answers("a", bill=5.0, models=("gpt-4.1",)), tmp_path / "x", "leave one out"),
        (Answers("a"), tmp_path / "absent.csv", "there is no such file"),
        (Answers("a", models=("bge-m3",)), None, "makes embeddings"),
        (Answers("a", tpot_s=1e-9), None, "keeps these promises"),
    ]:
        with pytest.raises(InputError, match=words):
            made(tmp_path, answers, log)
        assert list(tmp_path.iterdir()) == []


def test_a_log_elsewhere_is_found_from_the_scenario(tmp_path: Path) -> None:
    (tmp_path / "logs").mkdir()
    (tmp_path / "out").mkdir()
    lines = [f"{k * 0.7:.2f},{500 + k % 50},{60 + k % 9}" for k in range(600)]
    (tmp_path / "logs" / "mine.csv").write_text("arrival_s,input_tokens,output_tokens\n" + "\n".join(lines))
    new = made(tmp_path / "out", Answers("mine"), tmp_path / "logs" / "mine.csv")
    assert '"../logs/mine.csv"' in new.text
    assert demand(load_scenario(new.path)).mean_rps.sum() == pytest.approx(1 / 0.7, rel=0.01)


def test_a_gateway_log_gives_its_model_and_its_spend(tmp_path: Path) -> None:
    row = {"prompt_tokens": 800, "completion_tokens": 90, "model": "openai/gpt-4.1-2025-04-14", "spend": 0.002, "user": "ana@example.org"}
    lines = [json.dumps(row | {"startTime": f"2026-05-01T00:{k // 60:02d}:{k % 60:02d}.{k % 7}Z"}) for k in range(900)]
    (tmp_path / "spend.jsonl").write_text("\n".join(lines))
    new = made(tmp_path, Answers("gateway"), tmp_path / "spend.jsonl")
    scenario = load_scenario(new.path)
    assert scenario.request_classes[0].models == ("gpt-4.1", "llama-3.3-70b")
    assert scenario.budget.per_month == pytest.approx(900 * 0.002 * 730 / 0.25, rel=0.02)  # a quarter of an hour
    assert "ana@example.org" not in new.text


def test_public_traces_start_scenarios(tmp_path: Path) -> None:
    for k, name in enumerate(("azure_llm_2023_conv.csv.gz", "mooncake_fast25_conversation.jsonl.gz")):
        new = made(tmp_path, Answers(f"trace{k}"), shared_data(f"traces/{name}"))
        assert load_scenario(new.path).request_classes and new.filled


def test_text_and_json_say_the_same(tmp_path: Path) -> None:
    new = made(tmp_path, Answers("mine", models=("gpt-4.1",), bill=42_000))
    text, answer = render_new(new), new_json(new)
    assert "42,000 USD (+0.00% of yours)" in text and answer["bill"] == 42_000
    assert answer["recomputed_bill"] == pytest.approx(42_000, rel=0.02) and answer["price_row"] == "openai.gpt-4.1"
    assert [each["key"] for each in answer["missing_inputs"]] == [each.gap.path for each in new.effects]
    assert max(map(len, text.splitlines())) < 140
    assert json.loads(json.dumps(answer, allow_nan=False)) == answer
    assert render_new(replace(new, effects=())).count("Missing inputs") == 0


def test_the_command_writes_once_and_exits_2_after_that(tmp_path: Path) -> None:
    out = tmp_path / "s.yaml"
    command = ["new", "shop", "--out", str(out), "--from-bill", "42k", "--model", "gpt-4.1", "--users", "1M", "--json"]
    first = CliRunner().invoke(app, command)
    assert first.exit_code == 0 and json.loads(first.stdout)["scenario"] == str(out)
    again = CliRunner().invoke(app, command)
    assert isinstance(again.exception, InputError) and "--force" in str(again.exception)
    assert CliRunner().invoke(app, [*command, "--force"]).exit_code == 0


@pytest.mark.slow
@pytest.mark.parametrize("options", [["--from-bill", "42000", "--model", "gpt-4.1", "--users", "1e6"], ["--users", "20000"]])
def test_what_is_written_optimises_without_an_edit(tmp_path: Path, options: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SERVEMIX_CACHE_DIR", str(tmp_path / "cache"))
    out = tmp_path / "s.yaml"
    assert CliRunner().invoke(app, ["new", "mine", "--out", str(out), *options]).exit_code == 0
    assert CliRunner().invoke(app, ["optimize", str(out), "--json"]).exit_code == 0


def test_a_bill_with_cached_input_bought_more_requests(tmp_path: Path) -> None:
    new = made(tmp_path, Answers("mine", models=("gpt-4.1",), bill=42_000))
    (effect,) = [each for each in new.effects if each.gap.path == "bill.cached_share"]
    row = price_row("gpt-4.1", CATALOG)
    asked, answered = new.quick.lengths[0]
    cheap = relay_request_usd(row, asked, 0.8 * asked, answered)
    assert effect.swing == pytest.approx(relay_request_usd(row, asked, 0.0, answered) / cheap)
    assert effect.high[1] == pytest.approx(effect.low[1] * effect.swing)
    undiscounted = made(tmp_path, Answers("plain", models=("llama-3.1-70b",), bill=10))
    assert price_row("llama-3.1-70b", CATALOG).usd_per_mtok_cached is not None or all(
        each.gap.path != "bill.cached_share" for each in undiscounted.effects
    )


def test_a_large_model_is_not_only_offered_hosts_of_eight_cards(tmp_path: Path) -> None:
    """Else self-hosting looks four times as dear as it is: one H200 holds a 70B model in 8 bits, with room for requests."""
    scenario = load_scenario(made(tmp_path, Answers("large", models=("llama-3.3-70b",), bill=5000)).path)
    weights = CATALOG.models["llama-3.3-70b"].parameters
    roomy = [each for each in scenario.offers if each.gpus * CATALOG.gpus[each.gpu].memory_bytes > 1.5 * weights]
    assert min(each.gpus for each in roomy) == 1
