"""Words of a command that is run in the process of the tests."""

from __future__ import annotations

STARTING = ("optimize", "whatif", "decide", "rerun")  # commands that start processes unless they are told not to


def alone(*words: str) -> tuple[str, ...]:
    """The command without processes of its own: each would first load everything that is loaded here.

    >>> alone("optimize", "a.yaml"), alone("optimize", "--help")
    (('optimize', 'a.yaml', '--jobs', '1'), ('optimize', '--help'))
    """
    asked = {"--jobs", "--help"} & set(words)
    return words if asked or words[:1] == () or words[0] not in STARTING else (*words, "--jobs", "1")
