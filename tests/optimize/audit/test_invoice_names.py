"""Lines of an invoice: ids of the plan's models in any provider's form, and never the model whose name only begins alike."""

from __future__ import annotations

import pytest

from optimize.audit.bill_total import named_model_in
from optimize.audit.invoice_names import Names, match
from sim.catalog.loader import load_catalog

CATALOG = load_catalog()
SELLERS = {
    "gpt-4.1": "openai.gpt-4.1",
    "openai.gpt-4.1": "openai.gpt-4.1",
    "claude-sonnet-4.5": "anthropic.claude-sonnet-4.5",
    "qwen3-32b": "deepinfra.qwen3-32b",
}
VENDORS = frozenset({"openai", "azure", "deepinfra", "anthropic", "groq"})
NAMES = Names({name: frozenset({seller}) for name, seller in SELLERS.items()}, {}, VENDORS)


@pytest.mark.parametrize(
    ("written", "seller"),
    [
        ("gpt-4.1-2025-04-14", "openai.gpt-4.1"),
        ("gpt-4.1, cached input", "openai.gpt-4.1"),
        ("openai/gpt-4.1:online", "openai.gpt-4.1"),
        ("GPT-4.1 (2025-04-14)", "openai.gpt-4.1"),
        ("us.anthropic.claude-sonnet-4-5-20250929-v1:0", "anthropic.claude-sonnet-4.5"),
        ("Claude Sonnet 4.5 (Amazon Bedrock Edition)", "anthropic.claude-sonnet-4.5"),
        ("qwen/qwen3-32b-04-28", "deepinfra.qwen3-32b"),
        *(
            (each, None)
            for each in ("gpt-4.1-mini-2025-04-14", "gpt-4.1-nano", "gpt-4.1mini", "gpt-4.1 mini", "gpt-4.10", "gpt-4.1-audio-preview")
        ),
        *((each, None) for each in ("azure/gpt-4.1", "azure/gpt-4.1-2025-04-14", "groq/qwen3-32b", "Qwen3-32B-Coder", "claude-sonnet-4")),
    ],
)
def test_a_line_is_about_the_model_that_it_names_as_a_whole(written: str, seller: str | None) -> None:
    assert match([written], NAMES, lambda text: named_model_in(text, CATALOG)).seller == seller
