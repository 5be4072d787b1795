"""The same answer on every processor: nothing that decides sums by BLAS, or takes an exponential of the C library at its word.

The first test reads the source; the others play other processors by switching off what this one has: another kernel of OpenBLAS, numpy
without its vector code, a C library without fused multiplication.
"""

from __future__ import annotations

import ast
import hashlib
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from sim.exact import exp, log, power

ROOT = Path(__file__).resolve().parents[1]
DECIDE = (
    *("sim/traffic", "sim/relay", "sim/engine", "sim/fleet"),
    *(f"optimize/{room}" for room in ("market", "money", "program", "search")),
)
BLAS = {"dot", "matmul", "einsum", "inner", "vdot", "tensordot", "solve", "lstsq"}
LIBRARY = {"exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "power", "float_power", "sin", "cos", "tan", "tanh", "logaddexp"}
DRAWS = {"standard_normal", "normal", "lognormal", "standard_exponential", "exponential", "gamma", "standard_gamma", "weibull", "pareto"}
OTHERS = (
    {"OPENBLAS_CORETYPE": "Prescott", "NPY_DISABLE_CPU_FEATURES": "X86_V3", "GLIBC_TUNABLES": "glibc.cpu.hwcaps=-AVX2,-FMA"},
    {"OPENBLAS_CORETYPE": "Haswell"},
    {"OPENBLAS_CORETYPE": "Zen", "NPY_DISABLE_CPU_FEATURES": "X86_V4"},
)
ARRIVALS = """
import hashlib
from pathlib import Path
from sim.scenario import load_scenario
from sim.traffic import at_rates, hour
for name in ("million_dau", "support_bot", "two_offers"):
    scenario = load_scenario(Path("scenarios") / f"{name}.yaml")
    rates = [1.0] * len(scenario.request_classes)
    some = hour(scenario, 0, seed=3, duration_s=600.0, warmup_s=60.0, rate_scale=0.2)
    for requests in (some, at_rates(scenario, rates, 5, n_requests=5000)):
        for column in vars(requests).values():
            print(hashlib.sha256(column.tobytes()).hexdigest())
"""
MARKETS = """
from pathlib import Path
from optimize.plan import market_for
from optimize.search.cache_key import content_hash
from sim.scenario import load_scenario
for name in ("million_dau", "two_offers"):
    market, _ = market_for(load_scenario(Path("scenarios") / f"{name}.yaml"), jobs=1)
    states = [(state.option.id, state.base, state.cost) for state in market.states]
    print(content_hash(market.demand, market.slos, market.relays, states))
"""


def breaches(source: str) -> list[str]:
    """Calls in `source` whose last bit depends on the CPU."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult):
            found.append(f"line {node.lineno}: a product by BLAS; write sim.exact.dot")
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            owner, name = node.func.value, node.func.attr
            of_library = isinstance(owner, ast.Name) and owner.id in ("np", "math", "numpy")
            if of_library and name in BLAS | LIBRARY:
                found.append(f"line {node.lineno}: {name}; write that of sim.exact")
            if not of_library and name in DRAWS:
                found.append(f"line {node.lineno}: a draw of {name}; write that of sim.streams")
    return found


def test_nothing_that_decides_depends_on_the_processor() -> None:
    files = sorted(file for room in DECIDE for file in (ROOT / room).rglob("*.py"))
    assert {str(file.relative_to(ROOT)): found for file in files if (found := breaches(file.read_text(encoding="utf-8")))} == {}


@pytest.mark.parametrize("line", ["a @ b", "np.exp(x)", "math.log(x)", "np.dot(a, b)", "rng.standard_normal(3)"])
def test_a_planted_breach_is_found(line: str) -> None:
    assert len(breaches(line)) == 1


def test_own_functions_agree_with_the_library() -> None:
    draws = np.random.default_rng(7)
    x = draws.uniform(-60, 60, 20_000)
    assert np.abs(exp(x) / np.exp(x) - 1).max() < 5e-16
    y = 10.0 ** draws.uniform(-20, 20, 20_000)
    assert np.abs(log(y) - np.log(y)).max() < 2e-14
    assert np.abs(power(y, 0.3) / y**0.3 - 1).max() < 1e-14


def played(command: list[str], settings: dict[str, str], folder: Path) -> str:
    """Hash of what a fresh process prints under `settings`, with an empty cache."""
    environment = os.environ | settings | {"SERVEMIX_CACHE_DIR": str(folder)}
    done = subprocess.run([sys.executable, *command], cwd=ROOT, env=environment, capture_output=True, check=False, timeout=600)
    assert done.returncode in (0, 3, 4), done.stderr.decode()
    return hashlib.sha256(done.stdout).hexdigest()


@pytest.mark.parametrize("what", [ARRIVALS, MARKETS], ids=["arrivals", "what may be bought"])
def test_what_decides_is_the_same_bytes_on_other_processors(what: str, tmp_path: Path) -> None:
    """Arrivals of three scenarios; demand, prices, misses and loads that the program is told of."""
    here, there = (played(["-W", "ignore", "-c", what], settings, tmp_path) for settings in ({}, OTHERS[0]))
    assert here == there


@pytest.mark.slow
@pytest.mark.parametrize("name", ["two_offers", "decide_small", "support_bot"])
def test_plans_are_the_same_bytes_on_other_processors(name: str, tmp_path: Path) -> None:
    command = ["-W", "ignore", "cli.py", "optimize", f"scenarios/{name}.yaml", "--json"]
    answers = {played(command, settings, tmp_path / str(k)) for k, settings in enumerate(OTHERS)}
    assert len(answers) == 1
