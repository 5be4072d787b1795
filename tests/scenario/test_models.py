"""Models of the user's own, and what each model makes of the token counts of a class."""

from __future__ import annotations

import doctest
import json
from pathlib import Path

import pytest

from sim.catalog.loader import load_catalog
from sim.scenario import load_scenario, tokenizers
from tests.scenario.helpers import GOOD, broken, problems, write

TINY = {
    **{"model_type": "llama", "hidden_size": 2048, "num_attention_heads": 32, "num_key_value_heads": 8, "head_dim": 64},
    **{"num_hidden_layers": 16, "vocab_size": 128256, "intermediate_size": 8192, "max_position_embeddings": 131072},
    "tie_word_embeddings": True,
}
OWN = GOOD.replace("models: [llama-3.1-8b]", "models: [my-1b]", 1).replace(
    "request_classes:", "models: [{name: my-1b, config: m/config.json}]\nrequest_classes:"
)


def config(folder: Path, **changes: object) -> Path:
    (folder / "m").mkdir(exist_ok=True)
    return write(folder / "m", json.dumps(TINY | changes), "config.json")


def test_a_config_json_becomes_a_model_that_classes_may_name(tmp_path: Path) -> None:
    config(tmp_path)
    scenario = load_scenario(write(tmp_path, OWN))
    assert scenario.request_classes[0].models == ("my-1b",)
    assert scenario.catalog.models["my-1b"].parameters == 1_235_814_400  # as the checkpoint of Llama-3.2-1B publishes
    assert "my-1b" not in load_catalog().models


def test_the_folder_of_a_config_json_is_as_good_and_the_digest_sees_its_content(tmp_path: Path) -> None:
    config(tmp_path)
    first = load_scenario(write(tmp_path, OWN.replace("m/config.json", "m")))
    config(tmp_path, num_hidden_layers=17)
    second = load_scenario(first.path)
    assert first.digest != second.digest
    assert first.catalog.models["my-1b"].layers + 1 == second.catalog.models["my-1b"].layers


def test_what_is_wrong_with_a_config_json_is_told_where_the_scenario_names_it(tmp_path: Path) -> None:
    config(tmp_path, hidden_size="wide", num_attention_heads=None)
    found = problems(write(tmp_path, OWN))
    assert len(found) == 2 and all(line.startswith("s.yaml:4:") and "models.0.config: " in line for line in found)
    assert "m/config.json: hidden_size: 'wide' is not a whole number" in found[0]
    (tmp_path / "m/config.json").unlink()
    (only,) = problems(write(tmp_path, OWN))
    assert "m/config.json: there is no such file" in only


def test_a_name_that_is_taken_is_refused(tmp_path: Path) -> None:
    config(tmp_path)
    (only,) = problems(write(tmp_path, GOOD + "models: [{name: llama-3.1-8b, config: m}]\n"))
    assert '"llama-3.1-8b" is a model of the catalogue; write another name' in only


def test_factors_are_kept_by_class_and_model_and_default_to_one(tmp_path: Path) -> None:
    text = GOOD.replace(
        "models: [llama-3.1-8b]", "models: [llama-3.1-8b, {name: gpt-4.1, input_token_factor: 1.1, output_token_factor: 1.3}]", 1
    )
    chat, faq = load_scenario(write(tmp_path, text)).request_classes
    assert chat.models == ("llama-3.1-8b", "gpt-4.1")
    assert chat.factors("gpt-4.1") == (1.1, 1.3)
    assert chat.factors("llama-3.1-8b") == faq.factors("gpt-4.1") == (1.0, 1.0)


@pytest.mark.parametrize("factor", ["0", "-1", "100", ".nan", "more"])
def test_a_factor_that_cannot_be_is_refused(tmp_path: Path, factor: str) -> None:
    text = GOOD.replace("[llama-3.1-8b]", f"[{{name: llama-3.1-8b, input_token_factor: {factor}}}]", 1)
    (only,) = problems(write(tmp_path, text))
    assert "request_classes.0.models.0.input_token_factor: " in only


def test_an_unknown_model_in_a_mapping_is_refused_with_the_nearest(tmp_path: Path) -> None:
    (only,) = problems(write(tmp_path, GOOD.replace("[llama-3.1-8b]", "[{name: llama-3.1-8}]", 1)))
    assert "request_classes.0.models.0.name" in only and "llama-3.1-8b" in only


def test_counts_used_for_models_of_two_tokenizers_are_warned_of_until_a_factor_is_written(tmp_path: Path) -> None:
    silent = GOOD.replace("models: [llama-3.1-8b]", "models: [llama-3.1-8b, gpt-4.1]", 1)
    said = GOOD.replace("models: [llama-3.1-8b]", "models: [llama-3.1-8b, {name: gpt-4.1, input_token_factor: 1}]", 1)
    (warning,) = load_scenario(write(tmp_path, silent)).warnings
    assert warning.startswith("request class chat: ") and "o200k: gpt-4.1" in warning and "llama-3: llama-3.1-8b" in warning
    assert load_scenario(write(tmp_path, said)).warnings == ()


def test_self_hosted_only_sees_models_in_mappings(tmp_path: Path) -> None:
    text = broken("    share: 0.6\n", "    share: 0.6\n    self_hosted_only: true\n").replace("[llama-3.1-8b]", "[{name: gpt-4.1}]", 1)
    assert any("none can be self-hosted" in line for line in problems(write(tmp_path, text)))


def test_chinese_text_is_not_a_quarter_of_its_length() -> None:
    catalog, text = load_catalog(), "请问我的信用卡账单为什么多了一笔费用，能帮我查一下吗？" * 4
    assert tokenizers.estimated_tokens(text, "deepseek-v3.2", catalog) == pytest.approx(0.6 * len(text), abs=1)
    assert tokenizers.estimated_tokens(text, "gpt-4.1", catalog) > 2 * (len(text) // 4)
    assert tokenizers.estimated_tokens("", "gpt-4.1", catalog) == 1


def test_examples_in_docstrings_hold() -> None:
    assert doctest.testmod(tokenizers).failed == 0
