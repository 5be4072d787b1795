"""The `vllm serve` line of a pool: the options that the plan was proved with, and what only a deployment knows."""

from __future__ import annotations

from optimize.deploy.deployable import RunningPool

PORT = 8000
MISSING = "SET-THE-REPOSITORY-OF"  # in place of the weights of a model that the catalogue does not know
# Weight format -> options of `vllm serve` that make it from 16-bit weights while loading. The other formats need a checkpoint that
# is stored in them, whose own configuration names the format. Source: vLLM documentation, Quantization, November 2026.
MADE_WHILE_LOADING: dict[str, tuple[str, ...]] = {"bf16": (), "fp8": ("--quantization", "fp8")}


def needs_checkpoint(pool: RunningPool, given: bool) -> bool:
    """Whether the pool's weights must come from a checkpoint that the maker of the model does not publish, and none was `given`."""
    return not given and (pool.weights not in MADE_WHILE_LOADING or not pool.repository)


def serve_arguments(pool: RunningPool, given: bool = False) -> list[str]:
    """The words after `vllm serve`; `given`: the repository is a checkpoint in the pool's own format.

    The model is served under the pool's name: so the gateway finds it, and so its metrics are told apart from those of other pools.
    """
    words = [pool.repository or f"{MISSING}-{pool.model}".upper(), "--served-model-name", pool.name, "--port", str(PORT)]
    words += [] if given else list(MADE_WHILE_LOADING.get(pool.weights, ()))
    return [*words, "--max-model-len", str(pool.longest_tokens), *pool.options]


def serve_line(pool: RunningPool, given: bool = False) -> str:
    """The whole command, one option to a line, for a shell."""
    words = serve_arguments(pool, given)
    lines = [f"vllm serve {words[0]}"]
    for word in words[1:]:
        if word.startswith("--"):
            lines.append(f"  {word}")
        else:
            lines[-1] += f" {word}"
    return " \\\n".join(lines)
