"""The rules for replica sets, deployments, daemon sets, jobs and disruption budgets."""

from collections.abc import Iterator

from sandbox.kubernetes.errors import Cause
from sandbox.kubernetes.names import label_key_faults, label_value_faults, percent_faults
from sandbox.kubernetes.objects import Obj, dig, name_of
from sandbox.kubernetes.pods import default_template, spec_causes
from sandbox.kubernetes.selectors import requirements_of
from sandbox.kubernetes.strategy import Creation, Strategy
from sandbox.kubernetes.validation import faulty, label_causes, refused, required, unsupported, wrong

_UNHEALTHY_POLICIES = ("AlwaysAllow", "IfHealthyBudget")
# The names and the order that the server's own type has, which it shows when a whole spec is wrong.
_BUDGET_FIELDS = {
    "MinAvailable": "minAvailable",
    "Selector": "selector",
    "MaxUnavailable": "maxUnavailable",
    "UnhealthyPodEvictionPolicy": "unhealthyPodEvictionPolicy",
}
_SETS = ("In", "NotIn")
_OPERATORS = (*_SETS, "Exists", "DoesNotExist")


def _default_workload(obj: Obj) -> None:
    template = obj.setdefault("spec", {}).setdefault("template", {})
    template.setdefault("metadata", {})
    default_template(template.setdefault("spec", {}))


def _default_replicas(obj: Obj) -> None:
    _default_workload(obj)
    obj["spec"].setdefault("replicas", 1)


def _default_deployment(obj: Obj) -> None:
    _default_replicas(obj)
    spec = obj["spec"]
    spec.setdefault("revisionHistoryLimit", 10)
    spec.setdefault("progressDeadlineSeconds", 600)
    strategy = spec.setdefault("strategy", {})
    if strategy.setdefault("type", "RollingUpdate") == "RollingUpdate":
        rolling = strategy.setdefault("rollingUpdate", {})
        rolling.setdefault("maxUnavailable", "25%")
        rolling.setdefault("maxSurge", "25%")


def _default_daemon_set(obj: Obj) -> None:
    _default_workload(obj)
    obj["spec"].setdefault("revisionHistoryLimit", 10)
    update = {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 1, "maxSurge": 0}}
    obj["spec"].setdefault("updateStrategy", update)


def _default_job(obj: Obj) -> None:
    _default_workload(obj)
    spec = obj["spec"]
    spec.setdefault("parallelism", 1)
    spec.setdefault("completions", 1)
    spec.setdefault("backoffLimit", 6)
    spec.setdefault("completionMode", "NonIndexed")
    spec.setdefault("suspend", False)


def _create(obj: Obj, creation: Creation) -> None:
    del creation
    obj["status"] = {}


def _create_replicas(obj: Obj, creation: Creation) -> None:
    del creation
    obj["status"] = {"replicas": 0}


def _create_daemon_set(obj: Obj, creation: Creation) -> None:
    del creation
    counted = ("currentNumberScheduled", "desiredNumberScheduled", "numberMisscheduled", "numberReady")
    obj["status"] = dict.fromkeys(counted, 0)


def _create_job(obj: Obj, creation: Creation) -> None:
    """A job selects its pods by its own UID."""
    _create(obj, creation)
    uid = obj["metadata"]["uid"]
    mine = {"batch.kubernetes.io/controller-uid": uid, "batch.kubernetes.io/job-name": name_of(obj)}
    obj["spec"]["selector"] = {"matchLabels": {"batch.kubernetes.io/controller-uid": uid}}
    metadata = obj["spec"]["template"]["metadata"]
    metadata["labels"] = (metadata.get("labels") or {}) | mine


def _validate(new: Obj, old: Obj | None) -> Iterator[Cause]:
    spec = new["spec"]
    replicas = spec.get("replicas", 0)
    if replicas < 0:
        yield wrong("spec.replicas", replicas, "must be greater than or equal to 0")
    selector = spec.get("selector")
    labels = dig(spec, ("template", "metadata", "labels"))
    found = [*selector_causes(selector)]
    yield from found
    if selector is None:
        yield required("spec.selector")
    elif not requirements_of(selector):
        yield wrong("spec.selector", selector, "empty selector is invalid for deployment")
    if found:
        yield wrong("spec.selector", selector, "invalid label selector")
    elif not _holds(selector, labels or {}):
        yield wrong("spec.template.metadata.labels", labels, "`selector` does not match template `labels`")
    yield from spec_causes(spec["template"]["spec"], "spec.template.spec")
    if old is not None and old["spec"].get("selector") != selector:
        yield wrong("spec.selector", selector, "field is immutable")


def _holds(selector: Obj | None, labels: Obj) -> bool:
    terms = requirements_of(selector)
    return terms is not None and all(term.holds(labels) for term in terms)


def selector_causes(selector: Obj | None) -> Iterator[Cause]:
    """What is wrong with a label selector."""
    yield from label_causes("spec.selector.matchLabels", (selector or {}).get("matchLabels") or {})
    for index, term in enumerate((selector or {}).get("matchExpressions") or []):
        field = f"spec.selector.matchExpressions[{index}]"
        operator, values, key = term.get("operator", ""), term.get("values") or [], term.get("key", "")
        if operator not in _OPERATORS:
            yield wrong(f"{field}.operator", operator, "not a valid selector operator")
        elif operator in _SETS and not values:
            yield required(f"{field}.values", "must be specified when `operator` is 'In' or 'NotIn'")
        elif operator not in _SETS and values:
            yield refused(f"{field}.values", "may not be specified when `operator` is 'Exists' or 'DoesNotExist'")
        yield from faulty(f"{field}.key", key, label_key_faults(key))
        for place, value in enumerate(values):
            yield from faulty(f"{field}.values[{place}]", value, label_value_faults(value))


def _validate_deployment(new: Obj, old: Obj | None) -> Iterator[Cause]:
    yield from _validate_serving(new, old)
    rolling, field = new["spec"]["strategy"].get("rollingUpdate"), "spec.strategy.rollingUpdate"
    if rolling is None:
        return
    most, surge = rolling.get("maxUnavailable", 0), rolling.get("maxSurge", 0)
    yield from _share_causes(f"{field}.maxUnavailable", most)
    surge_causes = [*_share_causes(f"{field}.maxSurge", surge)]
    # More than all is no fault here: that many new pods may come before the old ones go.
    yield from (cause for cause in surge_causes if "greater than 100%" not in cause.message)
    if most in (0, "0%") and surge in (0, "0%"):
        yield wrong(f"{field}.maxUnavailable", most, "may not be 0 when `maxSurge` is 0")


def _share_causes(field: str, value: int | str) -> Iterator[Cause]:
    """What is wrong with a number of pods that may be a percentage."""
    if isinstance(value, int) and value < 0:
        yield wrong(field, value, "must be greater than or equal to 0")
    if isinstance(value, str):
        yield from faulty(field, value, percent_faults(value))


def _validate_serving(new: Obj, old: Obj | None) -> Iterator[Cause]:
    yield from _validate(new, old)
    policy = new["spec"]["template"]["spec"]["restartPolicy"]
    if policy != "Always":
        yield unsupported("spec.template.spec.restartPolicy", policy, ("Always",))


def _validate_job(new: Obj, old: Obj | None) -> Iterator[Cause]:
    yield from _validate(new, old)
    policy = new["spec"]["template"]["spec"]["restartPolicy"]
    if policy == "Always":
        field = "spec.template.spec.restartPolicy"
        yield Cause(field, 'Required value: valid values: "OnFailure", "Never"', "FieldValueRequired")
    if old is not None and old["spec"]["template"] != new["spec"]["template"]:
        yield wrong("spec.template", {}, "field is immutable")


def _validate_budget(new: Obj, old: Obj | None) -> Iterator[Cause]:
    del old
    spec = new.get("spec") or {}
    if "minAvailable" in spec and "maxUnavailable" in spec:
        shown = {shown: spec.get(field) for shown, field in _BUDGET_FIELDS.items()}
        yield wrong("spec", shown, "minAvailable and maxUnavailable cannot be both set")
    for name in ("minAvailable", "maxUnavailable"):
        yield from _share_causes(f"spec.{name}", spec.get(name, 0))
    yield from selector_causes(spec.get("selector"))
    policy = spec.get("unhealthyPodEvictionPolicy")
    if policy is not None and policy not in _UNHEALTHY_POLICIES:
        yield unsupported("spec.unhealthyPodEvictionPolicy", policy, _UNHEALTHY_POLICIES)


def _default_budget(obj: Obj) -> None:
    obj.setdefault("spec", {})


def _create_budget(obj: Obj, creation: Creation) -> None:
    del creation
    numbers = ("currentHealthy", "desiredHealthy", "disruptionsAllowed", "expectedPods")
    obj["status"] = dict.fromkeys(numbers, 0)


REPLICA_SET = Strategy(_default_replicas, _create_replicas, _validate_serving, generation=True)
DEPLOYMENT = Strategy(_default_deployment, _create, _validate_deployment, generation=True)
DAEMON_SET = Strategy(_default_daemon_set, _create_daemon_set, _validate_serving, generation=True)
JOB = Strategy(_default_job, _create_job, _validate_job, generation=True)
BUDGET = Strategy(_default_budget, _create_budget, _validate_budget, unconditional=False, generation=True)
