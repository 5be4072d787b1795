"""The files of a deployment: what Kubernetes, KEDA, LiteLLM and Prometheus ask of them, and what the plan says."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from optimize.deploy.deployable import Deployable, deployable
from optimize.deploy.files import Choices, deployment_files, write_files
from sim.catalog.loader import load_catalog
from tests.optimize.deploy.small_plan import MOVING, RELAY, STEADY, written

# The part of KEDA's definition of a ScaledObject that a timetable needs: cron triggers with texts, whole numbers of replicas.
SCALED_OBJECT = {
    "type": "object",
    "required": ["apiVersion", "kind", "metadata", "spec"],
    "properties": {
        "apiVersion": {"const": "keda.sh/v1alpha1"},
        "kind": {"const": "ScaledObject"},
        "spec": {
            "type": "object",
            "additionalProperties": False,
            "required": ["scaleTargetRef", "triggers"],
            "properties": {
                "scaleTargetRef": {"type": "object", "required": ["name"]},
                "minReplicaCount": {"type": "integer", "minimum": 0},
                "maxReplicaCount": {"type": "integer", "minimum": 1},
                "cooldownPeriod": {"type": "integer"},
                "triggers": {
                    "type": "array",
                    "minItems": 1,
                    "items": {
                        "required": ["type", "metadata"],
                        "properties": {
                            "type": {"const": "cron"},
                            "metadata": {
                                "required": ["timezone", "start", "end", "desiredReplicas"],
                                "additionalProperties": {"type": "string"},
                            },
                        },
                    },
                },
            },
        },
    },
}


@pytest.fixture(scope="module")
def plan(tmp_path_factory: pytest.TempPathFactory) -> Deployable:
    return deployable(written(tmp_path_factory.mktemp("plan")), load_catalog(), {})


@pytest.fixture(scope="module")
def files(plan: Deployable) -> dict[str, str]:
    return deployment_files(plan, Choices(namespace="llm", timezone="Europe/Berlin"))


def read(text: str) -> list[dict[str, Any]]:
    return list(YAML(typ="safe").load_all(text))


def of_kind(files: dict[str, str], kind: str) -> list[dict[str, Any]]:
    texts = [text for name, text in files.items() if name.startswith(("kubernetes/", "keda/"))]
    return [each for text in texts for each in read(text) if each["kind"] == kind]


def by_pool(files: dict[str, str]) -> dict[str, dict[str, Any]]:
    """Deployments of engines by the pool of the plan that they run."""
    found = [each for each in of_kind(files, "Deployment") if "annotations" in each["metadata"]]
    return {each["metadata"]["annotations"]["servemix/plan-pool"]: each for each in found}


@pytest.mark.parametrize("version", ["1.28", "1.37"])
def test_every_kubernetes_object_is_what_kubernetes_says_it_must_be(files: dict[str, str], version: str) -> None:
    validator = pytest.importorskip("kubernetes_validate")
    documents = [each for name, text in files.items() if name.startswith("kubernetes/") for each in read(text)]
    assert len(documents) == 2 * 2 + 7
    for document in documents:
        validator.validate(document, version, strict=True)


def test_every_scaled_object_is_what_keda_says_it_must_be(files: dict[str, str]) -> None:
    jsonschema = pytest.importorskip("jsonschema")
    (only,) = of_kind(files, "ScaledObject")  # the other pool never changes
    jsonschema.validate(only, SCALED_OBJECT)
    assert only["spec"]["scaleTargetRef"]["name"] in {each["metadata"]["name"] for each in of_kind(files, "Deployment")}


def test_a_pool_runs_the_replicas_of_the_plan_or_leaves_them_to_the_timetable(files: dict[str, str]) -> None:
    pools = by_pool(files)
    assert pools[STEADY]["spec"]["replicas"] == 1
    assert "replicas" not in pools[MOVING]["spec"]


def test_an_engine_is_started_with_every_limit_of_the_plan(files: dict[str, str]) -> None:
    pools = by_pool(files)
    pod = pools[MOVING]["spec"]["template"]["spec"]
    arguments = pod["containers"][0]["args"]
    assert arguments[0] == "meta-llama/Llama-3.3-70B-Instruct"
    for option, value in (
        ("--tensor-parallel-size", "2"),
        ("--quantization", "fp8"),
        ("--max-num-seqs", "256"),
        ("--max-num-batched-tokens", "2048"),
        ("--served-model-name", pools[MOVING]["metadata"]["name"]),
    ):
        assert arguments[arguments.index(option) + 1] == value
    assert pod["containers"][0]["resources"]["limits"] == {"nvidia.com/gpu": "2"}
    assert pod["nodeSelector"] == {"servemix/offer": "verda.h100x2"}


def test_the_longest_request_is_one_that_the_kv_cache_can_hold(tmp_path: Path) -> None:
    from tests.optimize.deploy.small_plan import plan as plan_of
    from tests.optimize.deploy.small_plan import pool

    small = pool("aws.g6.xlarge/llama-3.1-8b/fp8:chat", "aws.g6.xlarge", "llama-3.1-8b", 1, [1] * 48) | {"gpu": "l4"}
    routing = {"chat": {small["pool"]: [1.0] * 48}, "faq": {small["pool"]: [1.0] * 48}}
    found = deployable(written(tmp_path, fleet=[small], relays=[], routing=routing), load_catalog(), {})
    assert plan_of()["status"] == "met"
    assert 10_000 < found.pools[0].longest_tokens < 131_072  # the engine refuses to start with a longer one


def test_the_gateway_weighs_targets_by_the_plans_shares_in_every_hour(files: dict[str, str]) -> None:
    busy, last = (read(files[f"gateway/hours/{name}.yaml"])[0]["model_list"] for name in ("weekday-09", "weekend-23"))
    weights = {each["model_info"]["id"]: each["litellm_params"]["weight"] for each in busy}
    assert weights == {f"chat--{MOVING}": 7500, f"chat--{RELAY}": 2500, f"faq--{STEADY}": 6000, f"faq--{MOVING}": 4000}
    assert f"chat--{RELAY}" not in {each["model_info"]["id"] for each in last}  # nothing goes there in that hour
    assert len([name for name in files if name.startswith("gateway/hours/")]) == 48


def test_the_gateway_calls_the_service_of_each_pool_by_the_name_that_its_engines_serve(files: dict[str, str]) -> None:
    services = {each["metadata"]["name"]: each["spec"]["ports"][0]["port"] for each in of_kind(files, "Service")}
    for entry in read(files["gateway/config.yaml"])[0]["model_list"]:
        called = entry["litellm_params"]
        if called["model"].startswith("hosted_vllm/"):
            name = called["model"].removeprefix("hosted_vllm/")
            assert called["api_base"] == f"http://{name}.llm.svc:{services[name]}/v1"


def test_no_file_holds_a_secret_and_every_variable_is_listed(files: dict[str, str]) -> None:
    named = {line.partition("=")[0] for line in files["gateway/environment.example"].splitlines() if not line.startswith("#")}
    used = {
        value.removeprefix("os.environ/")
        for entry in read(files["gateway/config.yaml"])[0]["model_list"]
        for value in entry["litellm_params"].values()
        if isinstance(value, str) and value.startswith("os.environ/")
    }
    assert used <= named
    assert all(line.endswith("=") for line in files["gateway/environment.example"].splitlines() if not line.startswith("#"))
    keys = [e["litellm_params"].get("api_key", "os.environ/") for e in read(files["gateway/config.yaml"])[0]["model_list"]]
    assert all(key.startswith("os.environ/") for key in keys)


def test_alerts_keep_the_strictest_promise_of_the_classes_of_a_pool(files: dict[str, str]) -> None:
    groups = {each["name"]: each["rules"] for each in read(files["prometheus/rules.yaml"])[0]["groups"]}
    alerts = [each for each in groups["servemix-alerts"] if each["alert"] == "PoolTtftAbovePromise"]
    limits = {each["labels"]["pool"]: each["expr"].rpartition(" > ")[2] for each in alerts}
    assert set(limits.values()) == {"1.5"}  # both pools serve faq, whose limit is shorter than chat's 2 s
    recorded = {each["record"] for each in groups["servemix-recorded"]}
    for alert in (each for each in groups["servemix-alerts"] if "AbovePromise" in each["alert"]):
        assert alert["expr"].partition("{")[0] in recorded
        assert alert["annotations"]["description"].partition("See the runbook: ")[2].rstrip(".") in files["RUNBOOK.md"]


def test_every_alert_names_a_heading_of_the_runbook(files: dict[str, str]) -> None:
    rules = read(files["prometheus/rules.yaml"])[0]["groups"][1]["rules"]
    assert {each["alert"] for each in rules} >= {"KvCacheFull", "ReplicasMissing", "DemandAbovePlan", "RelayFailing"}
    for rule in rules:
        heading = rule["annotations"]["description"].partition("See the runbook: ")[2].rstrip(".")
        assert f"**{heading}**" in files["RUNBOOK.md"]


def test_the_same_plan_gives_the_same_bytes(plan: Deployable, files: dict[str, str]) -> None:
    assert deployment_files(plan, Choices(namespace="llm", timezone="Europe/Berlin")) == files


def test_files_of_an_earlier_plan_do_not_stay_to_be_applied(files: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "kubernetes").mkdir()
    (tmp_path / "kubernetes/old-pool.yaml").write_text("kind: Deployment\n")
    (tmp_path / "notes.yaml").write_text("mine\n")
    write_files(files, tmp_path)
    assert not (tmp_path / "kubernetes/old-pool.yaml").exists()
    assert (tmp_path / "notes.yaml").exists()
    assert {path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*") if path.is_file()} == {*files, "notes.yaml"}


def test_a_plan_of_a_log_runs_its_busiest_hour_at_all_times(tmp_path: Path) -> None:
    from tests.optimize.deploy.small_plan import plan as plan_of

    hours = [{**each, "hour": f"log hour {t}"} for t, each in enumerate(plan_of()["hours"])]
    found = deployment_files(deployable(written(tmp_path, hours=hours), load_catalog(), {}), Choices())
    assert not [name for name in found if name.startswith(("keda/", "gateway/hours/"))]
    kinds = [each["kind"] for each in read(found["kubernetes/gateway.yaml"])]
    assert kinds == ["ConfigMap", "Deployment", "Service"]  # no clock
