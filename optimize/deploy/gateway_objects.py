"""The gateway in Kubernetes: the proxy with its hourly configurations, and the clock that changes them."""

from __future__ import annotations

from typing import Any

from optimize.deploy.gateway import PORT

NAME, CLOCK, CONFIGURATIONS, SECRETS = "gateway", "gateway-clock", "gateway-hours", "gateway-secrets"
REPLICAS = 2
# The file of the hour that it is: weekday-09.yaml. A fleet that does not follow the clock has one file.
BY_CLOCK = 'day=weekday; [ "$(date +%u)" -ge 6 ] && day=weekend; exec litellm --config "/hours/$day-$(date +%H).yaml" --port {port}'
AT_ALL_TIMES = "exec litellm --config /hours/config.yaml --port {port}"
Json = dict[str, Any]


def gateway_objects(configurations: dict[str, str], namespace: str, images: tuple[str, str], timezone: str) -> list[Json]:
    """Everything that the gateway needs; `configurations`: file name -> text; `images` of the proxy and of kubectl.

    With a configuration for each hour the pods start on that of the hour, and a CronJob replaces them, one after the other, at every
    full hour.
    """
    by_clock = len(configurations) > 1
    command = (BY_CLOCK if by_clock else AT_ALL_TIMES).format(port=PORT)
    objects = [_config_map(configurations, namespace), _deployment(command, namespace, images[0], timezone), _service(namespace)]
    return [*objects, *(_clock(namespace, images[1], timezone) if by_clock else [])]


def _config_map(configurations: dict[str, str], namespace: str) -> Json:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": CONFIGURATIONS, "namespace": namespace},
        "data": dict(sorted(configurations.items())),
    }


def _deployment(command: str, namespace: str, image: str, timezone: str) -> Json:
    ready = {"httpGet": {"path": "/health/readiness", "port": PORT}, "periodSeconds": 5, "failureThreshold": 3}
    container = {
        "name": "proxy",
        "image": image,
        "command": ["sh", "-c", command],
        "env": [{"name": "TZ", "value": timezone}],
        "envFrom": [{"secretRef": {"name": SECRETS}}],
        "ports": [{"name": "http", "containerPort": PORT}],
        "readinessProbe": ready,
        "livenessProbe": ready | {"httpGet": {"path": "/health/liveliness", "port": PORT}, "failureThreshold": 6},
        "resources": {"requests": {"cpu": "1", "memory": "2Gi"}, "limits": {"memory": "4Gi"}},
        "volumeMounts": [{"name": "hours", "mountPath": "/hours", "readOnly": True}],
    }
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": NAME, "namespace": namespace, "labels": {"app": NAME}},
        "spec": {
            "replicas": REPLICAS,
            "selector": {"matchLabels": {"app": NAME}},
            "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}},
            "template": {
                "metadata": {
                    "labels": {"app": NAME},
                    "annotations": {"prometheus.io/scrape": "true", "prometheus.io/port": str(PORT), "prometheus.io/path": "/metrics"},
                },
                "spec": {
                    "terminationGracePeriodSeconds": 600,
                    "containers": [container],
                    "volumes": [{"name": "hours", "configMap": {"name": CONFIGURATIONS}}],
                },
            },
        },
    }


def _service(namespace: str) -> Json:
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": NAME, "namespace": namespace, "labels": {"app": NAME}},
        "spec": {"selector": {"app": NAME}, "ports": [{"name": "http", "port": PORT, "targetPort": PORT}]},
    }


def _clock(namespace: str, image: str, timezone: str) -> list[Json]:
    """The CronJob that has the gateway start anew at every full hour, and what it may do: that alone."""
    meta = {"name": CLOCK, "namespace": namespace}
    rule = {"apiGroups": ["apps"], "resources": ["deployments"], "resourceNames": [NAME], "verbs": ["get", "patch"]}
    container = {
        "name": "restart",
        "image": image,
        "command": ["kubectl", "rollout", "restart", f"deployment/{NAME}", "--namespace", namespace],
        "resources": {"requests": {"cpu": "50m", "memory": "64Mi"}, "limits": {"memory": "128Mi"}},
    }
    pod = {"serviceAccountName": CLOCK, "restartPolicy": "OnFailure", "containers": [container]}
    return [
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": meta},
        {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": meta, "rules": [rule]},
        {
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "RoleBinding",
            "metadata": meta,
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": CLOCK},
            "subjects": [{"kind": "ServiceAccount", "name": CLOCK, "namespace": namespace}],
        },
        {
            "apiVersion": "batch/v1",
            "kind": "CronJob",
            "metadata": meta,
            "spec": {
                "schedule": "0 * * * *",
                "timeZone": timezone,
                "concurrencyPolicy": "Forbid",
                "jobTemplate": {"spec": {"backoffLimit": 3, "template": {"spec": pod}}},
            },
        },
    ]
