"""How an engine is started with the settings that a plan assumes."""

from __future__ import annotations

from sim.engine.deployment import Deployment


def serve_command(deployment: Deployment) -> str:
    """The engine as the plan assumes it. `$MODEL` stands for a checkpoint of the deployment's model in its weight format."""
    limits = deployment.limits
    parallel = f" --tensor-parallel-size {deployment.tensor_parallel}" if deployment.tensor_parallel > 1 else ""
    cache = " --kv-cache-dtype fp8" if deployment.kv_bytes_per_number == 1 else ""
    caching = "" if limits.prefix_caching else " --no-enable-prefix-caching"
    return (
        f"vllm serve $MODEL{parallel} --max-num-seqs {limits.max_num_seqs} --max-num-batched-tokens {limits.max_num_batched_tokens} "
        f"--gpu-memory-utilization {limits.gpu_memory_utilization:g}{cache}{caching}"
    )
