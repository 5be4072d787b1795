"""One deployment of a serving estimate: what it holds, how fast it is at batch 1 and at the knee, what that costs; and the ranking."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from optimize.estimate.question import Question
from optimize.estimate.rental import cheapest_host, cheapest_hosts
from optimize.estimate.serving_point import Load, Rates, knee, ladder, largest_safe_batch, rates
from optimize.money.amounts import per_unit_usd
from optimize.money.utilisation import always_on_usd, capacity_mtok, usd_per_mtok
from sim.catalog.facts import CalibrationRow, Catalog, Gpu, WeightFormat
from sim.engine.deployment import BLOCK_TOKENS, Deployment
from sim.engine.memory import kv_blocks, kv_memory_bytes, room_tokens, weight_bytes
from sim.engine.step_cost import best_row

UNSOLD = "no on-demand offer in the catalogue"
UNCALIBRATED = "not calibrated: data-sheet physics"
POOR_FIT = 0.25  # median relative error of throughput above which a row says so
WIDEST = 4  # groups up to four times the smallest that fits are looked at: wider ones are for the fastest answers, not for a first estimate
WH_J = 3600.0
GB = 1e9
Json = dict[str, Any]


@dataclass(frozen=True)
class Point:
    """A replica at one batch size. Money is of the cheapest on-demand host, None where no offer sells the device.

    `usd_per_mtok` divides by answer tokens (their prompts are computed in the same time), `usd_per_mtok_all` by prompt and answer
    tokens. `energy_wh` per answer at full board power of the GPUs, host and cooling not counted.
    """

    batch: float
    tokens_per_s: float
    requests_per_s: float
    tpot_s: float
    usd_per_mtok: float | None
    usd_per_mtok_all: float | None
    energy_wh: float


@dataclass(frozen=True)
class Fleet:
    """The replicas that hold a concurrency without preemption, one of them at its share of it, and whole hosts for them all."""

    replicas: int
    gpus: int
    point: Point  # its money is that of the whole hosts
    offer: str | None
    hosts: int
    usd_per_hour: float | None


@dataclass(frozen=True)
class Row:
    """A deployment that fits; `largest_batch` requests at full length fit in its KV cache."""

    deployment: Deployment
    weight_bytes: float
    kv_tokens: int
    largest_batch: int
    single: Point
    knee: Point
    fleet: Fleet | None
    offer: str | None
    usd_per_hour: float | None  # of one replica, as a share of its host
    calibrated: bool
    reasons: tuple[str, ...]

    @property
    def judged(self) -> Point:
        """The point that the ranking looks at: the asked concurrency, else the knee."""
        return self.fleet.point if self.fleet else self.knee

    def as_json(self) -> Json:
        d = self.deployment
        return {
            "gpu": d.gpu.id,
            "weights": d.weights.id,
            "tensor_parallel": d.tensor_parallel,
            "weight_bytes": self.weight_bytes,
            "kv_tokens": self.kv_tokens,
            "largest_batch": self.largest_batch,
            "batch_1": asdict(self.single),
            "knee": asdict(self.knee),
            "at_concurrency": None if self.fleet is None else asdict(self.fleet),
            "offer": self.offer,
            "usd_per_hour": self.usd_per_hour,
            "calibrated": self.calibrated,
            "reasons": list(self.reasons),
        }


@dataclass(frozen=True)
class Refused:
    """A device and format on which the model does not run, and why."""

    gpu: str
    weights: str
    reason: str


def evaluate(question: Question, gpu: Gpu, weights: WeightFormat, catalog: Catalog) -> tuple[list[Row], list[Refused]]:
    """The groups of `gpu` that hold the model and one request, from the smallest to four times that; or the reason why none does."""
    if gpu.flops.get(weights.needs, 0) <= 0:
        return [], [Refused(gpu.id, weights.id, f"no {weights.needs} arithmetic")]
    found: list[Row] = []
    reason = ""
    sizes = [n for n in question.groups if question.model.heads % n == 0 and (n == 1 or gpu.link != "none")]
    for size in sizes:
        if found and size > WIDEST * found[0].deployment.tensor_parallel:
            break
        deployment = Deployment(question.model, weights, gpu, size, kv_bytes_per_number=2 if question.kv == "bf16" else 1)
        if largest_safe_batch(deployment, question.context) > 0:
            found.append(row_of(deployment, question, catalog))
        else:
            reason = why_not(deployment, question.context)
    return found, [] if found else [Refused(gpu.id, weights.id, reason or "its attention heads do not split over such a group")]


def why_not(deployment: Deployment, context: int) -> str:
    """What does not fit, in GB or tokens."""
    size = deployment.tensor_parallel
    where = f"{size} GPUs" if size > 1 else "1"
    need, left = weight_bytes(deployment.model, deployment.weights), kv_memory_bytes(deployment) * size
    if left <= 0:
        return f"weights {need / GB:.0f} GB > {max(left + need, 0) / GB:.1f} GB usable on {where}"
    room = room_tokens(deployment)
    return f"a request of {context:,} tokens > {room:,} tokens of KV cache on {where}"


def row_of(deployment: Deployment, question: Question, catalog: Catalog) -> Row:
    """All figures of a deployment that fits."""
    load, calibration = question.load, catalog.calibration
    largest = largest_safe_batch(deployment, question.context)
    priced = cheapest_host(catalog, deployment.gpu.id, deployment.tensor_parallel)
    usd = None if priced is None else priced[1]
    replicas = math.ceil((question.concurrency or 1) / largest)
    batches = ladder(largest)
    asked = np.concatenate([batches, batches / 2, [1.0, (question.concurrency or 1) / replicas]])
    found = rates(deployment, calibration, load, asked)
    at = knee(found.tokens_per_s[: len(batches)], found.tokens_per_s[len(batches) : 2 * len(batches)])
    fleet = None if question.concurrency is None else fleet_of(deployment, catalog, load, replicas, found)
    row = best_row(deployment, calibration)
    calibrated = row is not None and row.points > 0 and row.gpu != "*"
    return Row(
        deployment=deployment,
        weight_bytes=weight_bytes(deployment.model, deployment.weights),
        kv_tokens=kv_blocks(deployment) * BLOCK_TOKENS,
        largest_batch=largest,
        single=point_of(deployment, load, found, -2, usd),
        knee=point_of(deployment, load, found, at, usd),
        fleet=fleet,
        offer=None if priced is None else priced[0].id,
        usd_per_hour=usd,
        calibrated=calibrated,
        reasons=reasons_of(deployment, row if calibrated else None, largest, priced is not None),
    )


def fleet_of(deployment: Deployment, catalog: Catalog, load: Load, replicas: int, found: Rates) -> Fleet:
    """`replicas` replicas, each with the load of the last entry of `found`, on the cheapest whole hosts."""
    size = deployment.tensor_parallel
    rented = cheapest_hosts(catalog, deployment.gpu.id, size, replicas)
    if rented is None:
        return Fleet(replicas, replicas * size, point_of(deployment, load, found, -1, None), None, 0, None)
    offer, hosts, usd = rented
    return Fleet(replicas, replicas * size, point_of(deployment, load, found, -1, per_unit_usd(usd, replicas)), offer.id, hosts, usd)


def point_of(deployment: Deployment, load: Load, found: Rates, at: int, usd: float | None) -> Point:
    """Entry `at` of `found` with money and energy; `usd` per hour of the replica."""
    tokens, requests = float(found.tokens_per_s[at]), float(found.requests_per_s[at])
    return Point(
        batch=float(found.batch[at]),
        tokens_per_s=tokens,
        requests_per_s=requests,
        tpot_s=float(found.tpot_s[at]),
        usd_per_mtok=None if usd is None else mtok_usd(usd, tokens),
        usd_per_mtok_all=None if usd is None else mtok_usd(usd, requests * load.context_tokens),
        energy_wh=deployment.gpu.tdp_w * deployment.tensor_parallel / requests / WH_J,
    )


def mtok_usd(usd_per_hour: float, tokens_per_s: float) -> float:
    """Dollars of a million tokens at that rate, busy all the time.

    >>> round(mtok_usd(3.6, 1000.0), 6)
    1.0
    """
    return usd_per_mtok(always_on_usd(usd_per_hour), capacity_mtok(tokens_per_s))


def reasons_of(deployment: Deployment, calibration: CalibrationRow | None, largest: int, sold: bool) -> tuple[str, ...]:
    """What speaks against a row, or must be known of it."""
    gpu, words = deployment.gpu, []
    if not sold:
        words.append(UNSOLD)
    if calibration is None:
        words.append(UNCALIBRATED)
    elif calibration.error.get("throughput_median", 0.0) > POOR_FIT:
        error = calibration.error["throughput_median"]
        words.append(f"throughput in {deployment.weights.id} is off by {error:.0%} (median) on {calibration.points} measured points")
    if deployment.tensor_parallel > 2 and gpu.link == "pcie":
        words.append("all-reduces cross PCIe")
    if largest < 4:
        words.append(f"only {largest} requests of that length at once")
    if gpu.caveat:
        words.append(gpu.caveat)
    return tuple(words)


def ranked(rows: list[Row], concurrency: int | None) -> tuple[Row, ...]:
    """Cheapest answer tokens first, at the asked concurrency or else at the knee; rows without a price behind, fastest per GPU first."""

    def key(row: Row) -> tuple[bool, float, str]:
        price = row.judged.usd_per_mtok
        second = -row.judged.tokens_per_s / row.deployment.tensor_parallel if price is None else price
        return price is None, second, row.deployment.id

    return tuple(sorted(rows, key=key))
