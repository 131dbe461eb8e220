"""Labels and taints: their text forms, and the rules of kubelet and the API server.

Sources: Kubernetes' label syntax (RFC 1123 names of 63 characters, prefixes of 253) and the
NodeRestriction admission plugin, which says what a kubelet may set on its own node.
"""

from __future__ import annotations

import re
from enum import StrEnum

from pydantic import BaseModel, ConfigDict

from core.errors import FieldRefused

OWN_PREFIX = "pools.lbr.dev"
_NAME = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?\Z")
_SUBDOMAIN = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*\Z")
_KUBELET_MAY_SET = ("node.kubernetes.io", "kubelet.kubernetes.io")
_PLATFORM_SETS = frozenset(
    {
        "kubernetes.io/hostname",
        "kubernetes.io/os",
        "kubernetes.io/arch",
        "node.kubernetes.io/instance-type",
        "topology.kubernetes.io/region",
        "topology.kubernetes.io/zone",
    }
)


class Effect(StrEnum):
    """What a taint does to pods that do not tolerate it."""

    NO_SCHEDULE = "NoSchedule"
    PREFER_NO_SCHEDULE = "PreferNoSchedule"
    NO_EXECUTE = "NoExecute"


class Taint(BaseModel):
    """A node taint. Key and effect together are its identity."""

    model_config = ConfigDict(frozen=True)

    key: str
    value: str = ""
    effect: Effect

    @property
    def identity(self) -> str:
        """`key:Effect`, what makes two taints the same one."""
        return f"{self.key}:{self.effect}"

    def __str__(self) -> str:
        return f"{self.key}={self.value}:{self.effect}" if self.value else self.identity


def parse_label(text: str) -> tuple[str, str | None]:
    """`k=v` as (k, v); `k-` as (k, None), which removes it. Raises FieldRefused."""
    if "=" in text:
        key, value = text.split("=", 1)
        return key, value
    if text.endswith("-"):
        return text[:-1], None
    raise FieldRefused("--label", f"{text!r} is neither key=value nor key-", hint="for example: --label workload=batch")


def parse_taint(text: str) -> tuple[Taint, bool]:
    """`key=value:Effect` or `key:Effect` as (taint, True); with a final `-` as (taint, False): remove it.

    Raises FieldRefused.
    """
    keep = not text.endswith("-")
    head, _, effect = text.removesuffix("-").rpartition(":")
    key, _, value = head.partition("=")
    if not head or effect not in tuple(Effect):
        raise FieldRefused(
            "--taint",
            f"{text!r} is not key=value:Effect, key:Effect or key:Effect- with an effect of {', '.join(Effect)}",
            hint="for example: --taint dedicated=batch:NoSchedule",
        )
    return Taint(key=key, value=value, effect=Effect(effect)), keep


def check_labels(labels: dict[str, str]) -> None:
    """Refuse labels that kubelet or the API server would refuse, or that the platform sets itself.

    Raises FieldRefused.
    """
    for key, value in labels.items():
        _check_key("--label", key)
        _check_value("--label", key, value)
        _check_reserved("--label", key)


def check_taints(taints: list[Taint]) -> None:
    """Refuse taints that kubelet or the API server would refuse. Raises FieldRefused."""
    seen: set[str] = set()
    for taint in taints:
        _check_key("--taint", taint.key)
        _check_value("--taint", taint.key, taint.value)
        _check_reserved("--taint", taint.key)
        if taint.identity in seen:
            raise FieldRefused(
                "--taint",
                f"{taint.identity} is given twice: a node has one taint per key and effect",
                hint="keep one of them",
            )
        seen.add(taint.identity)


def _check_key(field: str, key: str) -> None:
    prefix, slash, name = key.rpartition("/")
    good_name = len(name) <= 63 and _NAME.match(name)
    good_prefix = not slash or (len(prefix) <= 253 and _SUBDOMAIN.match(prefix))
    if not (good_name and good_prefix):
        raise FieldRefused(
            field,
            f"key {key!r} is not a valid key: at most 63 letters, digits, '-', '_', '.', starting and ending "
            "with a letter or digit, after an optional DNS prefix and '/'",
            hint="for example: workload or example.com/workload",
        )


def _check_value(field: str, key: str, value: str) -> None:
    if value and (len(value) > 63 or not _NAME.match(value)):
        raise FieldRefused(
            field,
            f"value {value!r} of {key} is not a valid value: at most 63 letters, digits, '-', '_', '.', "
            "starting and ending with a letter or digit",
            hint="shorten it or leave it empty",
        )


def _check_reserved(field: str, key: str) -> None:
    prefix, _, _ = key.rpartition("/")
    if key in _PLATFORM_SETS or _under(prefix, (OWN_PREFIX,)):
        raise FieldRefused(
            field,
            f"{key} is set by the platform on every node",
            hint="use a key of your own, such as workload",
        )
    if _under(prefix, _KUBELET_MAY_SET):
        return
    if _under(prefix, ("kubernetes.io", "k8s.io")):
        raise FieldRefused(
            field,
            f"{key} has a reserved prefix: a kubelet may not set keys under kubernetes.io and k8s.io on its node",
            hint="use a key of your own, such as example.com/role",
        )


def _under(prefix: str, domains: tuple[str, ...]) -> bool:
    return any(prefix == domain or prefix.endswith(f".{domain}") for domain in domains)
