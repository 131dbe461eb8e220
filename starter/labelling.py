"""Reads `--label` and `--taint`, as things to set and, on an update, to remove."""

from __future__ import annotations

from collections.abc import Iterable

from core.errors import FieldRefused
from core.labels import Taint, parse_label, parse_taint


def labels_to_set(texts: Iterable[str]) -> dict[str, str]:
    """Labels of a new pool. Raises FieldRefused for a removal or a key given twice."""
    labels = {}
    for key, value in label_changes(texts).items():
        if value is None:
            raise FieldRefused("--label", f"{key}- removes a label, and a new pool has none", hint="give key=value")
        labels[key] = value
    return labels


def taints_to_set(texts: Iterable[str]) -> list[Taint]:
    """Taints of a new pool. Raises FieldRefused for a removal."""
    set_, removed = taint_changes(texts)
    if removed:
        raise FieldRefused(
            "--taint", f"{removed[0]}- removes a taint, and a new pool has none", hint="give key=value:Effect"
        )
    return set_


def taint_changes(texts: Iterable[str]) -> tuple[list[Taint], list[str]]:
    """Taints to set, and identities (`key:Effect`) to remove. Raises FieldRefused."""
    parsed = [parse_taint(text) for text in texts]
    return [taint for taint, keep in parsed if keep], [taint.identity for taint, keep in parsed if not keep]


def label_changes(texts: Iterable[str]) -> dict[str, str | None]:
    """Labels to set, and with None to remove. Raises FieldRefused for a key given twice."""
    labels: dict[str, str | None] = {}
    for text in texts:
        key, value = parse_label(text)
        if key in labels:
            raise FieldRefused("--label", f"{key} is given twice", hint="keep one of them")
        labels[key] = value
    return labels
