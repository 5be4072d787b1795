"""What a probe is asked to do, and what it has seen: frozen records shared by the files of this room."""

from __future__ import annotations

from dataclasses import dataclass, field

OK, THROTTLED, SERVER, CLIENT = "ok", "throttled", "server_error", "refused"
CONNECTION, TIMEOUT, TORN, MALFORMED, CUT = "connection", "timeout", "torn", "malformed", "cut"
RETRIED = frozenset({THROTTLED, SERVER, CONNECTION, TIMEOUT, TORN})  # a refusal or garbage would only come again


@dataclass(frozen=True)
class Prices:
    """USD per million tokens; `cached` None: cached input costs as much as other input."""

    input: float
    output: float
    cached: float | None = None

    def usd(self, input_tokens: float, output_tokens: float, cached_tokens: float = 0.0) -> float:
        """Price of a call.

        >>> Prices(2.0, 8.0, 0.5).usd(1000, 500, 400)
        0.0054
        """
        cached = 0.0 if self.cached is None else min(cached_tokens, input_tokens)
        return ((input_tokens - cached) * self.input + cached * (self.cached or 0.0) + output_tokens * self.output) / 1e6


@dataclass(frozen=True)
class Caps:
    """What may be spent: calls (every attempt counts), tokens, seconds, and US dollars (None: no price is known)."""

    requests: int = 200
    tokens: int = 500_000
    seconds: float = 300.0
    usd: float | None = None


@dataclass(frozen=True)
class Shape:
    """Requests of one length: wanted prompt tokens, most answer tokens, and its weight in the mix."""

    input_tokens: int
    output_tokens: int
    weight: float = 1.0


@dataclass(frozen=True)
class Patience:
    """Time-outs and retries. Wait: uniform(0, min(max_wait_s, base_s x 2**failures)), never less than Retry-After says."""

    connect_s: float = 10.0
    read_s: float = 60.0  # between two pieces of an answer
    total_s: float = 300.0  # of one attempt
    attempts: int = 4
    base_s: float = 0.5
    max_wait_s: float = 8.0
    longest_retry_after_s: float = 60.0  # a longer Retry-After ends the request


@dataclass(frozen=True)
class Load:
    """How requests come: in a closed loop at each of `concurrency`, or with Poisson arrivals at each of `rates_rps`."""

    concurrency: tuple[int, ...] = (1, 2, 4, 8)
    rates_rps: tuple[float, ...] = ()
    requests_per_level: int = 40
    most_in_flight: int = 256
    first_rps: float = 4.0  # where the search for limits begins, and what it does not go beyond
    most_rps: float = 50.0


@dataclass(frozen=True)
class Setup:
    """One probe. `limits`: "headers" believes what the endpoint says of its limits; "requests", "tokens" and "measure" (both) find
    them by overload."""

    url: str
    model: str
    kind: str = "chat"  # or "embedding"
    shapes: tuple[Shape, ...] = (Shape(500, 100),)
    load: Load = field(default_factory=Load)
    caps: Caps = field(default_factory=Caps)
    patience: Patience = field(default_factory=Patience)
    prices: Prices | None = None
    limits: str = "headers"
    shared_prefix_tokens: int = 0  # leading part that all prompts have in common
    ignore_eos: bool = False  # vLLM and SGLang: answer as long as max_tokens
    seed: int = 1


@dataclass(frozen=True)
class Prompt:
    """One request to send. `most_input_tokens` bounds what any tokeniser makes of it."""

    text: str
    input_tokens: int
    output_tokens: int
    most_input_tokens: int


@dataclass(frozen=True)
class Reply:
    """What one HTTP call brought. Times in seconds after the call was made; None where it never happened.

    outcome       one of the words above; `status` the HTTP status, None when no answer came
    *_tokens      as the endpoint counts them, None where it does not say or what it says is impossible
    claimed_*     as it counts them, believable or not
    pieces        non-empty pieces of text; gaps_s between them
    """

    outcome: str
    status: int | None = None
    first_s: float | None = None
    last_s: float | None = None
    ended_s: float = 0.0
    input_tokens: int | None = None
    output_tokens: int | None = None
    cached_tokens: int = 0
    claimed_input: int = 0
    claimed_output: int = 0
    pieces: int = 0
    gaps_s: tuple[float, ...] = ()
    retry_after_s: float | None = None
    limit_rpm: float | None = None
    limit_tpm: float | None = None
    note: str = ""


@dataclass(frozen=True)
class Attempt:
    """One HTTP call on the clock of the probe. `level` names the part of the probe, `in_flight` counts calls open when it began."""

    request: int
    number: int  # 1 is the first attempt
    level: str
    in_flight: int
    started_s: float
    prompt: Prompt
    reply: Reply

    @property
    def ok(self) -> bool:
        return self.reply.outcome == OK

    @property
    def input_tokens(self) -> int:
        """As the endpoint counts, else as wanted."""
        return self.reply.input_tokens if self.reply.input_tokens is not None else self.prompt.input_tokens

    @property
    def output_tokens(self) -> int:
        """As the endpoint counts, else pieces of text."""
        return self.reply.output_tokens if self.reply.output_tokens is not None else self.reply.pieces

    @property
    def tpot_s(self) -> float | None:
        """(last - first) / (tokens - 1); None for answers of one token or piece."""
        first, last = self.reply.first_s, self.reply.last_s
        if first is None or last is None or self.output_tokens < 2 or self.reply.pieces < 2:
            return None
        return (last - first) / (self.output_tokens - 1)


@dataclass(frozen=True)
class Measured:
    """All attempts of a probe in the order of their ends, limits that were found, and why it stopped.

    limits      rpm and tpm; None: not found, see `limit_notes`
    arrivals    request -> seconds at which it was due (open arrivals) or first sent
    """

    setup: Setup
    attempts: tuple[Attempt, ...]
    arrivals: dict[int, float]
    limits: dict[str, float | None]
    limit_notes: tuple[str, ...]
    stopped: str
    seconds: float
    spent_tokens: int
    spent_usd: float | None
    warnings: tuple[str, ...]
