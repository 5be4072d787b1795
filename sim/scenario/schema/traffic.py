"""Keys of `traffic`: how many requests come, and when, in the words in which people know it."""

from __future__ import annotations

import re
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, Discriminator, Field, Tag, model_validator

from sim.scenario.schema.fields import Amount, FileName, Keys, Positive, Share, known_name, wrong, wrong_alone
from sim.scenario.schema.key import key
from sim.scenario.shapes import load as load_shapes

DayName = Annotated[str, AfterValidator(known_name("day shape", lambda _: load_shapes().days))]


def _weights(values: list[float]) -> list[float]:
    if len(values) != 24 or sum(values) <= 0:
        wrong_alone(f"has {len(values)} hour weights with sum {sum(values):g}; write 24 with a sum above 0")
    return values


HourWeights = Annotated[list[Amount], AfterValidator(_weights)]
DayShape = Annotated[
    Annotated[DayName, Tag("«name»")] | Annotated[HourWeights, Tag("«weights»")],
    Discriminator(lambda value: "«weights»" if isinstance(value, list) else "«name»"),
]
PeakFactor = Annotated[float, Field(ge=1, le=100)]
Noise = Annotated[float, Field(ge=0, le=2)]


class Forecast(Keys):
    """What every kind of traffic may say of how sure it is."""

    forecast_error: Share = key(
        "standard deviation of the requests that come from those written here, for `policy.confidence`", "share", 0.1, default=0.0
    )


class UserTraffic(Forecast):
    """A synthetic week, from the number of users."""

    daily_active_users: Positive = key("users on a weekday", "users/day", 1_000_000)
    conversations_per_user: Positive = key("conversations that a user starts a day", "1/day", 3.0)
    turns_per_conversation: PeakFactor = key("mean requests in a conversation", "requests", 2.5)
    day_shape: DayShape = key("name of a shape, or 24 weights", "", "consumer_chat", default="consumer_chat")
    weekend_factor: Annotated[float, Field(ge=0, le=10)] = key("volume of a weekend day / weekday", "", default=1.0)
    peak_minute_factor: PeakFactor = key("busiest minute / mean of the busiest hour; relay limits see it", "", default=1.17)
    minute_noise_cv: Noise = key("coefficient of variation of the rate from minute to minute", "", default=0.07)
    think_time_median_s: Annotated[float, Field(gt=0, le=86_400)] = key("median wait between answer and next turn", "s", default=73.7)
    think_time_sigma: Annotated[float, Field(ge=0, le=5)] = key("sigma of log(think time)", "", default=1.4)
    utc_offset_h: Annotated[float, Field(ge=-12, le=14)] | None = key(
        "clock of the day shape, ahead of UTC (8: Beijing); absent: not known, off-peak prices are not counted on", "h", 8, default=None
    )


class RateTraffic(Forecast):
    """The same rate in every hour."""

    rate_rps: Positive = key("requests of all classes together", "requests/s", 5)
    peak_minute_factor: PeakFactor = key("busiest minute / mean; relay limits see it", "", default=1.0)
    minute_noise_cv: Noise = key("coefficient of variation of the rate from minute to minute", "", default=0.07)


class ReplayTraffic(Forecast):
    """Replay of a request log."""

    log: FileName = key("request log (log-formats.md), plain or gzip, relative to the scenario file", "", "requests.csv.gz")
    scale: Positive = key("multiplies the rate of the log", "", default=1.0)


class VolumeTraffic(Forecast):
    """A synthetic week, from the requests of a month or of a weekday. Write one of the two."""

    requests_per_month: Positive | None = key("requests in a month of 730 hours", "requests", 8_000_000, default=None)
    requests_per_day: Positive | None = key("requests on a weekday", "requests", 250_000, default=None)
    turns_per_conversation: PeakFactor = key("mean requests in a conversation", "requests", 2.5, default=2.5)
    day_shape: DayShape = key("name of a shape, or 24 weights", "", "consumer_chat", default="consumer_chat")
    weekend_factor: Annotated[float, Field(ge=0, le=10)] = key("volume of a weekend day / weekday", "", default=1.0)
    peak_minute_factor: PeakFactor = key("busiest minute / mean of the busiest hour; relay limits see it", "", default=1.17)
    minute_noise_cv: Noise = key("coefficient of variation of the rate from minute to minute", "", default=0.07)
    utc_offset_h: Annotated[float, Field(ge=-12, le=14)] | None = key(
        "clock of the day shape, ahead of UTC (8: Beijing); absent: not known, off-peak prices are not counted on", "h", 8, default=None
    )

    @model_validator(mode="after")
    def _one(self) -> VolumeTraffic:
        _exactly_one(self, "requests_per_month", "requests_per_day")
        return self


class ConcurrentTraffic(Forecast):
    """A closed loop: so many users, each of whom sends the next request after the answer to the last one and a pause.

    The rate follows from the answers: users / (response time + think time). With a day shape the number is that of the busiest hour.
    """

    concurrent_users: Positive | None = key("users, calls or agents at once in the busiest hour", "users", 78, default=None)
    max_concurrency: Positive | None = key("the same as concurrent_users without pauses: so many requests are always open", "requests", 200,
        default=None)  # fmt: skip
    think_time_s: Annotated[float, Field(ge=0, le=86_400)] = key("mean pause between an answer and the next request", "s", 8, default=0.0)
    every_s: Annotated[float, Field(gt=0, le=86_400)] | None = key(
        "instead of a pause: each user sends a request every so many seconds", "s", 5, default=None
    )
    day_shape: DayShape | None = key("name of a shape, or 24 weights; absent: the same in every hour", "", "office", default=None)
    weekend_factor: Annotated[float, Field(ge=0, le=10)] = key("volume of a weekend day / weekday", "", default=1.0)
    peak_minute_factor: PeakFactor = key("busiest minute / mean of the busiest hour; relay limits see it", "", default=1.0)
    utc_offset_h: Annotated[float, Field(ge=-12, le=14)] | None = key(
        "clock of the day shape, ahead of UTC; absent: not known, off-peak prices are not counted on", "h", 8, default=None
    )

    @model_validator(mode="after")
    def _one(self) -> ConcurrentTraffic:
        _exactly_one(self, "concurrent_users", "max_concurrency")
        if self.every_s is not None and (self.think_time_s or self.max_concurrency is not None):
            wrong_alone("every_s says when each user sends the next request; write it with concurrent_users, and no think_time_s")
        if self.max_concurrency is not None and self.think_time_s:
            wrong_alone("max_concurrency has no pauses; write concurrent_users with think_time_s")
        return self


UNITS_S = {"s": 1.0, "sec": 1.0, "min": 60.0, "m": 60.0, "h": 3600.0, "hour": 3600.0, "d": 86_400.0, "day": 86_400.0, "week": 604_800.0}
SPAN = re.compile(r"\s*(\d+(?:\.\d+)?|)\s*([a-z]+?)s?\s*")


def span_s(value: Any) -> Any:
    """Seconds of a span such as "3 days", "72h", "90 min" or "day"; numbers are seconds already, what is no span comes back as it is.

    >>> span_s("3 days"), span_s("72h"), span_s("90 min"), span_s("day"), span_s(3600)
    (259200.0, 259200.0, 5400.0, 86400.0, 3600)
    """
    if not isinstance(value, str):
        return value
    found = SPAN.fullmatch(value.lower())
    unit = None if found is None else UNITS_S.get(found[2] if found[2] in UNITS_S else f"{found[2]}s")
    if found is None or unit is None:
        wrong("is no span of time; write for example 3 days, 72h or 90min")
    return float(found[1] or 1.0) * unit


Span = Annotated[float, BeforeValidator(span_s), Field(ge=60, le=366 * 86_400)]


class JobSpec(Keys):
    """Work that is done once, or again and again."""

    amount: Positive = key("requests of the whole job; of one run where it comes again", "requests", 10_000_000)
    deadline: Span = key("by when all of it is done, counted from its start: 3 days, 72h, or seconds", "s", "3 days")
    every: Annotated[float, BeforeValidator(span_s), Field(ge=3600, le=31 * 86_400)] | None = key(
        "how often it comes again: day, week, 12h; absent: it is done once", "s", "day", default=None
    )

    @model_validator(mode="after")
    def _done_before_the_next(self) -> JobSpec:
        if self.every is not None and self.deadline > self.every:
            again, done = self.every / 3600, self.deadline / 3600
            wrong_alone(f"comes again every {again:g} h, before its deadline of {done:g} h; write a deadline that is no longer")
        return self


class JobTraffic(Forecast):
    """A job within its deadline: done once, and the month's cost is the cost of the job, or in every run of a month."""

    job: JobSpec = key("how much, by when, and how often", "", {"amount": 10_000_000, "deadline": "3 days"})


FORMS = {
    "log": "«log»",
    "rate_rps": "«rate»",
    "job": "«job»",
    "concurrent_users": "«concurrent»",
    "max_concurrency": "«concurrent»",
    "requests_per_month": "«volume»",
    "requests_per_day": "«volume»",
}


def _exactly_one(spec: Keys, *names: str) -> None:
    if sum(getattr(spec, name) is not None for name in names) != 1:
        wrong_alone(f"write one of {' and '.join(names)}")


def _traffic_form(value: Any) -> str | None:
    """The form that a key of the mapping tells; traffic from users where none does."""
    if not isinstance(value, dict):
        return None
    return next((form for name, form in FORMS.items() if name in value), "«users»")


Traffic = Annotated[
    Annotated[UserTraffic, Tag("«users»")]
    | Annotated[VolumeTraffic, Tag("«volume»")]
    | Annotated[RateTraffic, Tag("«rate»")]
    | Annotated[ConcurrentTraffic, Tag("«concurrent»")]
    | Annotated[JobTraffic, Tag("«job»")]
    | Annotated[ReplayTraffic, Tag("«log»")],
    Discriminator(
        _traffic_form,
        custom_error_type="form",
        custom_error_message="is not traffic; write {daily_active_users: ...}, {requests_per_month: ...}, {rate_rps: ...}, "
        "{concurrent_users: ...}, {job: {amount: ..., deadline: ...}} or {log: FILE}",
    ),
]
