"""The deployment's files, judged without a container engine: by the Compose specification, hadolint and good sense."""

from __future__ import annotations

import graphlib
import itertools
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from compose_spec import PyCompose

ROOT = Path(__file__).parents[2]
PACKAGES = ("core", "workflows", "activities", "worker", "starter", "sandbox")
COMPOSE: dict[str, Any] = yaml.safe_load((ROOT / "docker-compose.yml").read_text(encoding="utf-8"))
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]
DOCKERFILE = (ROOT / "deploy/Dockerfile").read_text(encoding="utf-8")
SCRIPTS = sorted((ROOT / "deploy").rglob("*.sh"))
RBAC: list[dict[str, Any]] = list(yaml.safe_load_all((ROOT / "deploy/rbac.yaml").read_text(encoding="utf-8")))


def test_the_compose_file_follows_the_specification() -> None:
    """Anchors are resolved first, as Compose does."""
    assert PyCompose.from_json(json.dumps(COMPOSE)).service_names() == list(SERVICES)


def test_every_image_is_pinned_to_a_full_version() -> None:
    """The same images tomorrow, and one version of Temporal for the server and its schemas."""
    images = {name: service["image"] for name, service in SERVICES.items()}
    images |= {
        f"Dockerfile:{number}": image for number, image in enumerate(re.findall(r"^FROM (\S+)", DOCKERFILE, re.M))
    }
    assert [name for name, image in images.items() if not re.search(r":\d+\.\d+(\.\d+)?(-[a-z-]+)?$", image)] == []
    temporal = {
        image.partition(":")[2] for image in images.values() if re.match("temporalio/(server|admin-tools)", image)
    }
    assert len(temporal) == 1


def test_every_port_is_on_the_loopback_interface() -> None:
    """Whoever wants more puts a proxy with authentication in front."""
    ports = [port for service in SERVICES.values() for port in service.get("ports", [])]
    assert ports
    assert [port for port in ports if not port.startswith("127.0.0.1:")] == []


def test_services_start_in_the_order_of_the_chain() -> None:
    """Each waits for the one before it to be healthy, or done where it runs once."""
    graph = {name: set(service.get("depends_on", {})) for name, service in SERVICES.items()}
    order = list(graphlib.TopologicalSorter(graph).static_order())
    chain = ["postgresql", "temporal-schema", "temporal", "temporal-namespace", "worker"]
    assert [name for name in order if name in chain] == chain
    assert all(before in graph[after] for before, after in itertools.pairwise(chain))
    for service in SERVICES.values():
        for name, needed in service.get("depends_on", {}).items():
            once = SERVICES[name].get("restart") == "on-failure"
            assert needed["condition"] == ("service_completed_successfully" if once else "service_healthy")
            assert once or "healthcheck" in SERVICES[name]


def test_no_secret_is_in_the_file() -> None:
    """Passwords come from outside and are asked for; the key is a secret's file."""
    settings = {(n, key): value for n, s in SERVICES.items() for key, value in s.get("environment", {}).items()}
    passwords = {where: value for where, value in settings.items() if re.search("PASSWORD|PWD|TOKEN|SECRET", where[1])}
    assert len(passwords) == 3
    assert all(re.fullmatch(r"\$\{[A-Z_]+:\?.+\}", value) for value in passwords.values())
    assert COMPOSE["secrets"]["platform-key"]["file"].startswith("${LBR_PLATFORM_KEY_FILE:?")
    assert settings["worker", "LBR_PLATFORM_KEY_FILE"] == "/run/secrets/platform-key"


def test_the_worker_is_given_the_time_that_it_takes_to_stop() -> None:
    """Killed earlier, it would leave a create half done."""
    from worker.assembly import GRACEFUL  # brings in every activity, which no other check here needs

    period = re.fullmatch(r"(\d+)s", SERVICES["worker"]["stop_grace_period"])
    assert period is not None
    assert int(period[1]) > GRACEFUL.total_seconds()


def test_everything_that_is_mounted_or_built_from_exists() -> None:
    """Compose would make an empty folder of a missing file."""
    mounts = [mount.split(":")[0] for service in SERVICES.values() for mount in service.get("volumes", [])]
    assert {mount for mount in mounts if not mount.startswith("./")} == set(COMPOSE["volumes"])
    assert [mount for mount in mounts if mount.startswith("./") and not (ROOT / mount).is_file()] == []
    assert (ROOT / SERVICES["worker"]["build"]["dockerfile"]).is_file()


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.name)
def test_scripts_parse_and_stop_at_the_first_failure(script: Path) -> None:
    """They run in images whose shell is no bash."""
    assert "\nset -eu\n" in script.read_text(encoding="utf-8")
    assert subprocess.run(["sh", "-n", script], capture_output=True, check=False).stderr == b""


def test_hadolint_finds_nothing() -> None:
    """Not even a hint."""
    hadolint = Path(sys.executable).with_name("hadolint")
    run = subprocess.run([hadolint, ROOT / "deploy/Dockerfile"], capture_output=True, text=True, check=False)
    assert (run.returncode, run.stdout + run.stderr) == (0, "")


def test_the_image_holds_the_packages_and_runs_without_privileges() -> None:
    """What is copied exists and is let through to the builder."""
    sources = [
        name for line in re.findall(r"^COPY (?!--from)(.+)$", DOCKERFILE, re.MULTILINE) for name in line.split()[:-1]
    ]
    assert set(PACKAGES) <= set(sources)
    assert [name for name in sources if not (ROOT / name).exists()] == []
    let_through = re.findall(r"^!(.+)$", (ROOT / ".dockerignore").read_text(encoding="utf-8"), re.MULTILINE)
    assert sorted(let_through) == sorted(sources)
    assert re.findall(r"^USER (\d+)", DOCKERFILE, re.MULTILINE)[-1] != "0"


def test_the_clusters_rights_are_narrow() -> None:
    """No wildcard, secrets in one namespace alone, and no way past a disruption budget."""
    rules = [(item, rule) for item in RBAC for rule in item.get("rules", [])]
    assert rules
    for item, rule in rules:
        assert "*" not in [*rule["apiGroups"], *rule["resources"], *rule["verbs"]]
        if "secrets" in rule["resources"]:
            assert (item["kind"], item["metadata"]["namespace"]) == ("Role", "kube-system")
        if "pods" in rule["resources"]:
            assert not {"delete", "deletecollection", "create"} & set(rule["verbs"])


def test_the_clusters_bindings_refer_to_what_is_there() -> None:
    """A binding to a misspelt role grants nothing, silently."""
    there = {(item["kind"], item["metadata"].get("namespace", ""), item["metadata"]["name"]) for item in RBAC}
    bindings = [item for item in RBAC if item["kind"].endswith("Binding")]
    assert len(bindings) == len([item for item in RBAC if item["kind"] in ("Role", "ClusterRole")])
    for binding in bindings:
        role = binding["roleRef"]
        assert (role["kind"], binding["metadata"].get("namespace", ""), role["name"]) in there
        for subject in binding["subjects"]:
            assert (subject["kind"], subject["namespace"], subject["name"]) in there
