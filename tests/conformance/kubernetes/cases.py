"""Requests whose answers a client may come to depend on. Each case is a few requests in a row on an empty cluster."""

from __future__ import annotations

from typing import Any, NamedTuple

MERGE, STRATEGIC, JSON_PATCH = (
    "application/merge-patch+json",
    "application/strategic-merge-patch+json",
    "application/json-patch+json",
)
NODES, PODS = "/api/v1/nodes", "/api/v1/namespaces/default/pods"
MAPS, SECRETS = "/api/v1/namespaces/default/configmaps", "/api/v1/namespaces/default/secrets"
BUDGETS = "/apis/policy/v1/namespaces/default/poddisruptionbudgets"
LEASES = "/apis/coordination.k8s.io/v1/namespaces/default/leases"
SETS, DEPLOYMENTS = "/apis/apps/v1/namespaces/default/replicasets", "/apis/apps/v1/namespaces/default/deployments"
REQUESTS = "/apis/certificates.k8s.io/v1/certificatesigningrequests"


class Step(NamedTuple):
    """One request. `body` is sent as JSON, a text as it is."""

    method: str
    path: str
    body: Any = None
    content_type: str = "application/json"


def named(name: str, **rest: Any) -> dict[str, Any]:
    """An object of that name."""
    return {"metadata": {"name": name}, **rest}


def pod(name: str = "p", **spec: Any) -> dict[str, Any]:
    """A pod that is bound to the node n1, where nobody runs it."""
    return named(name, spec={"nodeName": "n1", "containers": [{"name": "c", "image": "i:1"}], **spec})


def workload(name: str, app: str = "web", **spec: Any) -> dict[str, Any]:
    """A replica set or deployment of nothing."""
    template = {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "c", "image": "i:1"}]}}
    return named(name, spec={"replicas": 0, "selector": {"matchLabels": {"app": app}}, "template": template, **spec})


NODE, MAP = Step("POST", NODES, named("n1")), Step("POST", MAPS, named("m", data={"a": "b"}))
POD, LEASE = Step("POST", PODS, pod()), Step("POST", LEASES, named("l", spec={"holderIdentity": "x"}))


def tainted(*taints: dict[str, str]) -> Step:
    """A node with these taints."""
    return Step("POST", NODES, named("n1", spec={"taints": list(taints)}))


def budget(**spec: Any) -> Step:
    """A disruption budget."""
    return Step("POST", BUDGETS, named("b", spec={"selector": {"matchLabels": {"app": "web"}}, **spec}))


def patched(path: str, body: Any, content_type: str = MERGE) -> Step:
    """A patch."""
    return Step("PATCH", path, body, content_type)


CASES: dict[str, list[Step]] = {
    "create a node": [NODE],
    "create a node twice": [NODE, NODE],
    "create without a name": [Step("POST", NODES, {"metadata": {}})],
    "create with a bad name": [Step("POST", NODES, named("Not_A_Name"))],
    "create with a version": [Step("POST", MAPS, {"metadata": {"name": "m", "resourceVersion": "7"}})],
    "create in a namespace that is missing": [Step("POST", "/api/v1/namespaces/nowhere/configmaps", named("m"))],
    "create in another namespace than the path's": [
        Step("POST", MAPS, {"metadata": {"name": "m", "namespace": "kube-system"}})
    ],
    "create at a name": [Step("POST", f"{NODES}/n1", named("n1"))],
    "read what is missing": [Step("GET", f"{NODES}/nobody")],
    "read a kind that is missing": [Step("GET", "/api/v1/nothings")],
    "read a group that is missing": [Step("GET", "/apis/nowhere.io/v1/things")],
    "a body that is no JSON": [Step("POST", NODES, "{")],
    "a body of another kind": [Step("POST", NODES, named("n1", kind="Pod", apiVersion="v1"))],
    "a body of a media type that nobody knows": [Step("POST", NODES, "x", "text/plain")],
    "bad label keys and values": [
        Step("POST", NODES, {"metadata": {"name": "n1", "labels": {"a b": "x", "ok": "not ok!"}}})
    ],
    "duplicate taints": [tainted(*[{"key": "a", "value": "b", "effect": "NoSchedule"}] * 2)],
    "a taint with a bad key": [tainted({"key": "a b", "effect": "NoSchedule"})],
    "a taint with a bad value": [tainted({"key": "a", "value": "b c", "effect": "NoSchedule"})],
    "a taint with a bad effect": [tainted({"key": "a", "effect": "Never"})],
    "a taint without an effect": [tainted({"key": "a"})],
    "replace without a version": [NODE, Step("PUT", f"{NODES}/n1", named("n1"))],
    "replace with a stale version": [
        NODE,
        Step("PUT", f"{NODES}/n1", {"metadata": {"name": "n1", "resourceVersion": "1"}}),
    ],
    "replace with another uid": [MAP, Step("PUT", f"{MAPS}/m", {"metadata": {"name": "m", "uid": "x"}})],
    "replace under another name": [NODE, Step("PUT", f"{NODES}/n1", named("n2"))],
    "replace what is missing": [Step("PUT", f"{NODES}/n1", named("n1"))],
    "replace a lease that is missing": [Step("PUT", f"{LEASES}/l", named("l", spec={}))],
    "replace a lease without its version": [LEASE, Step("PUT", f"{LEASES}/l", named("l", spec={}))],
    "patch what is missing": [patched(f"{NODES}/n1", {})],
    "patch with a media type that nobody knows": [NODE, patched(f"{NODES}/n1", {}, "application/json")],
    "patch with a broken body": [NODE, patched(f"{NODES}/n1", "[")],
    "patch the uid": [NODE, patched(f"{NODES}/n1", {"metadata": {"uid": "x"}})],
    "patch the name": [NODE, patched(f"{NODES}/n1", {"metadata": {"name": "n2"}})],
    "patch with a stale version": [NODE, patched(f"{NODES}/n1", {"metadata": {"resourceVersion": "1"}})],
    "merge a label away": [
        Step("POST", NODES, {"metadata": {"name": "n1", "labels": {"a": "1", "b": "2"}}}),
        patched(f"{NODES}/n1", {"metadata": {"labels": {"a": None}}}),
    ],
    "a json patch that fails its test": [
        NODE,
        patched(f"{NODES}/n1", [{"op": "test", "path": "/spec/unschedulable", "value": True}], JSON_PATCH),
    ],
    "a json patch to nowhere": [
        NODE,
        patched(f"{NODES}/n1", [{"op": "replace", "path": "/spec/nowhere/x", "value": 1}], JSON_PATCH),
    ],
    "a json patch with a bad operation": [NODE, patched(f"{NODES}/n1", [{"op": "turn", "path": "/spec"}], JSON_PATCH)],
    "a strategic patch of taints": [
        tainted({"key": "a", "effect": "NoSchedule"}),
        patched(f"{NODES}/n1", {"spec": {"taints": [{"key": "b", "effect": "NoExecute"}]}}, STRATEGIC),
    ],
    "cordon and uncordon": [
        NODE,
        patched(f"{NODES}/n1", {"spec": {"unschedulable": True}}, STRATEGIC),
        patched(f"{NODES}/n1", {"spec": {"unschedulable": None}}, STRATEGIC),
    ],
    "a provider id is set once": [
        NODE,
        patched(f"{NODES}/n1", {"spec": {"providerID": "hcloud://1"}}),
        patched(f"{NODES}/n1", {"spec": {"providerID": "hcloud://2"}}),
    ],
    "status by the main path and by its own": [
        NODE,
        patched(f"{NODES}/n1", {"status": {"phase": "Running"}}),
        patched(f"{NODES}/n1/status", {"status": {"phase": "Running"}, "spec": {"unschedulable": True}}),
    ],
    "delete what is missing": [Step("DELETE", f"{NODES}/n1")],
    "delete with another uid": [NODE, Step("DELETE", f"{NODES}/n1", {"preconditions": {"uid": "x"}})],
    "delete with another version": [NODE, Step("DELETE", f"{NODES}/n1", {"preconditions": {"resourceVersion": "1"}})],
    "delete a node": [NODE, Step("DELETE", f"{NODES}/n1")],
    "delete a config map with a finalizer": [
        Step("POST", MAPS, {"metadata": {"name": "m", "finalizers": ["example.org/wait"]}}),
        Step("DELETE", f"{MAPS}/m"),
        Step("DELETE", f"{MAPS}/m"),
        patched(f"{MAPS}/m", {"metadata": {"finalizers": None}}),
        Step("GET", f"{MAPS}/m"),
    ],
    "delete a bound pod gracefully, then at once": [
        NODE,
        POD,
        Step("DELETE", f"{PODS}/p", {"gracePeriodSeconds": 7}),
        Step("DELETE", f"{PODS}/p", {"gracePeriodSeconds": 0}),
        Step("GET", f"{PODS}/p"),
    ],
    "delete with a negative grace": [NODE, POD, Step("DELETE", f"{PODS}/p", {"gracePeriodSeconds": -1})],
    "delete with a policy that nobody knows": [MAP, Step("DELETE", f"{MAPS}/m", {"propagationPolicy": "Whatever"})],
    "delete as a dry run": [MAP, Step("DELETE", f"{MAPS}/m?dryRun=All"), Step("GET", f"{MAPS}/m")],
    "a dry run of another kind": [Step("POST", f"{MAPS}?dryRun=Some", named("m"))],
    "delete a collection": [MAP, Step("DELETE", f"{MAPS}?labelSelector=a%3Db"), Step("GET", f"{MAPS}/m")],
    "list with a bad label selector": [Step("GET", f"{NODES}?labelSelector=a+in+b")],
    "list with a bad field selector": [Step("GET", f"{NODES}?fieldSelector=spec.podCIDR%3Dx")],
    "list with a bad limit": [Step("GET", f"{NODES}?limit=many")],
    "list with a bad continue token": [Step("GET", f"{NODES}?limit=1&continue=nonsense")],
    "list with a bad version": [Step("GET", f"{NODES}?resourceVersion=x")],
    "list with a match and no version": [Step("GET", f"{NODES}?resourceVersionMatch=Exact")],
    "list with a match that nobody knows": [Step("GET", f"{NODES}?resourceVersion=1&resourceVersionMatch=About")],
    "list exactly at zero": [Step("GET", f"{NODES}?resourceVersion=0&resourceVersionMatch=Exact")],
    "list nothing": [Step("GET", NODES)],
    "watch with a bad version": [Step("GET", f"{NODES}?watch=1&resourceVersion=x")],
    "strict validation": [Step("POST", f"{NODES}?fieldValidation=Strict", named("n1", spec={"podCidr": "x", "a": 1}))],
    "validation of a kind that nobody knows": [Step("POST", f"{NODES}?fieldValidation=Kind", named("n1"))],
    "a secret of text": [Step("POST", SECRETS, named("s", stringData={"a": "b"}))],
    "a secret with a bad key": [Step("POST", SECRETS, named("s", stringData={"a b": "c"}))],
    "a secret changes its type": [
        Step("POST", SECRETS, named("s", type="one/kind")),
        patched(f"{SECRETS}/s", {"type": "another/kind"}),
    ],
    "an immutable secret": [
        Step("POST", SECRETS, named("s", immutable=True, stringData={"a": "b"})),
        patched(f"{SECRETS}/s", {"stringData": {"a": "c"}}),
    ],
    "a pod without containers": [Step("POST", PODS, named("p", spec={"containers": []}))],
    "a pod without an image": [Step("POST", PODS, named("p", spec={"containers": [{"name": "c"}]}))],
    "a pod changes its image": [
        NODE,
        POD,
        patched(f"{PODS}/p", {"spec": {"containers": [{"name": "c", "image": "i:2"}]}}, STRATEGIC),
    ],
    "a pod moves to another node": [NODE, POD, patched(f"{PODS}/p", {"spec": {"nodeName": "n2"}})],
    "a bound pod is bound again": [
        NODE,
        POD,
        Step("POST", f"{PODS}/p/binding", named("p", target={"kind": "Node", "name": "n1"})),
    ],
    "evict what is missing": [Step("POST", f"{PODS}/p/eviction", named("p"))],
    "evict under another name": [NODE, POD, Step("POST", f"{PODS}/p/eviction", named("q"))],
    "evict": [NODE, POD, Step("POST", f"{PODS}/p/eviction", named("p"))],
    "evict as a dry run": [
        NODE,
        POD,
        Step("POST", f"{PODS}/p/eviction", named("p", deleteOptions={"dryRun": ["All"]})),
        Step("DELETE", f"{PODS}/p", {"gracePeriodSeconds": 0}),
    ],
    "evict with another uid": [
        NODE,
        POD,
        Step("POST", f"{PODS}/p/eviction", named("p", deleteOptions={"preconditions": {"uid": "x"}})),
    ],
    "read an eviction": [NODE, POD, Step("GET", f"{PODS}/p/eviction")],
    "a budget with both bounds": [budget(minAvailable=1, maxUnavailable=1)],
    "a budget with a bad share": [budget(minAvailable="half")],
    "a budget of more than all": [budget(maxUnavailable="101%")],
    "a negative budget": [budget(minAvailable=-1)],
    "a budget": [budget(minAvailable="50%")],
    "a replica set that does not select its pods": [Step("POST", SETS, workload("r", app="other"))],
    "a deployment changes its selector": [
        Step("POST", DEPLOYMENTS, workload("d")),
        patched(f"{DEPLOYMENTS}/d", {"spec": {"selector": {"matchLabels": {"app": "web", "x": "y"}}}}),
    ],
    "negative replicas": [Step("POST", DEPLOYMENTS, workload("d", replicas=-1))],
    "read and write a scale": [
        Step("POST", SETS, workload("r")),
        Step("GET", f"{SETS}/r/scale"),
        patched(f"{SETS}/r/scale", {"spec": {"replicas": -1}}),
    ],
    "a certificate request that is none": [
        Step(
            "POST",
            REQUESTS,
            named(
                "c",
                spec={
                    "request": "bm8=",
                    "signerName": "kubernetes.io/kube-apiserver-client",
                    "usages": ["client auth"],
                },
            ),
        )
    ],
    "a certificate request without a signer": [Step("POST", REQUESTS, named("c", spec={"usages": ["client auth"]}))],
    "an event with a time and without a reporter": [
        Step(
            "POST",
            "/api/v1/namespaces/default/events",
            named("e", eventTime="2026-01-01T00:00:00.000000Z", involvedObject={"kind": "Node", "name": "n"}),
        )
    ],
    "may I": [
        Step(
            "POST",
            "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
            {"spec": {"resourceAttributes": {"verb": "delete", "resource": "nodes"}}},
        )
    ],
    "may I what": [Step("POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", {"spec": {}})],
    "a method that no path has": [Step("PUT", NODES, named("n1"))],
    "health": [Step("GET", "/healthz"), Step("GET", "/readyz")],
}
