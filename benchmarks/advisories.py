"""Pinned versions against published advisories, by pip-audit: `make audit`.

    python -m benchmarks.advisories path/to/pip-audit [requirements file]

Exit code 0: no advisory is known; 1: some are, or pip-audit failed; 75: no service of advisories answered for them, so nothing is known.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Sequence

REQUIREMENTS = "requirements-dev.txt"
UNREACHABLE = re.compile(
    r"connection ?error|connecttimeout|connection refused|max retries exceeded|name resolution|failed to (establish|resolve|connect)|"
    r"network is unreachable|proxyerror|tunnel connection failed|timed out|sslerror|serviceerror|"
    r"could not be audited|(403|407|5\d\d) (client|server) error",
    re.IGNORECASE,
)
CLEAN, FOUND, UNKNOWN = 0, 1, 75  # the last as sysexits.h has it: try again later
SAID = "No service of advisories answers for the pinned versions from here, so nothing is known of their faults. Run it with a network."


def audit(command: Sequence[str]) -> tuple[int, str]:
    """(exit code, what to print) of pip-audit started by `command`."""
    try:
        ran = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        return UNKNOWN, f"{SAID} ({type(error).__name__} of {command[0]})\n"
    if ran.returncode == 0:
        return CLEAN, ran.stdout + ran.stderr
    if "Found" not in ran.stderr + ran.stdout and UNREACHABLE.search(ran.stderr + ran.stdout):
        return UNKNOWN, SAID + "\n"
    return FOUND, ran.stdout + ran.stderr


def main() -> None:
    tool, *rest = sys.argv[1:] or sys.exit(__doc__)
    requirements = rest[0] if rest else REQUIREMENTS
    code, text = audit([tool, "--strict", "--requirement", requirements, "--no-deps", "--disable-pip"])
    print(text, end="")
    sys.exit(code)


if __name__ == "__main__":
    main()
