"""`kubectl auth can-i` and `kubectl auth whoami`: questions about oneself, answered and not kept."""

from sandbox.kubernetes.authorization import Access, allows
from sandbox.kubernetes.identity import User
from sandbox.kubernetes.objects import Obj
from sandbox.kubernetes.store import Store


def review(store: Store, plural: str, body: Obj, user: User) -> Obj | None:
    """The filled-in review, None when `plural` is no kind of review."""
    if plural == "selfsubjectreviews":
        who = {"username": user.name, "groups": list(user.groups)}
        return {"kind": "SelfSubjectReview", "apiVersion": "authentication.k8s.io/v1", "metadata": {}} | {
            "status": {"userInfo": who}
        }
    if plural != "selfsubjectaccessreviews":
        return None
    asked = (body.get("spec") or {}).get("resourceAttributes") or {}
    resource = asked.get("resource", "")
    if asked.get("subresource"):
        resource += f"/{asked['subresource']}"
    access = Access(
        asked.get("verb", ""), asked.get("group", ""), resource, asked.get("namespace", ""), asked.get("name", "")
    )
    head = {"kind": "SelfSubjectAccessReview", "apiVersion": "authorization.k8s.io/v1", "metadata": {}}
    return head | {"spec": body.get("spec") or {}, "status": {"allowed": allows(store, user, access)}}
