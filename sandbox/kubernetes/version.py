"""`/version` in upstream and k3s form."""

import platform
import re

from sandbox.kubernetes.objects import Obj

_VERSION = re.compile(r"v(\d+)\.(\d+)\.(\d+)([-+].+)?")


def check_version(version: str) -> str:
    """The version as given. Raises ValueError unless it reads `v1.34.1`, maybe with `+k3s1` behind."""
    if not _VERSION.fullmatch(version):
        raise ValueError(f"{version!r} is not a Kubernetes version such as v1.34.1 or v1.34.1+k3s1")
    return version


def version_info(version: str) -> Obj:
    """The answer of `/version`."""
    found = _VERSION.fullmatch(version)
    assert found is not None  # checked when it was set
    machine = "arm64" if platform.machine() in ("aarch64", "arm64") else "amd64"
    return {
        "major": found[1],
        "minor": found[2],
        "emulationMajor": found[1],
        "emulationMinor": found[2],
        "minCompatibilityMajor": found[1],
        "minCompatibilityMinor": str(int(found[2]) - 1),
        "gitVersion": version,
        "gitCommit": "0" * 40,
        "gitTreeState": "clean",
        "buildDate": "2026-01-01T00:00:00Z",
        "goVersion": "go1.24.6",
        "compiler": "gc",
        "platform": f"linux/{machine}",
    }
