"""Traffic as people state it -> the rates that the rest of the program plans with."""

from __future__ import annotations

from pathlib import Path

from sim.scenario import shapes
from sim.scenario.scenario import ConstantTraffic, Job, LogTraffic, Loop, RequestClass, SyntheticTraffic, Tokens
from sim.scenario.schema.traffic import ConcurrentTraffic, JobTraffic, RateTraffic, ReplayTraffic, UserTraffic, VolumeTraffic

HOUR_S, DAY_S, MONTH_H = 3600.0, 86_400.0, 730.0
WEEKDAYS, WEEKEND_DAYS = MONTH_H / 24 * 5 / 7, MONTH_H / 24 * 2 / 7  # of a month
PART_OF_LIMIT = 0.5  # of a promised time, for the mean of an answer before anything is simulated
DOUBT = "forecast_error"  # of the scenario, not of the rates
UNPROMISED_S = (0.5, 0.03)  # first token, and each further one, where no promise says more

Traffic = SyntheticTraffic | ConstantTraffic | LogTraffic
TrafficSpec = UserTraffic | VolumeTraffic | RateTraffic | ConcurrentTraffic | JobTraffic | ReplayTraffic


def traffic_of(spec: TrafficSpec, classes: tuple[RequestClass, ...], folder: Path) -> Traffic:
    """The traffic that `spec` means. A log is relative to `folder`; `classes` tell how long an answer may take in a closed loop."""
    if isinstance(spec, ReplayTraffic):
        return LogTraffic(folder / spec.log, spec.scale)
    if isinstance(spec, RateTraffic):
        return ConstantTraffic(**spec.model_dump(exclude={DOUBT}))
    if isinstance(spec, JobTraffic):
        every_h = None if spec.job.every is None else spec.job.every / HOUR_S
        return job_traffic(Job(spec.job.amount, spec.job.deadline / HOUR_S, every_h))
    if isinstance(spec, ConcurrentTraffic):
        return _concurrent(spec, classes)
    if isinstance(spec, VolumeTraffic):
        return _volume(spec)
    return SyntheticTraffic(hour_weights=_weights(spec.day_shape), **spec.model_dump(exclude={"day_shape", DOUBT}))


def job_traffic(job: Job) -> ConstantTraffic:
    """A job spread evenly over its deadline, in each of its runs; one of more than a month runs at its rate all month long."""
    rate_rps = job.amount / job.deadline_h / HOUR_S
    return ConstantTraffic(rate_rps, 1.0, 0.0, job=job, busy_h=min(job.deadline_h * job.runs, MONTH_H))


def _weights(day: str | list[float]) -> tuple[float, ...]:
    return shapes.load().days[day] if isinstance(day, str) else shapes.normalised(day)


def _volume(spec: VolumeTraffic) -> SyntheticTraffic:
    a_day = spec.requests_per_day
    if a_day is None:
        assert spec.requests_per_month is not None
        a_day = spec.requests_per_month / (WEEKDAYS + WEEKEND_DAYS * spec.weekend_factor)
    more = spec.model_dump(exclude={"day_shape", "requests_per_month", "requests_per_day", DOUBT})
    turns = spec.turns_per_conversation
    return SyntheticTraffic(a_day / turns, 1.0, hour_weights=_weights(spec.day_shape), counted_in="requests", **more)


def _concurrent(spec: ConcurrentTraffic, classes: tuple[RequestClass, ...]) -> SyntheticTraffic | ConstantTraffic:
    """Rates before anything is simulated: answers are taken to last half of what they may."""
    users = spec.concurrent_users or spec.max_concurrency
    assert users is not None
    loop = None if spec.every_s is not None else Loop(users, spec.think_time_s)
    cycle_s = spec.every_s if spec.every_s is not None else spec.think_time_s + sum(each.share * _answer_s(each) for each in classes)
    noise = 0.0 if loop is not None else 0.07
    if spec.day_shape is None:
        return ConstantTraffic(users / cycle_s, spec.peak_minute_factor, noise, loop=loop)
    weights = _weights(spec.day_shape)
    a_day = users / cycle_s * HOUR_S / max(weights)
    return SyntheticTraffic(
        a_day,
        1.0,
        1.0,
        weights,
        spec.weekend_factor,
        spec.peak_minute_factor,
        noise,
        utc_offset_h=spec.utc_offset_h,
        loop=loop,
        counted_in="requests",
    )


def _answer_s(each: RequestClass) -> float:
    """Mean seconds of an answer, guessed from its promises."""
    limits = {row.metric: row.limit_s for row in reversed(each.slo)}
    if "e2e" in limits:
        return PART_OF_LIMIT * limits["e2e"]
    first, further = (
        PART_OF_LIMIT * limits[name] if name in limits else usual for name, usual in zip(("ttft", "tpot"), UNPROMISED_S, strict=True)
    )
    return first + further * _mean(each.output_tokens)


def _mean(tokens: Tokens) -> float:
    return tokens.mean
