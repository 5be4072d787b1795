"""Faults that only two values together show, each with its place and what would be right."""

from __future__ import annotations

from pathlib import Path

import pytest

from sim.scenario import load_scenario

from .helpers import GOOD, broken, problems, write

RELAYS, OFFERS = "[deepinfra.llama-3.1-8b]", "[aws.g6e.xlarge]"
MINE = "{name: mine, model: llama-3.1-8b, usd_per_mtok_input: 1, usd_per_mtok_output: 1, ttft_p50_s: 0.3, tokens_per_s: 50"
FAULTS = {
    "shares that no last one mends": (
        GOOD.replace("share: 0.6", "share: 1.0").replace("share: 0.4", "share: 0.9"),
        "request_classes: the shares sum to 1.9; write shares whose sum is 1",
    ),
    "one quantile twice": (
        broken("ttft: {p95: 1.0}", "ttft: {p95: 1.0, p95.0: 2.0}"),
        "request_classes.0.slo.ttft.p95.0: is the same quantile as p95; keep one",
    ),
    "a model with two factors": (
        GOOD.replace("models: [llama-3.1-8b]", "models: [llama-3.1-8b, {name: llama-3.1-8b, input_token_factor: 1.1}]", 1),
        'request_classes.0.models.1: "llama-3.1-8b" is named twice, with other factors; keep one entry',
    ),
    "no prompt": (
        broken("    input_tokens: 500\n", ""),
        "request_classes.0: has no prompt length; write `input_tokens: 500` or `conversation: {...}`",
    ),
    "two prices": (
        broken(OFFERS, "[{name: aws.g6e.xlarge, usd_per_hour: 1, usd_per_month: 700}]"),
        "candidates.offers.0.usd_per_month: stands beside usd_per_hour; write one price",
    ),
    "a purchase of what is rented": (
        broken(OFFERS, "[{name: aws.g6e.xlarge, purchase_usd: 9, term: spot}]"),
        'candidates.offers.0.purchase_usd: is a price to buy hosts, and `term` is "spot"; write term: owned, or leave it out',
    ),
    "an offer of no price": (
        broken(OFFERS, "[{name: mine, gpu: l40s}]"),
        'candidates.offers.0.name: "mine" is no offer of the catalogue; known: ',
    ),
    "a relay that lacks what is needed": (
        broken(RELAYS, "[{name: mine, model: llama-3.1-8b, usd_per_mtok_input: 1}]"),
        "a new relay needs usd_per_mtok_output, ttft_p50_s, tokens_per_s",
    ),
    "an offer twice": (
        broken(OFFERS, "[aws.g6e.xlarge, {name: aws.g6e.xlarge, stock: 2}]"),
        'candidates.offers.1.name: "aws.g6e.xlarge" is used twice; write another name',
    ),
    "an account of no relay": (
        GOOD + "policy: {relay_accounts: [{relay: groq.llama-3.1-8b}]}\n",
        'policy.relay_accounts.0.relay: "groq.llama-3.1-8b" is no relay of this scenario; nearest: deepinfra.llama-3.1-8b',
    ),
    "a share of no vendor": (
        GOOD + "policy: {max_vendor_share: {deepinfraa: 0.5}}\n",
        'policy.max_vendor_share.deepinfraa: "deepinfraa" is no vendor of a relay; nearest: deepinfra',
    ),
    "data that no place keeps": (
        GOOD + "policy: {data_residency: [atlantis]}\n",
        'policy.data_residency.0: "atlantis" is stated by no offer or relay; ',
    ),
    "a class that no place keeps": (
        broken("name: faq", "name: faq\n    data_residency: [eu, atlantis]"),
        'request_classes.1.data_residency.1: "atlantis" is stated by no offer or relay; ',
    ),
    "a range of no key": (
        GOOD + "ranges: {trafic.rate_rps: [1, 2]}\n",
        'ranges.trafic.rate_rps: "trafic.rate_rps" is no key of a scenario; nearest: traffic',
    ),
    "a future without what is sold by none": (
        GOOD + "futures: [{name: later, retired: [main, gpt-0]}]\n",
        'futures.0.retired.1: "gpt-0" is sold by no relay; ',
    ),
    "hosts of no offer": (
        GOOD + "commitments: [{name: a, hold: {aws.g6e.xlrage: 1}}, {name: b}]\n",
        'commitments.0.hold.aws.g6e.xlrage: "aws.g6e.xlrage" is no offer of the scenario or the catalogue; nearest: aws.g6e.xlarge',
    ),
    "fewer tokens than sequences": (
        GOOD + "engine: {max_num_batched_tokens: 8, max_num_seqs: 16}\n",
        "engine.max_num_batched_tokens: 8 batched tokens are fewer than 16 sequences; write max_num_batched_tokens >= max_num_seqs",
    ),
    "more sequences than the engine batches tokens": (
        GOOD + "engine: {max_num_seqs: 100000}\n",
        "engine.max_num_seqs: ",
    ),
    "measured rates of no offers": (
        broken(f"  offers: {OFFERS}\n", "  measured_capacity: s.yaml\n"),
        "candidates.measured_capacity: needs `offers`; write those that the file names, with prices",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", FAULTS)
def test_what_two_values_contradict_is_one_line(case: str, tmp_path: Path) -> None:
    text, said = FAULTS[case]
    (line,) = problems(write(tmp_path, text))
    assert said in line, line


GOOD_PAIRS = {
    "an offer by the month": broken(OFFERS, "[{name: mine, gpu: l40s, usd_per_month: 700}]"),
    "an offer by the GPU": broken(OFFERS, "[{name: mine, gpu: l40s, gpus: 2, usd_per_gpu_hour: 1}]"),
    "own hosts": broken(OFFERS, "[{name: mine, gpu: l40s, purchase_usd: 9000}]"),
    "own hosts by name": broken(OFFERS, "[{name: mine, gpu: l40s, purchase_usd: 9000, term: owned}]"),
    "a model twice with one meaning": GOOD.replace("models: [llama-3.1-8b]", "models: [llama-3.1-8b, llama-3.1-8b]", 1),
    "a vendor of the file": broken(RELAYS, f"[{MINE}, vendor: me}}]") + "policy: {max_vendor_share: {me: 0.5, '*': 0.5}}\n",
    "a relay of the file as vendor": broken(RELAYS, f"[{MINE}}}]") + "policy: {max_vendor_share: {mine: 0.5}}\n",
    "a place of the file": broken(RELAYS, f"[{MINE}, residency: [moon]}}]").replace("name: faq", "name: faq\n    data_residency: [moon]"),
    "an account of the file": broken(RELAYS, f"[{MINE}}}]") + "policy: {relay_accounts: [{relay: mine, committed_usd: 5}]}\n",
    "an offer of the file that is held": broken(OFFERS, "[{name: mine, gpu: l40s, usd_per_hour: 1, term: reserved_1y}]")
    + "commitments: [{name: a, hold: {mine: 1}}, {name: b}]\n",
    "a model of the file that is retired": broken(RELAYS, f"[{MINE.replace('llama-3.1-8b', 'house')}}}]").replace(
        "models: [llama-3.1-8b]\n    slo", "models: [llama-3.1-8b, house]\n    slo"
    )
    + "futures: [{name: later, retired: [house, main]}]\n",
    "a range of a factor": GOOD + "ranges: {factor.users: [0.5, 2], traffic.rate_rps: [1, 9]}\n",
    "as many tokens as sequences": GOOD + "engine: {max_num_batched_tokens: 16, max_num_seqs: 16}\n",
    "shares that sum up to rounding": GOOD.replace("share: 0.6", "share: 0.6000004"),
}


@pytest.mark.parametrize("case", GOOD_PAIRS)
def test_what_goes_together_is_read(case: str, tmp_path: Path) -> None:
    assert load_scenario(write(tmp_path, GOOD_PAIRS[case])).name == "small"


def test_the_share_that_would_fit_is_that_of_the_last_class(tmp_path: Path) -> None:
    (line,) = problems(write(tmp_path, GOOD.replace("share: 0.6", "share: 0.9")))
    assert line.endswith('the shares sum to 1.3; write shares whose sum is 1, such as 0.1 for "faq"')


def test_shares_that_are_no_shares_are_told_themselves_and_not_their_sum(tmp_path: Path) -> None:
    (line,) = problems(write(tmp_path, GOOD.replace("share: 0.6", "share: half")))
    assert "request_classes.0.share" in line and "sum" not in line
