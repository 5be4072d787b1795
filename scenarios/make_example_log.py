"""Writes example_log.csv.gz, a made-up log in our own format: `python scenarios/make_example_log.py [FILE]`.

Twenty minutes of a support bot: conversations start at random at 1.1 a second, turns follow each other after a think time, prompts
grow by what was said. Columns: arrival_s,input_tokens,output_tokens,session_id,class. No person is behind it; a log of your own looks
like this when you export these five columns from your gateway and leave every other column out.
"""

from __future__ import annotations

import gzip
import io
import sys
from pathlib import Path

import numpy as np

FILE = Path(__file__).with_name("example_log.csv.gz")
MINUTES = 20
CONVERSATIONS_PER_S = 1.1
MORE_TURNS = 0.5  # probability that the user goes on after an answer
HARD_SHARE = 0.06
SYSTEM_TOKENS = 350


def rows(seed: int = 20) -> list[tuple[float, int, int, str, str]]:
    """Requests by arrival; the same for the same seed."""
    rng = np.random.default_rng(seed)
    end_s = MINUTES * 60.0
    starts = np.sort(rng.uniform(0, end_s, rng.poisson(CONVERSATIONS_PER_S * end_s)))
    found = []
    for number, start in enumerate(starts.tolist()):
        kind = "hard" if rng.random() < HARD_SHARE else "faq"
        time_s, history = start, SYSTEM_TOKENS
        while time_s < end_s:
            asked = int(np.clip(rng.lognormal(3.1, 0.9), 3, 800)) + (1500 if kind == "hard" and history == SYSTEM_TOKENS else 0)
            answered = int(np.clip(rng.lognormal(5.4 if kind == "hard" else 4.6, 0.6), 5, 1500))
            found.append((round(time_s, 3), history + asked, answered, f"c{number}", kind))
            history += asked + answered
            if rng.random() > MORE_TURNS:
                break
            time_s += answered * 0.02 + float(rng.lognormal(3.3, 0.8))
    return sorted(found)


def main() -> None:
    path = Path(sys.argv[1]) if len(sys.argv) > 1 else FILE
    text = io.StringIO()
    text.write("arrival_s,input_tokens,output_tokens,session_id,class\n")
    for time_s, asked, answered, session, kind in rows():
        text.write(f"{time_s:.3f},{asked},{answered},{session},{kind}\n")
    path.write_bytes(gzip.compress(text.getvalue().encode(), 9, mtime=0))


if __name__ == "__main__":
    main()
