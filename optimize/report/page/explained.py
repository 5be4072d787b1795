"""Terms of the glossary inside a page: the first one of each section links to what it means, which also shows where it is pointed at."""

from __future__ import annotations

import re
from html import escape

from optimize.tables.glossary import TERMS

TAGS = re.compile(r"(<[^>]+>)")
CLOSED = (
    "svg",
    "code",
    "h1",
    "h2",
    "h3",
    "a",
    "button",
    "summary",
    "nav",
    "script",
    "style",
    "output",
    "label",
    "th",
)  # no link stands inside
COMMON = {
    "plan",
    "class, request class",
    "cut",
    "look",
    "step",
    "flow",
    "month",
    "promise",
    "scenario",
    "host",
    "bound",
    "RPM, TPM",
    "seed",
    "token",
}
FORMS = {word: word for word in TERMS if word not in COMMON and "," not in word} | {
    "proof": "proof, verification",
    "RPM": "RPM, TPM",
    "TPM": "RPM, TPM",
}  # as they stand in sentences -> word of the glossary
FOUND = re.compile(rf"(?<![\w./-])({'|'.join(sorted(map(re.escape, FORMS), key=len, reverse=True))})(s?)(?![\w/-]|\.\w)")


def anchor_of(word: str) -> str:
    """The place of a word on the page.

    >>> anchor_of("KV cache")
    'word-kv-cache'
    """
    return "word-" + re.sub(r"[^a-z0-9]+", "-", word.lower()).strip("-")


def explained(section: str, used: set[str]) -> str:
    """The section with the first of each term as a link to its meaning; words that occur are added to `used`."""
    here: set[str] = set()
    depth = 0
    parts = TAGS.split(section)
    for k, part in enumerate(parts):
        if part.startswith("<"):
            name = re.match(r"</?(\w+)", part)
            if name is not None and name[1] in CLOSED:
                depth += -1 if part.startswith("</") else 0 if part.endswith("/>") else 1
        elif depth <= 0:
            parts[k] = FOUND.sub(lambda found: _link(found, here), part)
    used |= here
    return "".join(parts)


def _link(found: re.Match[str], here: set[str]) -> str:
    word = FORMS[found[1]]
    if word in here:
        return found[0]
    here.add(word)
    return f'<a class=term href="#{anchor_of(word)}" title="{escape(plain(TERMS[word]))}">{found[0]}</a>'


def plain(meaning: str) -> str:
    """A meaning without marks of emphasis.

    >>> plain("the opposite is *elastic*, see `policy`")
    'the opposite is elastic, see policy'
    """
    return meaning.replace("*", "").replace("`", "")


def glossary_html(used: set[str]) -> str:
    """The words that the page uses, and what they mean."""
    words = [word for word in TERMS if word in used]
    rows = "".join(f'<dt id="{anchor_of(word)}">{escape(word)}</dt><dd>{escape(plain(TERMS[word]))}</dd>' for word in words)
    return f"<dl>{rows}</dl>" if rows else ""
