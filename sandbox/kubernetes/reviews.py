"""`kubectl auth can-i` and `kubectl auth whoami`: questions about oneself, answered and not kept."""

from collections.abc import Iterator

from sandbox.kubernetes.authorization import Access, allows
from sandbox.kubernetes.body_types import Type
from sandbox.kubernetes.errors import Cause, invalid_as
from sandbox.kubernetes.identity import User
from sandbox.kubernetes.objects import Obj
from sandbox.kubernetes.store import Store
from sandbox.kubernetes.validation import wrong

REVIEWS = (
    Type("authorization.k8s.io", "v1", "SelfSubjectAccessReview"),
    Type("authentication.k8s.io", "v1", "SelfSubjectReview"),
)


def plural_of(review: Type) -> str:
    """A review's name in paths."""
    return f"{review.kind.lower()}s"


def type_at(path: str) -> Type | None:
    """The review that is asked for at a path."""
    paths = {f"/apis/{review.api_version}/{plural_of(review)}": review for review in REVIEWS}
    return paths.get(path)


def answer(store: Store, review: Type, body: Obj, user: User) -> Obj:
    """The filled-in review. Raises ApiError 422."""
    if review.kind == "SelfSubjectReview":
        who = {"username": user.name, "groups": list(user.groups)}
        return {"kind": "SelfSubjectReview", "apiVersion": "authentication.k8s.io/v1", "metadata": {}} | {
            "status": {"userInfo": who}
        }
    spec = body.get("spec") or {}
    causes = [*_causes(spec)]
    metadata = {key: value for key, value in (body.get("metadata") or {}).items() if value}
    if metadata:
        causes.append(wrong("metadata", metadata, "must be empty"))
    if causes:
        raise invalid_as("authorization.k8s.io", "", "", causes)
    if "nonResourceAttributes" in spec:
        return _reviewed(spec, user.is_admin)
    asked = spec["resourceAttributes"]
    resource = asked.get("resource", "")
    if asked.get("subresource"):
        resource += f"/{asked['subresource']}"
    access = Access(
        asked.get("verb", ""), asked.get("group", ""), resource, asked.get("namespace", ""), asked.get("name", "")
    )
    return _reviewed(spec, allows(store, user, access))


def _reviewed(spec: Obj, allowed: bool) -> Obj:
    head = {"kind": "SelfSubjectAccessReview", "apiVersion": "authorization.k8s.io/v1", "metadata": {}}
    return head | {"spec": spec, "status": {"allowed": allowed}}


def _causes(spec: Obj) -> Iterator[Cause]:
    """A review asks about a resource or about a path."""
    path, resource = spec.get("nonResourceAttributes"), spec.get("resourceAttributes")
    if path is not None and resource is not None:
        shown = {"Path": path.get("path", ""), "Verb": path.get("verb", "")}
        yield wrong("spec.nonResourceAttributes", shown, "cannot be specified in combination with resourceAttributes")
    if path is None and resource is None:
        why = "exactly one of nonResourceAttributes or resourceAttributes must be specified"
        yield wrong("spec.resourceAttributes", None, why)
