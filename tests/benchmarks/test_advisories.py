"""`make audit` tells "nothing known" from "nothing found"."""

from __future__ import annotations

import sys

import pytest

from benchmarks.advisories import CLEAN, FOUND, SAID, UNKNOWN, audit

REFUSED = "requests.exceptions.ConnectionError: HTTPSConnectionPool(host='advisories.example', port=443): Max retries exceeded with url: /x"


@pytest.mark.parametrize(
    ("stderr", "exit_code", "code", "said"),
    [
        ("No known vulnerabilities found", 0, CLEAN, "No known"),
        ("Found 2 known vulnerabilities in 1 package", 1, FOUND, "Found 2"),
        (REFUSED, 1, UNKNOWN, SAID),
        ("pip_audit._service.interface.ServiceError: failed to connect", 1, UNKNOWN, SAID),
        ("403 Client Error: Forbidden for url", 1, UNKNOWN, SAID),
        ("ERROR:pip_audit._cli:anyio: Dependency not found and could not be audited: anyio (4.16.0)", 1, UNKNOWN, SAID),
        ("usage: pip-audit [-h]", 2, FOUND, "usage"),
    ],
)
def test_the_exit_code_says_what_is_known(stderr: str, exit_code: int, code: int, said: str) -> None:
    found = audit([sys.executable, "-S", "-c", f"import sys; sys.stderr.write({stderr!r}); sys.exit({exit_code})"])
    assert found[0] == code and said in found[1] and (code != UNKNOWN or found[1].count("\n") == 1)


def test_a_tool_that_is_not_there_is_told_in_one_sentence() -> None:
    code, said = audit(["/nowhere/pip-audit"])
    assert code == UNKNOWN and said.count("\n") == 1
