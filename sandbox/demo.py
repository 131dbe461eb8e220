"""The main job, shown: a pool comes up, is seen, changed and deleted, and nothing is left. Every claim is checked.

`make demo`; DIR= names the folder, KEEP=1 leaves everything running, CLUSTER=real runs it on a real control plane.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from core.errors import PoolsError
from sandbox.launcher import Sandbox
from sandbox.layout import CLUSTER, ORGANIZATION, ClusterKind, Layout
from sandbox.proof import Left, Proof
from sandbox.stage import Stage

POOL, ELASTIC = "workers", "elastic"
PODS = 3
NOTHING = Left(0, 0, 0, 0, 0)


def ready(count: int) -> Any:
    """Whether a pool has `count` machines, all Ready, and nothing under way."""
    return lambda view: view["row"]["ready"] == count == view["row"]["size"] and not view["operations"]


def credential_and_cluster(stage: Stage) -> None:
    """An organization, a sealed and probed token, a registered cluster."""
    facts = stage.box.facts()
    tokens = facts["tokens"]
    assert isinstance(tokens, dict)
    stage.heading("A credential is stored and probed")
    stage.lbr("org", "create", ORGANIZATION)
    stage.lbr("cloud-credential", "create", "hetzner-prod", "--token", "-", typed=tokens["read_write"])
    [credential] = json.loads(stage.lbr("cloud-credential", "list", "-o", "json", quiet=True))
    stage.claim("the credential is Valid, and its token is not shown", credential["health"] == "Valid")
    stage.heading(f"Cluster {CLUSTER} is registered")
    stage.lbr("cp", "register", CLUSTER, "--kubeconfig", str(facts["kubeconfig"]), "--join", stage.box.join)
    [cluster] = json.loads(stage.lbr("cp", "list", "-o", "json", quiet=True))
    stage.claim(f"it answers as {cluster['version']}", cluster["health"] == "Valid")


def autoscale(stage: Stage, proof: Proof) -> None:
    """From nothing to as many machines as the pods need, and back to nothing, by kubectl alone."""
    stage.heading("A pool of nothing grows with its pods and goes with them")
    where = ("--credential", "hetzner-prod", "--location", "hel1", "--server-type", "cx23")
    bounds = ("--min", "0", "--max", "5", "--scale-down-after", "5s")
    stage.lbr("cp", "pool", "create", CLUSTER, ELASTIC, *where, *bounds)
    stage.claim("zero stays zero while no pod waits", proof.cloud("servers") == [])
    stage.kubectl("create", "deployment", "web", "--image=web")
    stage.watch(ELASTIC, ready(1), 60)
    stage.claim("one pod that waits brings one server", len(proof.cloud("servers")) == 1)
    stage.kubectl("set", "resources", "deployment/web", "--requests=cpu=1500m")
    stage.kubectl("scale", "deployment/web", f"--replicas={PODS}")
    stage.watch(ELASTIC, ready(PODS), 60)
    stage.kubectl("rollout", "status", "deployment/web", "--timeout=60s")
    stage.lbr("cp", "pool", "explain", CLUSTER)
    stage.claim(f"{PODS} pods of 1.5 cpu run on {PODS} servers of 2", len(proof.cloud("servers")) == PODS)
    stage.kubectl("scale", "deployment/web", "--replicas=0")
    stage.watch(ELASTIC, ready(0), 120)
    stage.claim("without pods no server is left", proof.cloud("servers") == [])
    stage.kubectl("delete", "deployment/web")
    stage.lbr("cp", "pool", "delete", CLUSTER, ELASTIC)
    stage.watch(ELASTIC, lambda view: not view, 60)


def create(stage: Stage, proof: Proof) -> None:
    """The first machine, from nothing to Ready."""
    stage.heading("A pool is created: its first machine boots, joins and gets ready")
    where = ("--credential", "hetzner-prod", "--location", "hel1", "--server-type", "cx23")
    stage.lbr("cp", "pool", "create", CLUSTER, POOL, *where, "--min", "1", "--max", "5")
    stage.watch(POOL, ready(1), 60)
    stage.lbr("cp", "pool", "list", CLUSTER)
    [server], [node] = proof.cloud("servers"), proof.cluster("/api/v1/nodes")
    stage.claim("one server runs in the cloud", server["status"] == "running")
    stage.claim("its node has the server's provider id", node["spec"]["providerID"] == f"hcloud://{server['id']}")
    stage.claim("its bootstrap token is gone", proof.left().bootstrap_secrets == 0)


def change(stage: Stage, proof: Proof) -> None:
    """Bounds, labels and size, on live nodes."""
    stage.heading("The pool is changed while it runs")
    stage.lbr("cp", "pool", "update", CLUSTER, POOL, "--max", "10")
    stage.claim("the ceiling is 10", stage.pool(POOL)["row"]["max"] == 10)
    stage.lbr("cp", "pool", "update", CLUSTER, POOL, "--label", "team=demo")
    stage.watch(POOL, lambda view: all(machine["in_step"] for machine in view["machines"]), 30)
    labels = [node["metadata"]["labels"].get("team") for node in proof.cluster("/api/v1/nodes")]
    stage.claim("the live node carries team=demo", labels == ["demo"])
    stage.lbr("cp", "pool", "scale", CLUSTER, POOL, "3")
    stage.watch(POOL, ready(3), 60)
    stage.claim("three servers run", len(proof.cloud("servers")) == 3)


def pause(stage: Stage, proof: Proof) -> None:
    """A frozen pool starts nothing; a thawed one catches up."""
    stage.heading("The pool is paused and resumed")
    stage.lbr("cp", "pool", "update", CLUSTER, POOL, "--paused")
    stage.lbr("cp", "pool", "update", CLUSTER, POOL, "--min", "4")
    view = stage.pool(POOL)
    frozen = not view["next"] and view["notes"] == ["frozen: paused; no step starts"]
    stage.claim("a floor of 4 starts nothing while it is paused", frozen and len(proof.cloud("servers")) == 3)
    stage.lbr("cp", "pool", "update", CLUSTER, POOL, "--paused=false")
    stage.watch(POOL, ready(4), 60)
    stage.claim("resumed, it has four machines", len(proof.cloud("servers")) == 4)


def delete(stage: Stage, proof: Proof) -> None:
    """Pods are drained, machines deleted, and nothing is left."""
    stage.heading("The pool is deleted: drained, removed, proven gone")
    proof.put_in_cluster("/apis/apps/v1/namespaces/default/deployments", _deployment())
    stage.lbr("cp", "pool", "delete", CLUSTER, POOL)
    stage.watch(POOL, lambda view: not view, 60)
    left = proof.left()
    stage.claim(f"nothing is left: {left}", left == NOTHING)
    usage = json.loads(stage.lbr("usage", "-o", "json", quiet=True))
    hours = sum(line["report"]["node_hours"] for line in usage)
    stage.claim(f"its usage is kept: {hours * 60:.1f} node minutes", hours > 0)
    stage.lbr("cloud-credential", "delete", "hetzner-prod")


def _deployment() -> dict[str, Any]:
    labels = {"app": "web"}
    containers = [{"name": "web", "image": "web", "resources": {"requests": {"cpu": "100m"}}}]
    template = {"metadata": {"labels": labels}, "spec": {"containers": containers}}
    spec = {"replicas": PODS, "selector": {"matchLabels": labels}, "template": template}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}, "spec": spec}


def tell(box: Sandbox) -> int:
    """Tell the whole story. Returns how many claims were checked. Raises PoolsError at the first that fails."""
    stage = Stage(box)
    kind = "real Kubernetes control plane" if box.wanted is ClusterKind.REAL else "simulated cluster"
    stage.heading(f"The sandbox starts: Temporal, a simulated Hetzner Cloud, a {kind}, a worker")
    box.up(furnished=False)
    stage.say(f"Temporal UI: {box.facts()['temporal_ui']}")
    proof = Proof(box)
    credential_and_cluster(stage)
    for chapter in (autoscale, create, change, pause, delete):
        chapter(stage, proof)
    return stage.claims


@contextmanager
def _folder(kept: bool) -> Iterator[Path]:
    """The folder that DIR names, else a temporary one, which goes with the demo unless that is kept."""
    named = os.environ.get("DIR")
    folder = Path(named).absolute() if named else Path(tempfile.mkdtemp(prefix="managed-node-pools-"))
    yield folder
    if not named and not kept:
        shutil.rmtree(folder)


def main() -> int:
    """The demo's exit code: 0 only when every claim held."""
    kept, code = bool(os.environ.get("KEEP")), 0
    chosen = os.environ.get("CLUSTER") or ClusterKind.SIMULATED
    if chosen not in list(ClusterKind):
        print(f"CLUSTER={chosen}: it is one of {', '.join(ClusterKind)}", file=sys.stderr)
        return 2
    with _folder(kept) as folder:
        box = Sandbox(Layout(folder), cluster=ClusterKind(chosen))
        try:
            print(f"\nAll {tell(box)} claims were checked and hold.")
        except PoolsError as error:
            print(f"\nThe demo failed: {error.message}\n{error.hint}", file=sys.stderr)
            code = 1
        finally:
            if kept:
                print(f"It is left running; use it with: export LBR_CONFIG={box.layout.profile}")
                print(f"Stop it with: .venv/bin/lbr sandbox down --dir {folder}")
            else:
                box.down()
        if not kept and box.processes.running():
            print("processes are left running", file=sys.stderr)
            code = 1
    return code


if __name__ == "__main__":
    sys.exit(main())
