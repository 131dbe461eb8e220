"""Where the control plane's programs are: where KUBEBUILDER_ASSETS says, or built by `make control-plane`."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from core.errors import PoolsError

PROGRAMS = ("etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler")
BUILT = Path(__file__).parents[2] / ".control-plane"


def find(environment: Mapping[str, str] = os.environ, built: Path = BUILT) -> dict[str, Path]:
    """The path of each program. What KUBEBUILDER_ASSETS lacks (envtest has no controllers) is taken from `built`.

    Raises PoolsError naming those that are nowhere.
    """
    assets = environment.get("KUBEBUILDER_ASSETS")
    folders = [*([Path(assets)] if assets else []), built]
    found = {name: _first(folders, name) for name in PROGRAMS}
    missing = [name for name, path in found.items() if path is None]
    if missing:
        where = " or ".join(str(folder) for folder in folders)
        raise PoolsError(
            f"a real control plane needs {', '.join(missing)}, which is not in {where}",
            hint="build it with `make control-plane` (Go 1.26 or newer; about five minutes, once), "
            "or let KUBEBUILDER_ASSETS name a folder that has it",
        )
    return {name: path for name, path in found.items() if path is not None}


def _first(folders: list[Path], name: str) -> Path | None:
    return next((folder / name for folder in folders if os.access(folder / name, os.X_OK)), None)
