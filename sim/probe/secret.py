"""The key: read from an environment variable or a file, and kept out of everything that is printed or written."""

from __future__ import annotations

import base64
import os
import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

from sim.errors import InputError
from sim.named_files import read_text

MOST_BYTES = 10_000
WINDOW = 8  # a piece of the key of this length or more is masked: endpoints echo shortened keys
MASK = "[key]"
LIKE_A_KEY = re.compile(r"(?=[^/]*[0-9])(?=[^/]*[A-Za-z])[A-Za-z0-9_\-]{20,}")
FULL_WIDTH = 0xFEE0  # what lies between a sign and its full-width form
NO_WIDTH = "\u200b\u200c\u200d\u2060\ufeff"
SIGN = re.compile(  # as it is, or escaped: decimal, then hexadecimal in the forms of addresses, pages, JSON and programs
    r"&#0{0,9}([0-9]{1,6});?|%([0-9a-f]{2})|&#x0{0,9}([0-9a-f]{1,5});?|\\u([0-9a-f]{4})|\\u\{0{0,9}([0-9a-f]{1,5})\}|\\x([0-9a-f]{2})|.",
    re.IGNORECASE | re.DOTALL,
)
NO_KEY = "none"  # the official client insists on a key; servers without one ignore it


def read_key(environment_name: str | None, file: Path | None) -> str:
    """The key; `NO_KEY` when neither source is named: a key is never sent unless asked for. Raises InputError without its text."""
    if environment_name is not None and file is not None:
        raise InputError("--key-env and --key-file: give one of the two")
    if environment_name is not None:
        key = os.environ.get(environment_name, "").strip()
        where = f"--key-env {environment_name if environment_name.isidentifier() else '...'}: the environment variable"
    elif file is not None:
        where = f"--key-file {file}: the file"
        try:
            key = read_text(file, "a text file with the key", MOST_BYTES).strip()
        except InputError as error:
            raise InputError(f"--key-file {error}") from None
    else:
        return NO_KEY
    if not key:
        raise InputError(f"{where} is empty or not there; put the key in it")
    if not key.isascii() or not key.isprintable() or any(c.isspace() for c in key):
        raise InputError(f"{where} holds no key: spaces, line breaks or letters that no HTTP header may carry")
    return key


def redact(text: str, key: str) -> str:
    """`text` in which every piece of `key` of 8 characters or more is masked, also where it is written otherwise: see `writings`.

    >>> redact("Incorrect key: sk-abcdefghijkl.", "sk-abcdefghijkl"), redact("bad sk-abcdef***", "sk-abcdefghijkl")
    ('Incorrect key: [key].', 'bad [key]***')
    >>> redact("Basic c2stYWJjZGVmZ2hpamts", "sk-abcdefghijkl")
    'Basic [key]'
    """
    if key == NO_KEY:
        return text
    if len(key) <= WINDOW:
        return text.replace(key, MASK)
    text = without_escaped(text, key)
    windows = {each[at : at + WINDOW] for each in writings(key) for at in range(len(each) - WINDOW + 1)}
    out, at = [], 0
    while at < len(text):
        if text[at : at + WINDOW] in windows:
            end = at + WINDOW
            while end < len(text) and text[end - WINDOW + 1 : end + 1] in windows:
                end += 1
            out.append(MASK)
            at = end
        else:
            out.append(text[at])
            at += 1
    return "".join(out)


def without_escaped(text: str, key: str) -> str:
    """`text` in which eight or more signs of the key in a row are masked, each as it is, or as addresses, pages, JSON or
    programs escape it, or of full width; with blanks or signs of no width between them.

    >>> without_escaped("bad %73%6B&#45;\\u0061b c\u200bd\\x65f.", "sk-abcdefgh")
    'bad [key].'
    """
    signs = list(_signs(text))
    plain, folded = "".join(sign for sign, _, _ in signs), key.lower()
    windows = {folded[at : at + WINDOW] for at in range(len(folded) - WINDOW + 1)}
    out, done = [], 0
    for at in range(len(plain) - WINDOW + 1):
        if plain[at : at + WINDOW] in windows:
            begin, end = signs[at][1], signs[at + WINDOW - 1][2]
            if begin >= done:
                out += [text[done:begin], MASK]
            done = max(done, end)
    return "".join([*out, text[done:]])


def _signs(text: str) -> Iterator[tuple[str, int, int]]:
    """(sign in lower case, where it begins, where it ends) of every sign that shows, escapes read."""
    for found in SIGN.finditer(text):
        digits = next((each for each in found.groups()[1:] if each), "")
        number = int(found[1]) if found[1] else int(digits, 16) if digits else ord(found[0])
        number -= FULL_WIDTH if FULL_WIDTH < number < FULL_WIDTH + 127 else 0
        if number < 0x110000:
            sign = chr(number).lower()[:1]
            if not sign.isspace() and sign not in NO_WIDTH:
                yield sign, found.start(), found.end()


def writings(key: str) -> set[str]:
    """How an endpoint may echo a key: as it is, in other letter case, backwards, percent-encoded, in hexadecimal, in base 64."""
    raw = key.encode()
    found = {key, key.lower(), key.upper(), key[::-1], quote(key, safe=""), raw.hex(), raw.hex().upper()}
    for lead in range(3):  # base 64 takes three bytes at a time: the key may begin at any of them
        for encode in (base64.b64encode, base64.urlsafe_b64encode):
            text = encode(bytes(lead) + raw).decode().rstrip("=")
            found.add(text[-(-lead * 8 // 6) : len(text) - 1] if lead else text)
    return found


def shown_url(url: str, key: str) -> str:
    """The address without keys in its path: pieces of `key`, and parts that look like one: long, with letters and digits, no dot.

    >>> shown_url("https://host/v1/abcdEFGH1234567890wxyz/chat", NO_KEY), shown_url("https://host/openai/v1", NO_KEY)
    ('https://host/v1/[key]/chat', 'https://host/openai/v1')
    """
    head, slashes, rest = url.partition("://")
    parts = [part if k == 0 or not LIKE_A_KEY.fullmatch(part) else MASK for k, part in enumerate(rest.split("/"))]
    return redact(head + slashes + "/".join(parts), key)
