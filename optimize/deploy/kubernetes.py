"""A pool as Kubernetes objects: a Deployment of engines and the Service in front of them."""

from __future__ import annotations

from typing import Any

from optimize.deploy.deployable import RunningPool
from optimize.deploy.vllm_serve import PORT, serve_arguments

OFFER_LABEL = "servemix/offer"  # to be put on the nodes of each offer
POOL_LABEL = "servemix/pool"
START_S = 1800  # that the first answer of an engine may take: loading weights, compiling graphs
DRAIN_S = 600  # that running answers have to end in before a pod is stopped
SHARED_MEMORY = "16Gi"  # tensor parallel workers exchange over /dev/shm
Json = dict[str, Any]


def engine_deployment(pool: RunningPool, namespace: str, image: str, given: bool, by_clock: bool) -> Json:
    """The Deployment of a pool, its pods on different hosts where that can be helped.

    Its replicas are those of the plan, or are left to the timetable where that changes them (`by_clock`).
    """
    labels = {"app": pool.name, POOL_LABEL: pool.name}
    pod: Json = {
        "nodeSelector": {OFFER_LABEL: pool.offer},
        "terminationGracePeriodSeconds": DRAIN_S,
        "containers": [_engine(pool, image, given)],
        "volumes": [{"name": "shared-memory", "emptyDir": {"medium": "Memory", "sizeLimit": SHARED_MEMORY}}],
    }
    rule = {"labelSelector": {"matchLabels": {"app": pool.name}}, "topologyKey": "kubernetes.io/hostname"}
    wish = {"weight": 100, "podAffinityTerm": rule}
    pod["affinity"] = {"podAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [wish]}}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": pool.name, "namespace": namespace, "labels": labels, "annotations": {"servemix/plan-pool": pool.id}},
        "spec": {
            **({} if by_clock else {"replicas": max(pool.replicas)}),
            "selector": {"matchLabels": {"app": pool.name}},
            "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 0, "maxUnavailable": 1}},
            "template": {
                "metadata": {
                    "labels": labels,
                    "annotations": {"prometheus.io/scrape": "true", "prometheus.io/port": str(PORT), "prometheus.io/path": "/metrics"},
                },
                "spec": pod,
            },
        },
    }


def _engine(pool: RunningPool, image: str, given: bool) -> Json:
    health = {"httpGet": {"path": "/health", "port": PORT}}
    gpus = {"nvidia.com/gpu": str(pool.tensor_parallel)}
    return {
        "name": "engine",
        "image": image,
        "command": ["vllm", "serve"],
        "args": serve_arguments(pool, given),
        "env": [{"name": "HF_TOKEN", "valueFrom": {"secretKeyRef": {"name": "model-access", "key": "HF_TOKEN", "optional": True}}}],
        "ports": [{"name": "http", "containerPort": PORT}],
        "resources": {"limits": gpus, "requests": gpus},
        "startupProbe": health | {"periodSeconds": 10, "failureThreshold": START_S // 10},
        "readinessProbe": health | {"periodSeconds": 5, "failureThreshold": 3},
        "livenessProbe": health | {"periodSeconds": 10, "failureThreshold": 6},
        "lifecycle": {"preStop": {"exec": {"command": ["sleep", "15"]}}},
        "volumeMounts": [{"name": "shared-memory", "mountPath": "/dev/shm"}],
    }


def engine_service(pool: RunningPool, namespace: str) -> Json:
    """The Service that the gateway calls."""
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": pool.name, "namespace": namespace, "labels": {"app": pool.name}},
        "spec": {"selector": {"app": pool.name}, "ports": [{"name": "http", "port": PORT, "targetPort": PORT}]},
    }


def address(pool: RunningPool, namespace: str) -> str:
    """Where the gateway finds the pool.

    The Service spreads connections, not requests by load: see the runbook for routers that look at queues.
    """
    return f"http://{pool.name}.{namespace}.svc:{PORT}/v1"
