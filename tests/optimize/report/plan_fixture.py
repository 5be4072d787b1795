"""A plan written by hand: two pools, two relays, four classes, 48 hours; every number of it can be checked on paper."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from statistics import NormalDist

import numpy as np

from optimize.records import (
    Alternative,
    CostLine,
    Dropped,
    Flip,
    LoadLevel,
    PoolOption,
    PoolTerms,
    ProgramInput,
    ProgramSolution,
    RelayTerms,
    SloRow,
    SloVerdict,
    Verification,
)
from optimize.result import Plan
from optimize.search.hour_evidence import SHARES
from sim.catalog.facts import Catalog, Gpu, Model, Offer, Relay, Source, WeightFormat
from sim.engine.deployment import Deployment
from sim.requests import Demand
from sim.scenario.scenario import Budget, Policy, RequestClass, Scenario, Slo, SyntheticTraffic, Tokens

SOURCE = Source("made up for this test", "2026-11-30")
SLICES = tuple(f"{day} {hour:02d}" for day in ("weekday", "weekend") for hour in range(24))
WEIGHT_H = np.array([730 * 5 / 7 / 24] * 24 + [730 * 2 / 7 / 24] * 24)
CLASSES = ("chat", "records", "reasoning", "faq")


def gpu(name: str, memory: float) -> Gpu:
    return Gpu(name, memory, 1e12, {"bf16": 3e14, "fp8": 6e14}, "pcie", 6.4e10, 350.0, SOURCE)


def model(name: str, parameters: float) -> Model:
    return Model(name, parameters, parameters, 80, 8192, 64, 8, 128, 28672, 128256, 131072, SOURCE)


def relay(name: str, served: str, usd_in: float, usd_out: float, cached: float | None) -> Relay:
    return Relay(
        id=name, vendor=name.split(".")[0], model=served, usd_per_mtok_input=usd_in, usd_per_mtok_output=usd_out,
        usd_per_mtok_cached=cached, ttft_p50_s=0.4, ttft_sigma=0.3, tokens_per_s=60.0, tokens_sigma=0.2,
        source=SOURCE, latency_source=SOURCE, rpm=10_000.0, tpm=10e6, negotiable=True,
    )  # fmt: skip


def pool(offer: Offer, served: Model, tensor_parallel: int, device: Gpu, classes: tuple[int, ...], per_s: float) -> PoolTerms:
    """A pool of one replica a host, which carries `per_s` requests a second of each of its classes."""
    fp8 = WeightFormat("fp8", 1.0, "fp8", "fp8", SOURCE)
    tail = f"/tp{tensor_parallel}" if tensor_parallel > 1 else ""
    names = "+".join(CLASSES[c] for c in classes)
    option = PoolOption(
        id=f"{offer.id}/{served.id}/fp8{tail}:{names}",
        offer=offer,
        deployment=Deployment(served, fp8, device, tensor_parallel),
        replicas_per_host=1,
        classes=classes,
    )
    load = np.array([1 / per_s if c in classes else np.inf for c in range(4)])
    return PoolTerms(option, (LoadLevel(load, np.zeros(6)),), 1.0, 0.0, True)


def demand() -> Demand:
    day = 60 + 50 * np.sin((np.arange(24) - 8) / 24 * 2 * np.pi)
    total = np.concatenate([day, 0.85 * day])
    shares = np.array([0.55, 0.15, 0.05, 0.25])
    return Demand(
        slices=SLICES,
        weight_h=WEIGHT_H,
        mean_rps=shares[:, None] * total,
        peak_factor=1.17,
        input_tokens=np.array([1200.0, 1500.0, 900.0, 600.0]),
        output_tokens=np.array([280.0, 220.0, 1400.0, 120.0]),
        prefix_tokens=np.array([700.0, 500.0, 500.0, 500.0]),
    )


def scenario() -> Scenario:
    tokens = Tokens((0.0, 1.0), (100.0, 300.0), 200.0)
    slo = {
        "chat": (Slo("ttft", 0.95, 1.0), Slo("tpot", 0.95, 0.05)),
        "records": (Slo("ttft", 0.95, 1.5),),
        "reasoning": (Slo("e2e", 0.9, 60.0),),
        "faq": (Slo("ttft", 0.99, 1.0), Slo("tpot", 0.95, 0.05)),
    }
    classes = tuple(
        RequestClass(name, share, "chat", name, tokens, None, tokens, ("llama-3.1-70b",), slo[name])
        for name, share in zip(CLASSES, (0.55, 0.15, 0.05, 0.25), strict=True)
    )
    weights = tuple([1 / 24] * 24)
    return Scenario(
        name="by_hand",
        description="A chatbot written by hand for the report's tests",
        seed=1,
        path=Path("by_hand.yaml"),
        digest="0123456789abcdef",
        traffic=SyntheticTraffic(1e6, 3.0, 2.5, weights, 0.85, 1.17),
        request_classes=classes,
        offers=(),
        relays=(),
        weights=("fp8",),
        tensor_parallel=(1, 2),
        measured_capacity=None,
        budget=Budget(40_000.0, "USD"),
        policy=Policy(),
        catalog=Catalog({}, {}, {}, {}, {}, (), "2026-11-30", "fedcba9876543210"),
    )


def program() -> ProgramInput:
    h100, l40s = gpu("h100", 80e9), gpu("l40s", 48e9)
    elastic = Offer("neo.h100x2", "neo", "h100", 2, 4.58, "on_demand", SOURCE, elastic=True)
    reserved = Offer("aws.g6e.xlarge", "aws", "l40s", 1, 1.12, "reserved_1y", SOURCE)
    strong = relay("lab.thinker", "thinker", 2.0, 8.0, 0.5)
    cheap = relay("host.llama-3.1-70b", "llama-3.1-70b", 0.1, 0.32, None)
    slos = tuple(
        SloRow(c, slo.metric, slo.quantile, slo.limit_s)
        for c, request_class in enumerate(scenario().request_classes)
        for slo in request_class.slo
    )
    volume = demand()
    tokens = volume.input_tokens + volume.output_tokens
    thinker_usd = (400 * 2.0 + 500 * 0.5 + 1400 * 8.0) / 1e6  # 500 of the 900 prompt tokens are cached
    cheap_usd = (1200 * 0.1 + 280 * 0.32) / 1e6
    inf = np.inf
    return ProgramInput(
        demand=volume,
        slos=slos,
        pools=(
            pool(elastic, model("llama-3.1-70b", 70e9), 2, h100, (0, 1), 14.0),
            pool(reserved, model("llama-3.1-8b", 8e9), 1, l40s, (3,), 7.0),
        ),
        relays=(
            RelayTerms(strong, np.arange(4) == 2, np.array([inf, inf, thinker_usd, inf]), tokens, np.zeros(6), False),
            RelayTerms(cheap, np.arange(4) == 0, np.array([cheap_usd, inf, inf, inf]), tokens, np.zeros(6), False),
        ),
        budget_usd=40_000.0,
        max_relay_share=1.0,
        n_plus_one=False,
        class_names=CLASSES,
        fixed_usd=500.0,
    )


def solution() -> ProgramSolution:
    volume = demand().mean_rps
    pool_flow, relay_flow = np.zeros((2, 4, 48)), np.zeros((2, 4, 48))
    pool_flow[0, 0], relay_flow[1, 0] = 0.7 * volume[0], 0.3 * volume[0]
    pool_flow[0, 1], relay_flow[0, 2], pool_flow[1, 3] = volume[1], volume[2], volume[3]
    follow = np.ceil(pool_flow[0].sum(axis=0) / 14).astype(np.int64)
    flat = np.full(48, 4, dtype=np.int64)
    hosts = np.stack([follow, flat])
    lines = cost_lines()
    total = sum(line.per_month_usd for line in lines)
    return ProgramSolution(
        hosts=hosts,
        billed=hosts.copy(),
        pool_flow=pool_flow,
        relay_flow=relay_flow,
        unserved=np.zeros((4, 48)),
        cost_usd=total,
        model_bound_usd=0.985 * total,
        status="gap_limit",
        solver="HiGHS",
        gap=0.015,
    )


def cost_lines() -> tuple[CostLine, ...]:
    return (
        CostLine("neo.h100x2/llama-3.1-70b/fp8/tp2:chat+records", "gpu", 11_234.565, "2,453 host-hours at $4.58"),
        CostLine("aws.g6e.xlarge/llama-3.1-8b/fp8:faq", "gpu", 3_270.4, "4 hosts x 730 h at $1.12"),
        CostLine("lab.thinker", "relay", 18_765.4349, "7.30 M requests"),
        CostLine("host.llama-3.1-70b", "relay", 5_012.3349, "24.1 M requests"),
        CostLine("gateway and monitoring", "fixed", 500.0, "as stated in the scenario"),
    )


def ladder(row: SloRow, simulated_s: float) -> tuple[tuple[float, float], ...]:
    """A log-normal latency whose promised quantile is `simulated_s`."""
    z = NormalDist().inv_cdf
    shares = sorted({*SHARES, row.quantile})
    return tuple((share, simulated_s * math.exp(0.4 * (z(min(share, 0.9999)) - z(row.quantile)))) for share in shares)


def verification(slos: tuple[SloRow, ...]) -> Verification:
    said = ((0.83, 0.02), (0.0447, 0.0008), (0.9, 0.03), (41.2, 0.7), (0.61, 0.02), (0.0312, 0.0004))
    verdicts = tuple(
        SloVerdict(
            row=row,
            hour="weekday 14",
            simulated_s=s,
            ci95_s=(s - half, s + half),
            attainment=min(1.0, row.quantile + 0.02),
            attainment_ci95=(row.quantile, 1.0),
            requests=61_234,
            met=True,
            distribution=ladder(row, s),
        )
        for row, (s, half) in zip(slos, said, strict=True)
    )
    return Verification((9001, 9002, 9003), ("weekday 14", "weekday 20", "weekend 14"), 1_103_456, verdicts, True)


def plan() -> Plan:
    """The whole plan, met."""
    problem = program()
    return Plan(
        scenario=scenario(),
        demand=problem.demand,
        program=problem,
        solution=solution(),
        status="met",
        lines=cost_lines(),
        verification=verification(problem.slos),
        fluid_bound_usd=24_000.0,
        alternatives=(
            Alternative("all relay", "infeasible", None, "records may not leave own GPUs"),
            Alternative("all self-hosted", "met", 44_120.0, "reasoning has no open model", True),
            Alternative("h100 only", "met", 41_377.25, "", False),
            Alternative("l40s only", "over_budget", 61_000.0, "70B needs tp4 over PCIe", False),
        ),
        flips=(
            Flip("h100 price", 2.29, 3.31, "h100 leaves the plan above about $3.31 per GPU-hour (cheapest offer today $2.29)"),
            Flip("l40s price", 1.12, None, "l40s stays in the plan even at $4.48 per GPU-hour (today $1.12)"),
        ),
        dropped=tuple(Dropped(f"t4.{i}/llama-3.1-70b/fp8", "t4 cannot multiply fp8") for i in range(8)),
        binding=("neo.h100x2: 97% of measured capacity at weekday 14",),
        demand_band=((3.0, 16_500.0), (7.5, 38_782.73), (20.0, 101_900.0)),
        rounds=2,
        assumptions=("Arrivals are Poisson within each minute.", "Relay latency is stationary: no outage."),
        warnings=("lab.thinker: thinker retires on 2027-06-30",),
    )


def over_budget() -> Plan:
    """The same plan where the budget leaves a tenth of the chat unserved in every hour."""
    whole = plan()
    answer = whole.solution
    unserved = answer.unserved.copy()
    unserved[0] = 0.1 * whole.demand.mean_rps[0]
    relay_flow = answer.relay_flow.copy()
    relay_flow[1, 0] -= unserved[0]
    short = replace(answer, unserved=unserved, relay_flow=relay_flow)
    return replace(whole, solution=short, status="over_budget", verification=None, flips=(), demand_band=())
