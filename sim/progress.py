"""A message that opens a stage of long work, and so says how far the whole is."""

from __future__ import annotations


class Stage(str):
    """Progress as text; about `share` of all the work lies before it.

    >>> stage = Stage("proving the plan", 0.25)
    >>> stage, stage.left_s(10.0), Stage("beginning").left_s(1.0)
    ('proving the plan', 30.0, 0.0)
    """

    share: float

    def __new__(cls, text: str, share: float = 0.0) -> Stage:
        stage = super().__new__(cls, text)
        stage.share = share
        return stage

    def left_s(self, passed_s: float) -> float:
        """Seconds of work that are left after `passed_s`, if the rest goes on at this pace; 0 where no one can say."""
        return passed_s * (1 - self.share) / self.share if self.share > 0 else 0.0
