"""The service account of a pod, and the token that it finds mounted, as the ServiceAccount plugin adds them."""

from sandbox.kubernetes.errors import forbidden
from sandbox.kubernetes.kinds import PODS, SERVICE_ACCOUNTS
from sandbox.kubernetes.objects import Obj, name_of, namespace_of, random_suffix
from sandbox.kubernetes.store import Store

DEFAULT = "default"
MIRROR = "kubernetes.io/config.mirror"
_PREFIX = "kube-api-access-"
_PATH = "/var/run/secrets/kubernetes.io/serviceaccount"
_SECONDS = 3607  # an hour and a bit, by which the token's renewal is told from one that asked for an hour


def set_account(store: Store, pod: Obj) -> None:
    """Name the pod's service account and mount its token. Raises ApiError 403 when there is no such account."""
    spec = pod["spec"]
    if MIRROR in (pod["metadata"].get("annotations") or {}):
        if spec.get("serviceAccountName"):
            raise forbidden(PODS, name_of(pod), "a mirror pod may not reference service accounts")
        return
    name = spec.get("serviceAccountName") or DEFAULT
    spec["serviceAccountName"] = spec["serviceAccount"] = name
    found = store.get(SERVICE_ACCOUNTS, namespace_of(pod), name)
    if found is None:
        why = f'error looking up service account {namespace_of(pod)}/{name}: serviceaccount "{name}" not found'
        raise forbidden(PODS, name_of(pod), why)
    pulls = found.obj.get("imagePullSecrets")
    if pulls and not spec.get("imagePullSecrets"):
        spec["imagePullSecrets"] = [dict(pull) for pull in pulls]
    mounts = spec.get("automountServiceAccountToken", found.obj.get("automountServiceAccountToken", True))
    if mounts:
        _mount_token(spec)


def _mount_token(spec: Obj) -> None:
    """Mount the token wherever a container has nothing at its path."""
    volumes = spec.get("volumes") or []
    present = next((volume["name"] for volume in volumes if volume.get("name", "").startswith(_PREFIX)), "")
    name = present or _PREFIX + random_suffix()
    used = False
    for container in [*(spec.get("initContainers") or []), *(spec.get("containers") or [])]:
        mounts = container.get("volumeMounts") or []
        if not any(mount.get("mountPath") == _PATH for mount in mounts):
            container["volumeMounts"] = [*mounts, {"name": name, "readOnly": True, "mountPath": _PATH}]
            used = True
    if used and not present:
        spec["volumes"] = [*volumes, _token_volume(name)]


def _token_volume(name: str) -> Obj:
    field = {"apiVersion": "v1", "fieldPath": "metadata.namespace"}
    sources = [
        {"serviceAccountToken": {"expirationSeconds": _SECONDS, "path": "token"}},
        {"configMap": {"name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}},
        {"downwardAPI": {"items": [{"path": "namespace", "fieldRef": field}]}},
    ]
    return {"name": name, "projected": {"sources": sources, "defaultMode": 0o644}}
