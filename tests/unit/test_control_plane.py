"""Where a real control plane comes from, and what is said where it cannot be had."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from core.errors import PoolsError
from sandbox.controlplane import PROGRAMS, build, find
from sandbox.controlplane.access import Access
from sandbox.controlplane.commands import commands
from sandbox.kubernetes.timing import SANDBOX
from sandbox.layout import ClusterKind, Layout


def programs_in(folder: Path, *names: str) -> Path:
    """A folder with these programs."""
    folder.mkdir()
    for name in names:
        (folder / name).touch(mode=0o755)
    return folder


def test_what_the_assets_lack_is_taken_from_what_was_built(tmp_path: Path) -> None:
    assets = programs_in(tmp_path / "assets", "etcd", "kube-apiserver")
    built = programs_in(tmp_path / "built", *PROGRAMS)
    found = find({"KUBEBUILDER_ASSETS": str(assets)}, built)
    assert {name: path.parent for name, path in found.items()} == {
        "etcd": assets,
        "kube-apiserver": assets,
        "kube-controller-manager": built,
        "kube-scheduler": built,
    }


def test_missing_programs_are_named_with_the_next_step(tmp_path: Path) -> None:
    assets = programs_in(tmp_path / "assets", "etcd", "kube-apiserver")
    with pytest.raises(PoolsError, match="needs kube-controller-manager, kube-scheduler, which") as caught:
        find({"KUBEBUILDER_ASSETS": str(assets)}, tmp_path / "nothing")
    assert "make control-plane" in caught.value.hint


def test_without_go_the_build_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(build, "BUILT", tmp_path / "built")
    monkeypatch.setattr(build.shutil, "which", lambda name, path=None: None)
    assert build.main() == 1
    said = capsys.readouterr().err
    assert "Go 1.26 or newer is needed" in said
    assert "KUBEBUILDER_ASSETS" in said
    assert not (tmp_path / "built").exists()


def test_what_is_built_already_is_not_built_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    built = programs_in(tmp_path / "built", *PROGRAMS)
    (built / "built-from").write_text(build.state())
    monkeypatch.setattr(build, "BUILT", built)
    monkeypatch.setattr(build.shutil, "which", lambda name, path=None: None)
    assert build.main() == 0
    assert build.version() in capsys.readouterr().out


def test_every_kubernetes_module_is_of_one_release() -> None:
    """Kubernetes releases its libraries together: v1.36.3 goes with v0.36.3, and `k8s.io/*` tools have their own."""
    lines = (Path(build.__file__).with_name("go.mod")).read_text().splitlines()
    of_a_release = {m[1] for line in lines if (m := re.match(r"\s*k8s\.io/[\w-]+ v[01]\.(3\d\.\d+)\b", line))}
    assert of_a_release == {build.version().removeprefix("v1.")}


def test_everything_listens_on_loopback_alone(tmp_path: Path) -> None:
    layout = Layout(tmp_path)
    access = Access(tmp_path / "access")
    access.make()
    lines = commands({name: Path(name) for name in PROGRAMS}, layout, access, SANDBOX)
    flags = {name: dict(flag[2:].split("=", 1) for flag in line[1:]) for name, line in lines.items()}
    etcd = flags["etcd"]
    assert all(etcd[f"listen-{who}-urls"].startswith("http://127.0.0.1:") for who in ("client", "peer"))
    assert flags["kube-apiserver"]["bind-address"] == "127.0.0.1"
    assert flags["kube-controller-manager"]["secure-port"] == flags["kube-scheduler"]["secure-port"] == "0"


def test_secrets_of_the_control_plane_are_for_their_owner_alone(tmp_path: Path) -> None:
    access = Access(tmp_path / "access")
    access.make()
    assert {path.stat().st_mode & 0o077 for path in (tmp_path / "access").iterdir()} == {0}


def test_a_sandbox_keeps_the_kind_of_its_cluster(tmp_path: Path) -> None:
    layout = Layout(tmp_path)
    assert layout.settle(None) is ClusterKind.SIMULATED
    with pytest.raises(PoolsError, match=r"--cluster real: the sandbox in .* has a simulated cluster"):
        layout.settle(ClusterKind.REAL)
    assert layout.settle(None) is ClusterKind.SIMULATED
