"""Training runs: operations, memory by part, cards, and published runs inside the printed band."""

from __future__ import annotations

from typing import Any

import pytest

from optimize.estimate.adapters import adapter_parameters
from optimize.estimate.published_utilisation import PublishedRun, mfu_band, published_runs, whole_run_mfu
from optimize.estimate.training import TrainingEstimate, estimate_training, training_json
from optimize.estimate.training_memory import bytes_per_gpu, gathered_bytes, gpus_needed, training_states
from sim.catalog.loader import load_catalog
from sim.errors import InputError

GB = 1e9


def training(**given: Any) -> TrainingEstimate:
    """An estimate from options as typed."""
    unset = {"params": None, "model": None, "gpus": None, "mfu": None, "rank": None, "context": None, "micro_batch": 1}
    return estimate_training(**unset | {"gpu": "a100-80", "precision": "bf16", "method": "full"} | given)


def test_seven_billion_parameters_and_a_hundred_billion_tokens_are_four_times_ten_to_the_twentyone() -> None:
    said = training_json(training(params="7e9", tokens="1e11", gpus=64, mfu="0.4:0.6"))
    assert said["flops"] == pytest.approx(4.2e21)
    assert said["total_flops"] == said["flops"] + said["attention_flops"]
    low, high = said["gpu_hours"]["low"], said["gpu_hours"]["high"]
    assert low == pytest.approx(said["total_flops"] / (312e12 * 0.6 * 3600))
    assert high == pytest.approx(low * 1.5)
    assert said["days"]["low"] == pytest.approx(low / 64 / 24)
    assert said["energy_kwh"]["low"] == pytest.approx(low * 0.4)


def test_full_training_keeps_sixteen_bytes_per_parameter() -> None:
    memory = training_json(training(params="70B", tokens="1T"))["memory_bytes"]
    parts = [memory[name] / 70e9 for name in ("weights", "gradients", "adam_moments", "master_weights")]
    assert parts == [2, 2, 8, 4]
    assert memory["states"] == 1120 * GB


def test_activations_are_those_of_korthikanti_for_a_gpt_of_22_billion() -> None:
    """Table 1 and equations 1, 2 of the paper: s=2048, b=4, h=6144, a=64, L=48; without tensor parallelism, logits apart."""
    from dataclasses import replace

    from optimize.estimate.training_memory import training_activations

    model = replace(load_catalog().models["llama-2-7b"], layers=48, hidden_size=6144, heads=64, vocab_size=0)
    found = training_activations(model, 2048, 4)
    tokens = 2048 * 4
    assert found.kept == 34 * tokens * 6144 * 48
    assert found.kept + found.attention_matrices == pytest.approx(tokens * 6144 * 48 * (34 + 5 * 64 * 2048 / 6144))
    assert found.checkpointed == 2 * tokens * 6144 * 48 + 34 * tokens * 6144


def test_the_smallest_number_of_cards_holds_it_and_one_less_does_not() -> None:
    catalog = load_catalog()
    for name, gpu in (("llama-2-7b", "a100-80"), ("llama-3.1-70b", "h100"), ("llama-3.1-8b", "l40s"), ("llama-2-13b", "rtx4090")):
        model, card = catalog.models[name], catalog.gpus[gpu]
        states = training_states(model, "full", 16)
        needed = gpus_needed(model, states, 1 * GB, card)
        assert needed is not None and needed > 1
        assert bytes_per_gpu(model, states, 1 * GB, needed) <= card.memory_bytes < bytes_per_gpu(model, states, 1 * GB, needed - 1)


def test_no_number_of_cards_holds_what_every_card_must_hold_itself() -> None:
    e = training(model="llama-3.1-70b", tokens="1T", gpu="t4", context="128k")
    assert e.gpus_needed is None and not e.fits
    assert gathered_bytes(e.run.model, e.states) > 2 * 2 * 0.8e9


def test_too_few_cards_are_said_not_to_fit_and_hours_are_given_all_the_same() -> None:
    e = training(params="70e9", tokens="1T", gpus=8)
    assert not e.fits and e.gpus == 8 and e.gpus_needed is not None and e.gpus_needed > 8
    assert e.gpu_hours[0] > 0


def test_adapters_train_less_than_a_hundredth_and_quarter_the_memory() -> None:
    full, lora, qlora = (training(model="llama-3.1-8b", tokens="50M", method=method) for method in ("full", "lora", "qlora"))
    assert adapter_parameters(lora.run.model, 16) == 41_943_040  # what PEFT prints for all linear layers of this model at rank 16
    assert lora.adapters == 41_943_040
    assert lora.flops == pytest.approx((4 * lora.run.model.parameters + 6 * 41_943_040) * 50e6)
    assert qlora.states.total < lora.states.total / 2 < full.states.total / 12
    assert (full.gpus_needed, lora.gpus_needed, qlora.gpus_needed) == (2, 1, 1)


def test_a_qlora_of_70_billion_fits_one_card_of_80_gb() -> None:
    assert training(model="llama-3.1-70b", tokens="1M", method="qlora").gpus_needed == 1


@pytest.mark.parametrize(
    ("model", "tokens", "gpu", "context", "hours"),
    [
        ("llama-2-7b", "2T", "a100-80", "4k", 184_320),
        ("llama-2-70b", "2T", "a100-80", "4k", 1_720_320),
        ("llama-3.1-8b", "15T", "h100", "8k", 1.46e6),
    ],
)
def test_published_gpu_hours_lie_inside_the_printed_band(model: str, tokens: str, gpu: str, context: str, hours: float) -> None:
    low, high = training(model=model, tokens=tokens, gpu=gpu, context=context).gpu_hours
    assert low <= hours <= high, f"{hours:,.0f} published, {low:,.0f} .. {high:,.0f} printed"


@pytest.mark.parametrize("name", ["Llama-2-7B", "Llama-2-70B", "Llama-3.1-8B", "LLaMA-65B", "Llama-3.1-70B"])
def test_the_band_of_all_other_runs_holds_a_run_that_it_has_not_seen(name: str) -> None:
    gpus = load_catalog().gpus
    [run] = [each for each in published_runs() if each.name == name]
    band = mfu_band(gpus[run.gpu], gpus, tuple(each for each in published_runs() if each.name != name))
    assert band.low <= whole_run_mfu(run, gpus[run.gpu]) <= band.high


def test_llama_2_lies_inside_forty_to_sixty_percent_too() -> None:
    for model, hours in (("llama-2-7b", 184_320), ("llama-2-70b", 1_720_320)):
        low, high = training(model=model, tokens="2T", mfu="0.4:0.6").gpu_hours
        assert low <= hours <= high


def test_gpt_3_on_a100s_takes_what_its_3e23_flops_and_the_megatron_authors_say() -> None:
    """3.14e23 FLOPs (Brown et al. 2020, table D.1); 34 days on 1,024 A100s (Narayanan et al. 2021, section 5.1)."""
    e = training(params="175B", tokens="300B", gpus=1024, context="2k")
    assert e.flops == pytest.approx(3.14e23, rel=0.01)
    assert e.days[0] <= 34 <= e.days[1]


def test_a_card_without_published_runs_gets_the_band_of_all_and_says_so() -> None:
    e = training(params="7B", tokens="1B", gpu="l40s")
    assert not e.evidence.same_gpu
    assert len(e.evidence.runs) == len(published_runs())
    assert any("none on l40s" in note for note in e.notes)


def test_a_wished_utilisation_is_shown_beside_what_published_runs_got() -> None:
    assert any("published runs got 0.15 to 0.45" in note for note in training(params="7B", tokens="1B", gpu="h100", mfu="0.6").notes)


def test_published_hours_give_the_share_of_the_peak_by_hand() -> None:
    run = PublishedRun("x", "a100-80", 1e9, 1, 1, 1, 1e9, 10.0, published_runs()[0].source)
    assert whole_run_mfu(run, load_catalog().gpus["a100-80"]) == pytest.approx((6e18 + 6e9) / (10 * 3600 * 312e12))


def test_cost_pays_whole_hosts_in_every_currency_cheapest_first() -> None:
    e = training(params="7e9", tokens="1e11", gpus=12)
    catalog = load_catalog()
    assert [each.usd for each in e.cost] == sorted(each.usd for each in e.cost)
    assert {each.offer for each in e.cost} == {
        o.id for o in catalog.offers.values() if o.gpu == "a100-80" and o.term in ("on_demand", "spot") and o.grade != "claimed"
    }
    eight = next(each for each in e.cost if catalog.offers[each.offer].gpus == 8)
    assert (eight.hosts, eight.gpus) == (2, 16)
    assert eight.usd[0] == pytest.approx(e.gpu_hours[0] / 12 * 2 * catalog.offers[eight.offer].usd_per_hour)
    assert eight.by_currency["CNY"][0] == pytest.approx(eight.usd[0] / catalog.fx_usd["CNY"])


def test_links_are_judged_by_what_a_step_sends() -> None:
    fast, slow = training(params="7e9", tokens="1e9", gpus=8), training(params="7e9", tokens="1e9", gpus=8, gpu="l40s")
    assert fast.interconnect is not None and fast.interconnect.hidden
    assert slow.interconnect is not None and not slow.interconnect.hidden
    assert fast.interconnect.bytes_per_step == pytest.approx(3 * 2 * 7e9 * 7 / 8)
    assert training(model="llama-3.2-3b", tokens="1e9", gpus=1, gpu="h100").interconnect is None


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"params": "7B", "model": "llama-2-7b"}, "one of the two"),
        ({}, "one of the two"),
        ({"params": "7B", "precision": "fp8"}, "no fp8 arithmetic"),
        ({"params": "7B", "rank": 8}, "full training has no adapters"),
        ({"params": "7B", "method": "qlora", "precision": "fp8", "gpu": "h100"}, "qlora multiplies in 16 bit"),
        ({"model": "llama-2-7b", "context": "8k"}, "more than the 4,096"),
        ({"params": "100"}, "no language model"),
    ],
)
def test_options_that_contradict_each_other_get_one_message(given: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said) as raised:
        training(tokens="1B", **given)
    assert len(raised.value.problems) == 1
