"""Every log format as its documentation writes it: a header, and a row for a time and two token counts."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime

EPOCH = 1_700_000_000.0
SECRETS = ("ana@example.org", "sk-secret-1", "203.0.113.7", "what is my balance")


def iso(t: float, zone: str = "") -> str:
    return datetime.fromtimestamp(EPOCH + t, UTC).strftime("%Y-%m-%d %H:%M:%S.%f") + zone


@dataclass(frozen=True)
class Sample:
    """`row(t, inputs, outputs, k)` writes request k; `header` is None for JSON lines; `scale` turns seconds into the row's unit."""

    name: str
    header: str | None
    row: Callable[[float, int, int, int], str]
    clock_is_text: bool = False

    def text(self, rows: list[tuple[float, int, int]]) -> str:
        lines = [self.row(t, i, o, k) for k, (t, i, o) in enumerate(rows)]
        return "\n".join([*([self.header] if self.header else []), *lines]) + "\n"


def _litellm(t: float, i: int, o: int, k: int) -> dict[str, object]:
    return {
        "request_id": f"chatcmpl-{k}",
        "call_type": "acompletion",
        "api_key": SECRETS[1],
        "spend": 0.001,
        "total_tokens": i + o,
        "prompt_tokens": i,
        "completion_tokens": o,
        "startTime": iso(t).replace(" ", "T") + "Z",
        "endTime": iso(t + 1).replace(" ", "T") + "Z",
        "model": "gpt-4.1",
        "user": SECRETS[0],
        "metadata": {"user_api_key": SECRETS[1]},
        "cache_hit": "False",
        "requester_ip_address": SECRETS[2],
        "session_id": f"s{k % 3}",
        "messages": [{"role": "user", "content": SECRETS[3]}],
    }


def _ragpulse(t: float, i: int, o: int, k: int) -> dict[str, object]:
    hashes = {"sys_prompt": [1, 2, 100 + k], "passages_ids": [7], "history": [9], "web_search": [], "user_input": [1000 + k]}
    return {"timestamp": f"{t:g}", "input_length": i, "output_length": o, "hash_ids": hashes, "session_id": f"s{k % 3}"}


def _mooncake(t: float, i: int, o: int, k: int) -> dict[str, object]:
    return {"timestamp": round(t * 1000), "input_length": i, "output_length": o, "hash_ids": [1, k + 2]}


def _bailian(t: float, i: int, o: int, k: int) -> dict[str, object]:
    common = {"chat_id": k, "parent_chat_id": -1, "timestamp": t, "input_length": i, "output_length": o}
    return {**common, "type": "text", "turn": 1, "hash_ids": [k]}


def _json(row: Callable[[float, int, int, int], dict[str, object]]) -> Callable[[float, int, int, int], str]:
    return lambda t, i, o, k: json.dumps(row(t, i, o, k))


LITELLM_COLUMNS = "request_id,call_type,api_key,spend,prompt_tokens,completion_tokens,startTime,model,user,cache_hit,session_id,messages"
OPENROUTER_COLUMNS = (
    "generation_id,created_at,cost_total,cost_web_search,cost_cache,cost_file_processing,byok_usage_inference,tokens_prompt,"
    "tokens_completion,tokens_reasoning,tokens_cached,model_permaslug,provider_name,variant,cancelled,streamed,user,"
    "finish_reason_raw,finish_reason_normalized,generation_time_ms,time_to_first_token_ms,api_key_disabled,api_key_name,app_name"
)
SAMPLES = (
    Sample("ServeMix CSV", "arrival_s,input_tokens,output_tokens,user_email", lambda t, i, o, k: f"{t},{i},{o},{SECRETS[0]}"),
    Sample("Azure LLM inference trace", "TIMESTAMP,ContextTokens,GeneratedTokens", lambda t, i, o, k: f"{iso(t)}0,{i},{o}", True),
    Sample("Azure LLM inference trace", "TIMESTAMP,ContextTokens,GeneratedTokens", lambda t, i, o, k: f"{iso(t, '+00:00')},{i},{o}", True),
    Sample(
        "Azure LLM inference trace", "TIMESTAMP,NumImages,ContextTokens,GeneratedTokens", lambda t, i, o, k: f"{iso(t)},1,{i},{o}", True
    ),
    Sample(
        "BurstGPT trace",
        "Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type",
        lambda t, i, o, k: f"{t},GPT-4,{i},{o},{i + o},API log",
    ),
    Sample(
        "BurstGPT trace",
        "Timestamp,Session ID,Elapsed time,Model,Request tokens,Response tokens,Total tokens,Log Type",
        lambda t, i, o, k: f"{t},s{k // 5},1.5,GPT-4,{i},{o},{i + o},Conversation log",
    ),
    Sample("Vidur trace", "arrived_at,num_prefill_tokens,num_decode_tokens", lambda t, i, o, k: f"{t},{i},{o}"),
    Sample(
        "splitwise-sim trace",
        "request_id,request_type,application_id,arrival_timestamp,batch_size,prompt_size,token_size",
        lambda t, i, o, k: f"{k},2,0,{t},1,{i},{o}",
    ),
    Sample("Mooncake trace", None, _json(_mooncake)),
    Sample("Bailian trace", None, _json(_bailian)),
    Sample("RAGPulse trace", None, _json(_ragpulse)),
    Sample("LiteLLM spend log", None, _json(_litellm), True),
    Sample(
        "LiteLLM spend log",
        LITELLM_COLUMNS,
        lambda t, i, o, k: (
            f'r{k},acompletion,{SECRETS[1]},0.001,{i},{o},{iso(t, "+00")},gpt-4.1,{SECRETS[0]},False,s{k // 5},"{SECRETS[3]}, no?"'
        ),
        True,
    ),
    Sample(
        "OpenRouter activity",
        OPENROUTER_COLUMNS,
        lambda t, i, o, k: (
            f"gen-{k},{iso(t)[:-3]},0.01,0,0,0,0,{i},{o},0,{i // 2},openai/gpt-4.1,OpenAI,,false,true,{SECRETS[0]},stop,stop,900,400,"
            f"false,{SECRETS[1]},app"
        ),
        True,
    ),
)
