"""Approves and signs the certificate requests by which kubelets join."""

import base64
import binascii
from datetime import datetime

from sandbox.kubernetes.authorization import Access, allows
from sandbox.kubernetes.certificates import Authority, subject_of
from sandbox.kubernetes.identity import NODE_PREFIX, NODES_GROUP, User
from sandbox.kubernetes.kinds import SIGNING_REQUESTS
from sandbox.kubernetes.objects import Obj, is_true, name_of, set_condition
from sandbox.kubernetes.registry import Registry
from sandbox.kubernetes.store import Store

_GROUP = "certificates.k8s.io"
_KUBELET_CLIENT = "kubernetes.io/kube-apiserver-client-kubelet"


def approve_and_sign(registry: Registry, authority: Authority, now: datetime) -> None:
    """Approve kubelet client requests of those who have the right to them; sign what is approved.

    Serving certificates wait for a person or an approver, as in a real cluster.
    """
    for request in list(registry.store.objs(SIGNING_REQUESTS)):
        if request["status"].get("certificate") or is_true(request, "Denied"):
            continue
        if not is_true(request, "Approved") and _is_recognised(registry.store, request):
            registry.update(SIGNING_REQUESTS, "", name_of(request), lambda r: _approve(r, now), "approval")
        current = registry.get(SIGNING_REQUESTS, "", name_of(request)).obj
        if is_true(current, "Approved") and not is_true(current, "Failed"):
            registry.update(SIGNING_REQUESTS, "", name_of(request), lambda r: _sign(r, authority, now), "status")


def _is_recognised(store: Store, request: Obj) -> bool:
    spec = request["spec"]
    if spec["signerName"] != _KUBELET_CLIENT or "client auth" not in spec["usages"]:
        return False
    try:
        subject = subject_of(base64.b64decode(spec["request"]))
    except (ValueError, binascii.Error):
        return False
    if not (subject.name.startswith(NODE_PREFIX) and NODES_GROUP in subject.groups):
        return False
    asker = User(spec["username"], tuple(spec["groups"]))
    rights = ("nodeclient", "selfnodeclient") if asker.name == subject.name else ("nodeclient",)
    wanted = (Access("create", _GROUP, f"certificatesigningrequests/{right}") for right in rights)
    return any(allows(store, asker, access) for access in wanted)


def _approve(request: Obj, now: datetime) -> Obj:
    words = "Auto approving kubelet client certificate after SubjectAccessReview."
    set_condition(request, {"type": "Approved", "status": "True", "reason": "AutoApproved", "message": words}, now)
    return request


def _sign(request: Obj, authority: Authority, now: datetime) -> Obj:
    try:
        signed = authority.sign(base64.b64decode(request["spec"]["request"]), now)
    except ValueError as error:
        failed = {"type": "Failed", "status": "True", "reason": "SignerValidationFailure"}
        set_condition(request, failed | {"message": str(error)}, now)
        return request
    request["status"]["certificate"] = base64.b64encode(signed.encode()).decode()
    return request
