"""Versions as clusters of all kinds give them."""

from __future__ import annotations

import pytest

from core.version import Version


@pytest.mark.parametrize(
    ("text", "release", "distribution"),
    [
        ("v1.36.2", "1.36.2", ""),
        ("v1.34.1+k3s1", "1.34.1", "k3s"),
        ("v1.34.1+rke2r1", "1.34.1", "rke2"),
        ("v1.33.0-eks-abc123", "1.33.0", ""),
        ("v1.37.0-rc.1+k3s2", "1.37.0", "k3s"),
    ],
)
def test_a_version_is_read_and_written_back(text: str, release: str, distribution: str) -> None:
    version = Version.parse(text)
    assert (version.release, version.distribution, str(version)) == (release, distribution, text)


@pytest.mark.parametrize("text", ["", "1.36.2", "v1.36", "latest", "V1.36.2"])
def test_anything_else_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="not a Kubernetes version"):
        Version.parse(text)
