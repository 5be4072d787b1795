"""Terms on the page: the first of each section links to its meaning, and the page of the documentation is the same list."""

from __future__ import annotations

from pathlib import Path

from optimize.report.page.explained import explained, glossary_html
from optimize.tables.glossary import TERMS, glossary_page

ROOT = Path(__file__).resolve().parents[3]


def test_the_glossary_of_the_documentation_is_made_from_the_same_words() -> None:
    written = (ROOT / "docs/explanation/glossary.md").read_text(encoding="utf-8")
    assert written == glossary_page(), "run: python -m optimize.tables.glossary > docs/explanation/glossary.md"


def test_the_first_of_each_term_is_a_link_and_no_other() -> None:
    used: set[str] = set()
    text = explained("<p>TTFT and TPOT, then TTFT again, of two replicas</p>", used)
    assert text.count('href="#word-ttft"') == 1 and text.count('href="#word-tpot"') == 1 and ">replica</a>s" not in text
    assert used == {"TTFT", "TPOT", "replica"}


def test_names_headings_and_attributes_stay_as_they_are() -> None:
    used: set[str] = set()
    for text in (
        "<h2>TTFT</h2>",
        '<i title="TTFT"></i>',
        "<code>TTFT</code>",
        "<p>a/fleet:chat fleet.x</p>",
        "<svg><text>TTFT</text></svg>",
    ):
        assert explained(text, used) == text
    assert used == set()


def test_only_words_that_occur_are_explained() -> None:
    assert glossary_html(set()) == ""
    shown = glossary_html({"TTFT"})
    assert shown.count("<dt") == 1 and 'id="word-ttft"' in shown and "time to first token" in shown


def test_every_meaning_is_short_and_ends_without_a_stop() -> None:
    assert [word for word, meaning in TERMS.items() if len(meaning) > 200 or meaning.endswith(".")] == []
