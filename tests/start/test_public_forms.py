"""From a file in the exact form in which it is public to a plan in two commands: `new --from-log`, `optimize`."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from optimize.estimate.new_scenario import NewScenario, new_scenario
from optimize.plan import optimize
from sim.catalog.loader import load_catalog
from sim.scenario import load_scenario
from sim.start.answers import Answers
from sim.traffic import demand
from sim.traffic.readers import read_log

CATALOG = load_catalog()
ROWS = 120
MINUTE = 60.0


def stamp(k: int) -> str:
    """The time of row `k` as ISO date-time with seven digits after the point, as the Azure traces write it."""
    return f"{datetime.fromtimestamp(1_700_158_546 + 37 * k, UTC):%Y-%m-%d %H:%M:%S}.6805900"


def azure() -> str:
    return "TIMESTAMP,ContextTokens,GeneratedTokens\n" + "".join(f"{stamp(k)},{374 + k},{44 + k % 9}\n" for k in range(ROWS))


def burstgpt() -> str:
    rows = [f"{5 + 40 * k},{'GPT-4' if k % 4 == 2 else 'ChatGPT'},{472 + k},{18 + k},{490 + 2 * k},Conversation log" for k in range(ROWS)]
    return "\n".join(["Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type", *rows, "9000,ChatGPT,300,0,300,API log", ""])


def mooncake() -> str:
    hashes = [[*range(46, 59), 100 + k] for k in range(ROWS)]
    rows = [
        {"timestamp": 27_482 + 30_000 * k, "input_length": 6955, "output_length": 52, "hash_ids": each} for k, each in enumerate(hashes)
    ]
    return "\n".join(json.dumps(row) for row in rows) + "\n"


def sharegpt() -> str:
    asked, said = {"from": "human", "value": "Summarize the main ideas " * 9}, {"from": "gpt", "value": "Here are the ideas. " * 40}
    return json.dumps([{"id": f"QWJhYvA_{k}", "conversations": [asked, said, asked, said]} for k in range(ROWS)])


def litellm() -> str:
    usage = {"prompt_tokens": 1200, "completion_tokens": 150, "prompt_tokens_details": {"cached_tokens": 768, "audio_tokens": None}}
    rows: list[dict[str, object]] = []
    for k in range(ROWS):
        at = f"2025-03-24T{k // 30:02d}:{2 * (k % 30):02d}:42.989132Z"
        embed = k % 4 == 3
        rows.append(
            {
                "request_id": f"chatcmpl-{k}",
                "call_type": "aembedding" if embed else "acompletion",
                "api_key": "88dc28d0f030c55ed4ab77ed8faf098196cb1c05df778539800c9f1243fe6b4b",
                "spend": 0.0017,
                "total_tokens": 40 if embed else 1350,
                "prompt_tokens": 40 if embed else 1200,
                "completion_tokens": 0 if embed else 150,
                "startTime": at,
                "endTime": at,
                "completionStartTime": at,
                "model": "text-embedding-3-large" if embed else "gpt-4.1-mini-2025-04-14",
                "model_group": "m",
                "custom_llm_provider": "openai",
                "user": "",
                "metadata": {"user_api_key": "x", "applied_guardrails": [], "usage_object": None if embed else usage},
                "cache_hit": "None",
                "cache_key": "Cache OFF",
                "request_tags": "[]",
                "session_id": None,
                "status": "success",
            }
        )
    return json.dumps(rows)


def openrouter() -> str:
    header = (
        "generation_id,created_at,cost_total,cost_web_search,cost_cache,cost_file_processing,byok_usage_inference,tokens_prompt,"
        "tokens_completion,tokens_reasoning,tokens_cached,model_permaslug,provider_name,variant,cancelled,streamed,user,"
        "finish_reason_raw,finish_reason_normalized,generation_time_ms,time_to_first_token_ms,api_key_disabled,api_key_name,app_name"
    )
    rows = [
        f"gen-{k},{stamp(k)[:-8]}.068,0.00021,0,0,0,0,{900 + k},{80 + k},0,{512 if k % 2 else 0},qwen/qwen3-32b-04-28,DeepInfra,standard,"
        "false,true,,stop,stop,2100,410,false,key,app"
        for k in range(ROWS)
    ]
    return "\n".join([header, *rows, ""])


def openai_usage() -> str:
    def bucket(day: int) -> dict[str, object]:
        start = 1_761_523_200 + 86_400 * day
        result = {
            "object": "organization.usage.completions.result",
            "input_tokens": 9_000_000,
            "output_tokens": 900_000,
            "input_cached_tokens": 2_000_000,
            "input_audio_tokens": 0,
            "output_audio_tokens": 0,
            "num_model_requests": 9_000,
            "project_id": None,
            "user_id": None,
            "api_key_id": None,
            "model": "gpt-4.1-mini-2025-04-14",
            "batch": False,
        }
        return {"object": "bucket", "start_time": start, "end_time": start + 86_400, "results": [result]}

    return json.dumps({"object": "page", "data": [bucket(day) for day in range(7)], "has_more": False, "next_page": None})


FORMS: dict[str, tuple[Callable[[], str], float]] = {  # the text, and the mean prompt of what is kept
    "azure": (azure, 374 + (ROWS - 1) / 2),
    "burstgpt": (burstgpt, 472 + (ROWS - 1) / 2),
    "mooncake": (mooncake, 6955),
    "sharegpt": (sharegpt, 0),
    "litellm": (litellm, 910),
    "openrouter": (openrouter, 900 + (ROWS - 1) / 2),
    "openai_usage": (openai_usage, 1000),
}
each_form = pytest.mark.parametrize("name", FORMS)


def started(name: str, tmp_path: Path) -> NewScenario:
    log = tmp_path / f"{name}.log"
    log.write_text(FORMS[name][0]())
    return new_scenario(Answers(name), tmp_path / f"{name}.yaml", CATALOG, log, False, lambda _: None)


@each_form
def test_one_command_makes_a_scenario_with_the_lengths_of_the_file(name: str, tmp_path: Path) -> None:
    found = demand(load_scenario(started(name, tmp_path).path))
    rate = found.mean_rps.sum(axis=1)
    mean = float((found.input_tokens * rate).sum() / rate.sum())
    assert mean == pytest.approx(FORMS[name][1], rel=0.02) or name == "sharegpt"


@pytest.mark.slow
@each_form
def test_the_second_command_makes_a_plan(name: str, tmp_path: Path) -> None:
    scenario = load_scenario(started(name, tmp_path).path)
    assert optimize(scenario, jobs=1, cache=tmp_path, only_plan=True).status in ("met", "unverified")


def test_cached_tokens_of_a_litellm_log_come_from_its_metadata_and_nothing_else_does(tmp_path: Path) -> None:
    log = tmp_path / "spend.json"
    log.write_text(litellm())
    found = read_log(log)
    chats = found.input_tokens == 1200
    assert set(found.prefix_tokens[chats].tolist()) == {768} and set(found.prefix_tokens[~chats].tolist()) == {0}
    assert "88dc28d0" not in repr(found) and "guardrails" not in repr(found)


def test_cached_tokens_stand_in_the_csv_of_the_table_too(tmp_path: Path) -> None:
    log = tmp_path / "spend.csv"
    cell = '"{""usage_object"": {""prompt_tokens"": 900, ""cache_read_input_tokens"": 512}}"'
    rows = [f"acompletion,{900},{50},2025-03-24 22:{k:02d}:42.98,gpt-4.1,{cell if k % 2 else '{}'}" for k in range(40)]
    log.write_text("\n".join(["call_type,prompt_tokens,completion_tokens,startTime,model,metadata", *rows, ""]))
    assert sorted(set(read_log(log).prefix_tokens.tolist())) == [0, 512]


def test_embedding_calls_of_a_log_become_a_class_of_embeddings(tmp_path: Path) -> None:
    scenario = load_scenario(started("litellm", tmp_path).path)
    kinds = {each.name: (each.kind, sorted({row.metric for row in each.slo}), each.models) for each in scenario.request_classes}
    assert kinds["text-embedding-3-large"] == ("embedding", ["ttft"], ("text-embedding-3-large",))
    assert kinds["gpt-4.1-mini-2025-04-14"][0] == "chat"
    assert any(relay.model == "text-embedding-3-large" for relay in scenario.relays)
