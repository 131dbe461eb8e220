"""The rules for pods: defaults, quality of service, and what may change after creation."""

from collections.abc import Iterator

from sandbox.kubernetes.errors import Cause
from sandbox.kubernetes.names import label_name_faults, subdomain_faults
from sandbox.kubernetes.objects import Obj, clone
from sandbox.kubernetes.strategy import Creation, Strategy
from sandbox.kubernetes.validation import duplicate, faulty, missing, refused, required, unsupported

_EVICTION_SECONDS = 300  # default tolerationSeconds of the DefaultTolerationSeconds admission plugin
_FILE_MODE = 0o644
_POLICIES = ("Always", "OnFailure", "Never")
_TOLERATED = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")


def default_template(spec: Obj) -> None:
    """Fill in a pod spec, whether of a pod or of a template."""
    spec.setdefault("restartPolicy", "Always")
    spec.setdefault("terminationGracePeriodSeconds", 30)
    spec.setdefault("dnsPolicy", "ClusterFirst")
    spec.setdefault("schedulerName", "default-scheduler")
    spec.setdefault("securityContext", {})
    for container in [*(spec.get("containers") or []), *(spec.get("initContainers") or [])]:
        _default_container(container)
    for volume in spec.get("volumes") or []:
        _default_volume(volume)


def _default_volume(volume: Obj) -> None:
    if len(volume) == 1:  # a name alone
        volume["emptyDir"] = {}
    for source in ("secret", "configMap", "downwardAPI", "projected"):
        if source in volume:
            volume[source].setdefault("defaultMode", _FILE_MODE)
    if "hostPath" in volume:
        volume["hostPath"].setdefault("type", "")


def _default_container(container: Obj) -> None:
    image = container.get("image", "")
    latest = ":" not in image.rpartition("/")[2] or image.endswith(":latest")
    container.setdefault("resources", {})
    container.setdefault("terminationMessagePath", "/dev/termination-log")
    container.setdefault("terminationMessagePolicy", "File")
    container.setdefault("imagePullPolicy", "Always" if latest else "IfNotPresent")
    for port in container.get("ports") or []:
        port.setdefault("protocol", "TCP")
    limits = container["resources"].get("limits")
    if limits:
        requests = container["resources"].get("requests") or {}
        container["resources"]["requests"] = limits | requests


def _default(pod: Obj) -> None:
    spec = pod.setdefault("spec", {})
    default_template(spec)
    spec.setdefault("enableServiceLinks", True)
    account = spec.get("serviceAccountName") or spec.get("serviceAccount")
    if account:  # two names of one field, of which the second is the old one
        spec["serviceAccountName"] = spec["serviceAccount"] = account


def _create(pod: Obj, creation: Creation) -> None:
    del creation
    tolerations = pod["spec"].setdefault("tolerations", [])
    for key in _TOLERATED:
        if not any(_covers(toleration, key) for toleration in tolerations):
            wait = {"operator": "Exists", "effect": "NoExecute", "tolerationSeconds": _EVICTION_SECONDS}
            tolerations.append({"key": key} | wait)
    pod["status"] = {"phase": "Pending", "qosClass": quality_of_service(pod["spec"])}


def _covers(toleration: Obj, key: str) -> bool:
    return toleration.get("key", key) in ("", key) and toleration.get("effect", "") in ("", "NoExecute")


def quality_of_service(spec: Obj) -> str:
    """`Guaranteed`, `Burstable` or `BestEffort`, from requests and limits of cpu and memory."""
    resources = [c.get("resources") or {} for c in spec.get("containers") or []]
    if not any(r.get("requests") or r.get("limits") for r in resources):
        return "BestEffort"
    for found in resources:
        limits, requests = found.get("limits") or {}, found.get("requests") or {}
        if any(name not in limits or limits[name] != requests.get(name) for name in ("cpu", "memory")):
            return "Burstable"
    return "Guaranteed"


def spec_causes(spec: Obj, field: str = "spec") -> Iterator[Cause]:
    """What is wrong with a pod spec."""
    volumes = {volume.get("name") for volume in spec.get("volumes") or []}
    containers = spec.get("containers") or []
    if not containers:
        yield required(f"{field}.containers")
    yield from _container_causes(containers, f"{field}.containers", volumes)
    yield from _container_causes(spec.get("initContainers") or [], f"{field}.initContainers", volumes)
    if spec.get("restartPolicy") not in _POLICIES:
        yield unsupported(f"{field}.restartPolicy", spec.get("restartPolicy"), _POLICIES)
    node = spec.get("nodeName", "")
    if node:
        yield from faulty(f"{field}.nodeName", node, subdomain_faults(node))


def _container_causes(containers: list[Obj], field: str, volumes: set[str]) -> Iterator[Cause]:
    seen = set()
    for index, container in enumerate(containers):
        place, name = f"{field}[{index}]", container.get("name", "")
        if not name:
            yield required(f"{place}.name")
        elif name in seen:
            yield duplicate(f"{place}.name", name)
        else:
            yield from faulty(f"{place}.name", name, label_name_faults(name))
        seen.add(name)
        if not container.get("image"):
            yield required(f"{place}.image")
        for at, mount in enumerate(container.get("volumeMounts") or []):
            if mount.get("name") not in volumes:
                yield missing(f"{place}.volumeMounts[{at}].name", mount.get("name", ""))


def _validate(new: Obj, old: Obj | None) -> Iterator[Cause]:
    yield from spec_causes(new["spec"])
    if old is not None and _frozen(new) != _frozen(old):
        yield refused(
            "spec",
            "pod updates may not change fields other than `spec.containers[*].image`,"
            "`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,"
            "`spec.tolerations` (only additions to existing tolerations),"
            "`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)",
        )


def _frozen(pod: Obj) -> Obj:
    spec = clone(pod["spec"])
    for name in ("tolerations", "activeDeadlineSeconds"):
        spec.pop(name, None)
    for container in [*spec.get("containers", []), *spec.get("initContainers", [])]:
        container.pop("image", None)
        container.pop("imagePullPolicy", None)
    return spec


STRATEGY = Strategy(_default, _create, _validate, generation=True)
