"""What a good file means."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from sim.catalog.loader import load_catalog
from sim.scenario import load_scenario, scenario_schema, shapes
from sim.scenario.read.measured import read_measured_capacity
from sim.scenario.scenario import ConstantTraffic, LogTraffic, SyntheticTraffic

from .helpers import GOOD, broken, problems, write

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("path", sorted((ROOT / "scenarios").glob("*.yaml")), ids=lambda path: path.stem)
def test_every_scenario_that_we_ship_loads_without_warnings(path: Path) -> None:
    scenario = load_scenario(path)
    warnings = scenario.warnings
    if path.stem == "route_by_task":  # its routing table names the models; how they differ is told
        warnings = tuple(w for w in warnings if "the same token counts are used" not in w and "rules out" not in w)
    assert scenario.name == path.stem and warnings == ()
    assert sum(each.share for each in scenario.request_classes) == pytest.approx(1)


def test_million_dau_has_218_million_requests_a_month_and_11000_in_the_peak_minute() -> None:
    traffic = load_scenario(ROOT / "scenarios/million_dau.yaml").traffic
    assert isinstance(traffic, SyntheticTraffic)
    weekday = traffic.daily_active_users * traffic.conversations_per_user * traffic.turns_per_conversation
    month = weekday * (5 + 2 * traffic.weekend_factor) / 7 * 730 / 24
    peak_rpm = weekday * max(traffic.hour_weights) / 60 * traffic.peak_minute_factor
    assert month == pytest.approx(218.3e6, rel=1e-3)
    assert peak_rpm == pytest.approx(11_025, rel=1e-3)


def test_million_dau_keeps_private_requests_at_home_and_sends_reasoning_to_relays() -> None:
    scenario = load_scenario(ROOT / "scenarios/million_dau.yaml")
    by_name = {each.name: each for each in scenario.request_classes}
    assert by_name["private"].self_hosted_only
    assert not set(by_name["reasoning"].models) & set(scenario.catalog.models)
    served = [relay for relay in scenario.relays if relay.model in by_name["reasoning"].models]
    assert served and all(relay.usd_per_mtok_cached is not None for relay in served)


def test_a_catalogue_row_keeps_what_the_user_does_not_change(tmp_path: Path) -> None:
    text = broken("[aws.g6e.xlarge]", "[{name: aws.g6e.xlarge, usd_per_hour: 1.5}]")
    (offer,) = load_scenario(write(tmp_path, text)).offers
    row = load_catalog().offers["aws.g6e.xlarge"]
    assert (offer.usd_per_hour, offer.gpu, offer.elastic) == (1.5, row.gpu, row.elastic)
    assert offer.source.note == f"overrides {row.source.title} ({row.source.date})"


def test_an_offer_and_a_relay_of_ones_own_can_be_written_out(tmp_path: Path) -> None:
    relay = "{name: mine, model: my-model, usd_per_mtok_input: 1, usd_per_mtok_output: 2, ttft_p50_s: 0.5, tokens_per_s: 50}"
    text = GOOD.replace("[aws.g6e.xlarge]", "[{name: lab, gpu: a10g, usd_per_hour: 1.01, stock: 8, elastic: true}]")
    text = text.replace("[deepinfra.llama-3.1-8b]", f"[{relay}]").replace("[llama-3.1-8b]", "[llama-3.1-8b, my-model]")
    scenario = load_scenario(write(tmp_path, text))
    assert (scenario.offers[0].gpus, scenario.offers[0].stock, scenario.offers[0].term) == (1, 8, "on_demand")
    assert (scenario.relays[0].vendor, scenario.relays[0].usd_per_mtok_cached, scenario.relays[0].grade) == ("mine", None, "quote")


def test_absent_candidates_mean_the_whole_catalogue(tmp_path: Path) -> None:
    text = broken("candidates:\n  offers: [aws.g6e.xlarge]\n  relays: [deepinfra.llama-3.1-8b]\n", "")
    scenario = load_scenario(write(tmp_path, text))
    assert scenario.offers == tuple(scenario.catalog.offers.values())
    assert scenario.relays == tuple(scenario.catalog.relays.values())


def test_three_kinds_of_traffic(tmp_path: Path) -> None:
    write(tmp_path, "arrival_s,input_tokens,output_tokens\n0,1,1\n", "log.csv")
    assert load_scenario(write(tmp_path, GOOD)).traffic == ConstantTraffic(5.0)
    replay = load_scenario(write(tmp_path, broken("{rate_rps: 5}", "{log: log.csv, scale: 2}"))).traffic
    assert replay == LogTraffic(tmp_path / "log.csv", 2.0)
    users = "{daily_active_users: 100, conversations_per_user: 1, turns_per_conversation: 2, day_shape: office}"
    week = load_scenario(write(tmp_path, broken("{rate_rps: 5}", users))).traffic
    assert isinstance(week, SyntheticTraffic) and week.hour_weights == shapes.load().days["office"]


def test_residency_of_the_policy_holds_for_classes_that_say_nothing(tmp_path: Path) -> None:
    text = GOOD.replace("    share: 0.4", "    share: 0.4\n    data_residency: [us]") + "policy: {data_residency: [eu]}\n"
    chat, faq = load_scenario(write(tmp_path, text)).request_classes
    assert (chat.data_residency, faq.data_residency) == (("eu",), ("us",))


def test_digest_sees_values_and_not_seed_comments_or_places(tmp_path: Path) -> None:
    here = load_scenario(write(tmp_path, GOOD))
    (tmp_path / "there").mkdir()
    there = load_scenario(write(tmp_path / "there", "# a comment\n" + GOOD))
    assert here.digest == there.digest
    assert here.digest != load_scenario(here.path, ["budget.per_month=1001"]).digest
    assert here.digest == load_scenario(here.path, seed=8).digest


def test_a_pattern_that_matches_nothing_is_warned_of(tmp_path: Path) -> None:
    (warning,) = load_scenario(write(tmp_path, GOOD + "policy: {deny: [azure*, aws]}\n")).warnings
    assert warning == 'policy.deny: "azure*" matches no offer, relay, provider or vendor of this scenario'


def test_a_promise_in_milliseconds_is_asked_about_unless_nobody_waits(tmp_path: Path) -> None:
    chat = write(tmp_path, GOOD)
    at = "request_classes.chat.slo"
    slip = [f"{at}.ttft={{p95: 1000}}", f"{at}.tpot={{p95: 60}}"]
    first, second = load_scenario(chat, slip).warnings
    assert first.startswith("request_classes.chat.slo.ttft.p95: 1000 seconds is long") and "1000 milliseconds meant? write 1;" in first
    assert second.startswith("request_classes.chat.slo.tpot.p95: 60 seconds is long") and "write 0.06;" in second
    assert load_scenario(chat, [f"{at}.ttft={{p95: 120}}", f"{at}.tpot={{p95: 10}}", f"{at}.e2e={{p95: 600}}"]).warnings == ()
    assert load_scenario(chat, [*slip, "request_classes.chat.kind=batch"]).warnings == ()


def test_merge_keys_of_yaml_work(tmp_path: Path) -> None:
    text = GOOD.replace("  - name: chat", "  - &first\n    name: chat").replace(
        "    input_tokens: 100\n    output_tokens: 50\n    models: [llama-3.1-8b]\n", "    <<: *first\n"
    )
    chat, faq = load_scenario(write(tmp_path, text)).request_classes
    assert (faq.name, faq.share, faq.input_tokens, faq.slo) == ("faq", 0.4, chat.input_tokens, chat.slo)


def test_melange_rates_are_those_of_the_published_example() -> None:
    rows = read_measured_capacity(load_scenario(ROOT / "scenarios/melange.yaml"))
    assert {(row.offer, row.class_name): row.rate_rps for row in rows}[("A100-80GB", "large-short")] == 40
    assert len(rows) == 8


def test_faults_of_a_capacity_file_are_told_at_once(tmp_path: Path) -> None:
    text = broken("[aws.g6e.xlarge]", "[{name: A10G, usd_per_hour: 1.01}, {name: B, usd_per_hour: 2}]")
    text = text.replace("budget:", "  measured_capacity: c.csv\nbudget:")
    write(tmp_path, "offer,class,rate_rps\nA10G,chat,2\nA10G,chat,3\nA10g,faq,-1\nA10G,faq,nan\nA10G,faq\n", "c.csv")
    assert problems(write(tmp_path, text)) == [
        "c.csv:3: row: repeats line 2; keep one",
        'c.csv:4: offer: "A10g" is no offer of the scenario; nearest: A10G',
        'c.csv:4: rate_rps: "-1" is not a finite number; write 0 or more',
        'c.csv:5: rate_rps: "nan" is not a finite number; write 0 or more',
        "c.csv:6: row: has 2 cells, the header 3; write one per column",
        'c.csv: offer "B" has no row; write its rates, 0 where it cannot serve',
    ]


def test_the_written_reference_is_up_to_date() -> None:
    written = (ROOT / "docs/reference/scenario.md").read_text(encoding="utf-8")
    assert written == scenario_schema(), "run: python -m sim.scenario.reference docs/reference/scenario.md"


def test_importing_the_room_does_not_load_pydantic_or_the_yaml_reader() -> None:
    code = "import sys, sim.scenario, sim.scenario.scenario; print('pydantic' in sys.modules, 'ruamel.yaml' in sys.modules)"
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert answer.stdout.split() == ["False", "False"]


def test_faults_of_a_measured_capacity_file_are_faults_of_the_scenario(tmp_path: Path) -> None:
    """They are told when the scenario is read, not after a minute of work."""
    text = (ROOT / "scenarios/melange.yaml").read_text(encoding="utf-8")
    rows = (ROOT / "scenarios/melange_capacity.csv").read_text(encoding="utf-8").split("\n")
    (tmp_path / "melange_capacity.csv").write_text("\n".join([rows[0], rows[1].rsplit(",", 1)[0] + ",-3", *rows[2:]]))
    (tmp_path / "melange.yaml").write_text(text)
    said = problems(tmp_path / "melange.yaml")
    assert any("melange_capacity.csv:2" in each and "-3" in each for each in said)
