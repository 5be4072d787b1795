"""From a probe to a scenario: the profile is read, overridden, simulated; what is wrong with one is told with its line."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from sim.calibration.points import load_points
from sim.catalog.relay_records import Outages, RetryPolicy
from sim.errors import InputError
from sim.probe.attempts import Caps, Patience, Prices
from sim.probe.options import Asked, numbers, prices_of, probe_and_write, server_of, setup_of
from sim.scenario import load_scenario
from sim.scenario.scenario import Scenario
from sim.traffic.readers import read_log
from tests.probe.server import Answer, serving
from tests.probe.test_probe import QUICK, quiet, setup_for

ROOT = Path(__file__).resolve().parents[2]
SCENARIO = """
name: s
traffic: {rate_rps: 5}
request_classes:
  - {name: chat, share: 1.0, input_tokens: 100, output_tokens: 20, models: [my-model], slo: {ttft: {p95: 2.0}}}
candidates:
  offers: []
  relays:
    - RELAY
budget: {per_month: 1000}
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A probe's files, of an endpoint that fails now and then."""
    out = tmp_path_factory.mktemp("probe")
    told = {"x-ratelimit-limit-requests": "600"}
    server_says = server_of("l40s", "fp8", "llama-3.1-8b", 1, "vllm", "0.20.1")

    def behave(n: int, _: object) -> Answer:
        return (
            Answer(status=503) if n % 10 == 9 else Answer(torn_after=1) if n % 10 == 4 else Answer(ttft_s=0.02, gap_s=0.002, headers=told)
        )

    with serving(behave) as server:
        setup = setup_for(server, prices=Prices(0.1, 0.4, 0.05), limits="headers", patience=QUICK)
        said = probe_and_write(setup, "none", Asked(out, "my-model", "my-relay", server_says), quiet)
    assert said["requests"]["ok"] == 20 and json.loads((out / "probe.json").read_text()) == said
    return out


def load(folder: Path, relay: str, *settings: str) -> Scenario:
    path = folder / "s.yaml"
    path.write_text(SCENARIO.replace("RELAY", relay))
    return load_scenario(path, settings)


def test_a_profile_is_a_relay_with_prices_limits_shares_and_laws(folder: Path) -> None:
    relay = load(folder, "{profile: relay.yaml}").relays[0]
    assert (relay.id, relay.model, relay.rpm, relay.vendor) == ("my-relay", "my-model", 600.0, "127.0.0.1")
    assert (relay.usd_per_mtok_input, relay.usd_per_mtok_output, relay.usd_per_mtok_cached) == (0.1, 0.4, 0.05)
    assert 0.05 < relay.error_share < 0.2 and 0.05 < relay.torn_share < 0.2
    assert relay.latency is not None and relay.latency.ttft.samples == 20 and relay.ttft_p50_s > 0.02


def test_what_the_scenario_writes_wins_over_the_profile(folder: Path) -> None:
    own = "{profile: relay.yaml, rpm: 5, ttft_p50_s: 1.5, outages: {every_h: 100, minutes: 5}, retry: {attempts: 2, budget_share: 0.1}}"
    relay = load(folder, own).relays[0]
    assert relay.rpm == 5 and relay.ttft_p50_s == 1.5
    assert relay.latency is None  # the measured laws would have hidden the user's own figure
    assert relay.outages == Outages(5.0, every_h=100.0)
    assert relay.retry == RetryPolicy(attempts=2, budget_share=0.1)


def test_the_digest_of_a_scenario_follows_its_profile(folder: Path) -> None:
    before = load(folder, "{profile: relay.yaml}").digest
    (folder / "other.yaml").write_text((folder / "relay.yaml").read_text().replace("rpm: 600.0", "rpm: 601.0"))
    assert load(folder, "{profile: other.yaml}").digest != before


def test_an_override_can_name_a_profile_and_its_relay(folder: Path) -> None:
    by_name = load(folder, "{profile: relay.yaml}", "candidates.relays.my-relay.outages={at_min: 20, minutes: 10}")
    assert by_name.relays[0].outages == Outages(10.0, at_s=1200.0)
    appended = load(folder, "deepinfra.llama-3.1-8b-turbo", "candidates.relays=+{profile: relay.yaml}")
    assert appended.relays[1].id == "my-relay"


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("servemix_relay_profile: 1", "servemix_relay_profile: 9", "is no relay profile"),
        ("rpm: 600.0", "rpm: fast", r"broken.yaml:\d+:\d+: candidates.relays.0.rpm"),
        ("rpm: 600.0", "speed: 600.0", r"broken.yaml:\d+:\d+: candidates.relays.0.speed"),
        ("family:", "family: gamma #", r"broken.yaml:\d+:\d+: candidates.relays.0.latency"),
        ("usd_per_mtok_input: 0.1\n", "", "usd_per_mtok_input"),
    ],
)
def test_faults_of_a_profile_are_told_with_their_place(folder: Path, old: str, new: str, said: str) -> None:
    text = (folder / "relay.yaml").read_text()
    assert old in text
    (folder / "broken.yaml").write_text(text.replace(old, new, 1))
    with pytest.raises(InputError, match=said):
        load(folder, "{profile: broken.yaml}")
    with pytest.raises(InputError, match="there is no such file"):
        load(folder, "{profile: none.yaml}")


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ("outages: {minutes: 5}", "needs one of at_min and every_h"),
        ("latency: {ttft: {family: lognormal, parameters: [1]}, tpot: {family: lognormal, parameters: [0.01, 0.1]}}", "has 2 parameters"),
        (
            "latency: {ttft: {family: empirical, points: [[0, 1], [0.5, 0.5]]}, tpot: {family: lognormal, parameters: [1, 1]}}",
            "both rising",
        ),
        ("retry: {attempts: 0}", "retry.attempts"),
    ],
)
def test_behaviour_that_makes_no_sense_is_told(folder: Path, keys: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        load(folder, f"{{name: deepinfra.llama-3.1-8b-turbo, {keys}}}")


def test_the_request_log_can_be_replayed(folder: Path) -> None:
    log = read_log(folder / "requests.csv")
    assert log.kept == 20 and (log.input_tokens == 33).all()


def test_the_measurement_table_is_one_that_validate_reads(folder: Path) -> None:
    points = load_points(folder / "points.csv")
    assert [(p.gpu, p.model, p.weights, p.in_flight, p.scenario) for p in points] == [
        ("l40s", "llama-3.1-8b", "fp8", 4, "fixed_concurrency")
    ]
    assert points[0].measured["ttft"] > 0.02 and points[0].requests == 20


def test_the_attempts_file_holds_every_call(folder: Path) -> None:
    with (folder / "attempts.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == json.loads((folder / "probe.json").read_text())["spent"]["calls"]
    assert {row["outcome"] for row in rows} == {"ok", "server_error", "torn"}


def test_options_that_make_no_sense_are_told() -> None:
    rest = (10, "headers", Caps(), Patience(), None, 0, False, 1)
    for words, said in (
        (("chat", "500x100", "1", None, *rest), "--mix"),
        (("chat", "500/100", "1,x", None, *rest), "--concurrency"),
        (("speech", "500/100", "1", None, *rest), "--kind"),
        (("chat", "500/100", "1", None, 10, "guess", *rest[2:]), "--limits"),
    ):
        with pytest.raises(InputError, match=said):
            setup_of("http://h/v1", "m", *words)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="give both"):
        prices_of(None, 1.0, None, None)
    with pytest.raises(InputError, match="no relay of the catalogue"):
        prices_of("deepinfra.lama", None, None, None)
    with pytest.raises(InputError, match="--gpu and --weights"):
        server_of("l40s", None, "m", 1, "vllm", "")
    assert numbers("1,2", "--concurrency", whole=True) == (1, 2)
    assert prices_of("deepinfra.llama-3.1-8b-turbo", None, None, 0.01) == Prices(0.02, 0.04, 0.01)
