"""What the fit may move: few physics parameters that all points share, and small factors around them that shrink to 1.

A coefficient of a point is default x exp(sum of the parameters that speak about it). Parameters are logarithms with a normal prior around
0: the less a factor is seen in the data, the closer it stays to what other GPUs and engines do.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sim.calibration.points import Point
from sim.engine.deployment import Deployment
from sim.engine.physics import COEFFICIENTS, defaults
from sim.engine.release import lineage

Floats = npt.NDArray[np.float64]
CEILING = {  # shares of a peak
    "bandwidth_efficiency": 0.95,
    "kv_efficiency": 0.95,
    "compute_efficiency": 1.0,
    "attention_efficiency": 0.9,
    "allreduce_efficiency": 1.0,
}
BASE_ENGINE = "vllm-v1"  # the others are factors on it
SHARED_PRIOR = {name: 0.5 for name in COEFFICIENTS if not name.startswith("expert")} | {
    "compute_efficiency": 0.15,
    "bandwidth_efficiency": 0.04,  # operator tables of five GPUs say 0.67 to 0.85
    "overlap_p": 0.25,
    "kv_efficiency": 0.15,
    "attention_efficiency": 0.3,
    "elementwise_passes": 0.4,
    "allreduce_latency_s": 0.4,  # operator tables of A100, H100, H200, B200 and L40S say 4.3 to 6.6 us under vLLM, without waiting
    "allreduce_hop_s": 0.7,
    "allreduce_bus_hop_s": 0.3,
    "allreduce_efficiency": 0.15,  # ... and 0.5 to 0.8
}
FORMAT_PRIOR = {"compute_efficiency": 0.6, "bandwidth_efficiency": 0.25, "compute_half_tokens": 0.5, "layer_s": 0.7}
ENGINE_PRIOR = {
    "step_s": 0.7,
    "group_s": 0.7,
    "layer_s": 0.5,
    "sequence_s": 0.7,
    "request_s": 0.7,
    "compute_efficiency": 0.15,
    "kv_efficiency": 0.15,
    "bandwidth_efficiency": 0.04,
    "elementwise_passes": 0.3,
    "allreduce_latency_s": 0.3,
    "allreduce_efficiency": 0.2,
}
ENGINE_FORMAT_PRIOR = {"compute_efficiency": 0.2, "bandwidth_efficiency": 0.1, "layer_s": 0.4}
GPU_PRIOR = {
    "compute_efficiency": 0.2,
    "bandwidth_efficiency": 0.06,
    "kv_efficiency": 0.2,
    "attention_efficiency": 0.2,
    "layer_s": 0.3,
    "step_s": 0.4,
    "request_s": 0.3,
}
GPU_FORMAT_PRIOR = {"compute_efficiency": 0.2, "bandwidth_efficiency": 0.1}
GPU_ENGINE_PRIOR = {"step_s": 0.3, "sequence_s": 0.3}
PCIE_PRIOR = {"allreduce_latency_s": 0.5, "allreduce_bus_hop_s": 0.7, "allreduce_efficiency": 0.3, "allreduce_contention": 0.5}
NO_PEER = ("rtx3090", "rtx4090")  # GeForce drivers let cards talk through host memory only
NO_PEER_PRIOR = {"allreduce_latency_s": 0.7, "allreduce_bus_hop_s": 1.0, "allreduce_efficiency": 0.4}
GPU_LINK_PRIOR = {"allreduce_latency_s": 0.2, "allreduce_efficiency": 0.2, "group_s": 0.3}
GPU_BUS_PRIOR = {"allreduce_latency_s": 0.5, "allreduce_bus_hop_s": 0.8, "allreduce_efficiency": 0.4}  # one PCIe box is not like another
MIXTURE_PRIOR = {"expert_compute": 0.4, "expert_bandwidth": 0.2, "expert_layer_s": 0.7}
MIXTURE_CELL_PRIOR = {"expert_compute": 0.2, "expert_bandwidth": 0.15, "expert_layer_s": 0.4}


@dataclass(frozen=True)
class Parameter:
    """One logarithm that the fit may move: it speaks about `coefficient` of the points in its `scope`; `sd` is that of the prior."""

    coefficient: str
    scope: tuple[str, ...]
    sd: float


def scopes(deployment: Deployment, everything: bool = False) -> dict[tuple[str, ...], dict[str, float]]:
    """All scopes that `deployment` belongs to, each with the coefficients it may move and their prior width.

    `everything`: also those of coefficients that this deployment does not use and another of the same GPU, engine and format would.
    """
    gpu, weights = deployment.gpu, deployment.weights.id
    engines = [name for name in lineage(deployment.engine) if name != BASE_ENGINE]
    found: dict[tuple[str, ...], dict[str, float]] = {("all",): SHARED_PRIOR, ("gpu", gpu.id): GPU_PRIOR}
    if weights != "bf16":
        found["format", weights] = FORMAT_PRIOR
        found["gpu+format", gpu.id, weights] = GPU_FORMAT_PRIOR
    for engine in engines:
        found["engine", engine] = ENGINE_PRIOR
        found["gpu+engine", gpu.id, engine] = GPU_ENGINE_PRIOR
        if weights != "bf16":
            found["engine+format", engine, weights] = ENGINE_FORMAT_PRIOR
    if deployment.tensor_parallel > 1 or everything:
        found["link", gpu.id] = GPU_LINK_PRIOR
        if gpu.link != "nvlink":
            found["pcie",] = PCIE_PRIOR
            found["bus", gpu.id] = GPU_BUS_PRIOR
        if gpu.id in NO_PEER:
            found["no peer access",] = NO_PEER_PRIOR
    if deployment.model.experts > 1 or everything:
        found["mixture",] = MIXTURE_PRIOR
        found["mixture+format", weights] = MIXTURE_CELL_PRIOR
        found["mixture+gpu", gpu.id] = MIXTURE_CELL_PRIOR
        for engine in engines:
            found["mixture+engine", engine] = MIXTURE_CELL_PRIOR
    return found


def bend(name: str, logarithm: Floats, start: float | None = None) -> Floats:
    """The coefficient `name` at this sum of parameters: start x exp(sum) near 0, and never above its ceiling.

    `start` is the default of the coefficient unless given. A share of a peak follows a logistic curve that starts with the slope of the
    exponential.

    >>> float(bend("bandwidth_efficiency", np.array([9.0]))[0]) <= 0.95
    True
    """
    start, ceiling = defaults()[name] if start is None else start, CEILING.get(name)
    if ceiling is None:
        return start * np.exp(logarithm)
    share = min(start / ceiling, 0.999)
    return ceiling / (1.0 + (1.0 / share - 1.0) * np.exp(-logarithm / (1.0 - share)))


@dataclass(frozen=True)
class Design:
    """Parameters, and which points each one moves: `members[j]` are indices of points. `start` holds coefficients at parameters of 0."""

    parameters: tuple[Parameter, ...]
    members: tuple[npt.NDArray[np.int64], ...]
    size: int
    start: Mapping[str, float]

    def bend(self, name: str, sums: Floats) -> Floats:
        """The coefficient `name` of points with these sums of parameters."""
        return bend(name, sums, self.start[name])

    def sums(self, theta: Floats) -> dict[str, Floats]:
        """[points] sum of the parameters that speak about each coefficient."""
        found = {name: np.zeros(self.size) for name in COEFFICIENTS}
        for value, parameter, members in zip(theta, self.parameters, self.members, strict=True):
            found[parameter.coefficient][members] += value
        return found

    def coefficients(self, theta: Floats) -> dict[str, Floats]:
        """[points] values of each coefficient at `theta`."""
        return {name: self.bend(name, values) for name, values in self.sums(theta).items()}


def design_of(deployments: Sequence[Deployment]) -> Design:
    """The design for points on `deployments`, parameters in a fixed order."""
    members: dict[tuple[str, tuple[str, ...], float], list[int]] = {}
    for index, deployment in enumerate(deployments):
        for scope, priors in scopes(deployment).items():
            for name, sd in priors.items():
                members.setdefault((name, scope, sd), []).append(index)
    keys = sorted(members)
    return Design(
        tuple(Parameter(*key) for key in keys),
        tuple(np.array(members[key], dtype=np.int64) for key in keys),
        len(deployments),
        defaults(),
    )


def coefficients_for(deployment: Deployment, parameters: Sequence[Parameter], theta: Floats) -> dict[str, float]:
    """Coefficients of any deployment, one without points included: factors that no point has seen are 1."""
    known = scopes(deployment, everything=True)
    sums = dict.fromkeys(COEFFICIENTS, 0.0)
    for parameter, value in zip(parameters, theta, strict=True):
        if parameter.coefficient in known.get(parameter.scope, ()):
            sums[parameter.coefficient] += float(value)
    return {name: float(bend(name, np.array(value))) for name, value in sums.items()}


def group_weights(points: Sequence[Point]) -> Floats:
    """Weight of each point: a group of n points counts as n^0.6, and half of it where the source is of quality B."""
    sizes: dict[str, int] = {}
    for point in points:
        sizes[point.group] = sizes.get(point.group, 0) + 1
    return np.array([sizes[p.group] ** -0.4 * (1.0 if p.quality == "A" else 0.6) for p in points])
