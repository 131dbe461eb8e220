"""User-data tells a machine all that it needs to join, pins what it installs, and passes cloud-init's own check."""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from core.calls import JoinMethod, ServerType
from core.errors import FieldRefused
from core.labels import Effect, Taint
from core.userdata import KUBEADM_FILE, SCRIPT_FILE, Join, render
from core.version import Version

VERSIONS = {JoinMethod.K3S: "v1.34.1+k3s1", JoinMethod.RKE2: "v1.34.1+rke2r1", JoinMethod.KUBEADM: "v1.34.1"}
TAINTS = [Taint(key="dedicated", value="batch", effect=Effect.NO_SCHEDULE), Taint(key="gpu", effect=Effect.NO_EXECUTE)]
LABELS = {"workload": "batch", "pools.lbr.dev/pool": "workers", "example.com/empty": ""}


def authority() -> bytes:
    """A self-signed authority, PEM."""
    key = ec.generate_private_key(ec.SECP256R1())
    name, now = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "ca")]), datetime.now(UTC)
    builder = x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key())
    builder = builder.serial_number(1).not_valid_before(now).not_valid_after(now + timedelta(days=1))
    return builder.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)


CA = authority()


def join(method: JoinMethod = JoinMethod.K3S, **changes: Any) -> Join:
    fields: dict[str, Any] = {
        "method": method,
        "machine": "prod-workers-bcdfg",
        "endpoint": "https://10.0.0.1:6443",
        "ca_pem": CA,
        "token_id": "abcdef",
        "token_secret": "0123456789abcdef",
        "version": Version.parse(VERSIONS[method]),
        "labels": LABELS,
        "taints": TAINTS,
    }
    return Join(**(fields | changes))


def files(user_data: str) -> dict[str, str]:
    """What cloud-init would write, by path."""
    return {entry["path"]: entry["content"] for entry in yaml.safe_load(user_data)["write_files"]}


@pytest.mark.parametrize("method", list(JoinMethod))
def test_cloud_init_accepts_it(method: JoinMethod, tmp_path: Path) -> None:
    binary = shutil.which("cloud-init")
    if binary is None:
        pytest.skip("cloud-init is not installed; on Debian: apt-get install cloud-init")
    path = tmp_path / "user-data"
    path.write_text(render(join(method)))
    checked = subprocess.run(
        [binary, "schema", "--config-file", str(path)], capture_output=True, text=True, timeout=60, check=False
    )
    assert checked.returncode == 0, checked.stdout + checked.stderr


@pytest.mark.parametrize(
    ("method", "folder", "server"),
    [(JoinMethod.K3S, "k3s", "https://10.0.0.1:6443"), (JoinMethod.RKE2, "rke2", "https://10.0.0.1:9345")],
)
def test_an_agent_is_told_where_as_whom_and_with_which_labels_to_register(
    method: JoinMethod, folder: str, server: str
) -> None:
    document = yaml.safe_load(render(join(method)))
    assert document["hostname"] == "prod-workers-bcdfg"
    assert document["runcmd"] == [[SCRIPT_FILE]]
    config = yaml.safe_load(files(render(join(method)))[f"/etc/rancher/{folder}/config.yaml"])
    digest = hashlib.sha256(CA).hexdigest()
    assert config == {
        "server": server,
        "token": f"K10{digest}::abcdef.0123456789abcdef",
        "node-name": "prod-workers-bcdfg",
        "node-label": ["example.com/empty=", "pools.lbr.dev/pool=workers", "workload=batch"],
        "node-taint": ["dedicated=batch:NoSchedule", "gpu:NoExecute"],
    }


def test_a_given_registration_port_is_kept() -> None:
    text = render(join(JoinMethod.RKE2, endpoint="https://rke2.example:9346"))
    assert yaml.safe_load(files(text)["/etc/rancher/rke2/config.yaml"])["server"] == "https://rke2.example:9346"


def test_without_an_authority_the_token_is_short() -> None:
    text = render(join(ca_pem=None, endpoint="http://127.0.0.1:6443"))
    assert yaml.safe_load(files(text)["/etc/rancher/k3s/config.yaml"])["token"] == "abcdef.0123456789abcdef"


CX23 = ServerType(name="cx23", cores=2, memory_gb=4, disk_gb=40)
KEPT = {
    "kube-reserved": "cpu=70m,memory=300Mi,ephemeral-storage=1024Mi",
    "max-pods": "110",
    "system-reserved": "memory=100Mi,ephemeral-storage=1024Mi",
}


@pytest.mark.parametrize("method", [JoinMethod.K3S, JoinMethod.RKE2])
def test_an_agents_kubelet_keeps_from_pods_what_decisions_count_on(method: JoinMethod) -> None:
    config = yaml.safe_load(files(render(join(method, server=CX23)))[f"/etc/rancher/{method}/config.yaml"])
    assert config["kubelet-arg"] == [f"{name}={value}" for name, value in KEPT.items()]


def test_kubeadms_kubelet_keeps_the_same() -> None:
    given = kubeadm(server=CX23)["nodeRegistration"]["kubeletExtraArgs"]
    assert [{"name": name, "value": value} for name, value in KEPT.items()] == given[-len(KEPT) :]


def kubeadm(**changes: Any) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(files(render(join(JoinMethod.KUBEADM, **changes)))[KUBEADM_FILE])
    return found


def test_kubeadm_pins_the_authority_by_its_public_key() -> None:
    key = x509.load_pem_x509_certificate(CA).public_key()
    der = key.public_bytes(serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo)
    config = kubeadm()
    assert (config["apiVersion"], config["kind"]) == ("kubeadm.k8s.io/v1beta4", "JoinConfiguration")
    assert config["discovery"]["bootstrapToken"] == {
        "apiServerEndpoint": "10.0.0.1:6443",
        "token": "abcdef.0123456789abcdef",
        "caCertHashes": [f"sha256:{hashlib.sha256(der).hexdigest()}"],
    }
    registration = config["nodeRegistration"]
    assert registration["taints"] == [
        {"key": "dedicated", "value": "batch", "effect": "NoSchedule"},
        {"key": "gpu", "effect": "NoExecute"},
    ]
    labels = "example.com/empty=,pools.lbr.dev/pool=workers,workload=batch"
    assert {"name": "node-labels", "value": labels} in registration["kubeletExtraArgs"]


def test_kubeadm_goes_unchecked_over_plain_http_alone() -> None:
    discovery = kubeadm(ca_pem=None, endpoint="http://127.0.0.1:8080")["discovery"]["bootstrapToken"]
    assert discovery["unsafeSkipCAVerification"] is True
    with pytest.raises(FieldRefused, match="names no certificate authority"):
        render(join(JoinMethod.KUBEADM, ca_pem=None))


def test_an_ipv6_endpoint_keeps_its_brackets() -> None:
    assert kubeadm(endpoint="https://[fd00::1]")["discovery"]["bootstrapToken"]["apiServerEndpoint"] == "[fd00::1]:443"


@pytest.mark.parametrize("method", list(JoinMethod))
def test_the_token_is_the_only_secret_and_the_largest_spec_fits(method: JoinMethod) -> None:
    labels = {f"example.com/label-{n:02}": "v" * 63 for n in range(40)}
    taints = [Taint(key=f"example.com/taint-{n:02}", value="v" * 63, effect=Effect.NO_SCHEDULE) for n in range(40)]
    text = render(join(method, labels=labels, taints=taints))
    assert len(text.encode()) < 32 * 1024
    assert text.count("0123456789abcdef") == 1
    assert "0123456789abcdef" not in repr(join(method))


# --- the script, run for real with programs that only take notes -------------------------------------------------

STUBS = {
    "timedatectl": "echo yes",
    "sleep": "",
    "gpg": "",
    "modprobe": "",
    "sysctl": "",
    "apt-mark": "",
    "containerd": "echo 'SystemdCgroup = false'",
    "systemctl": '[ "$1" != cat ] || [ -e "$ROOT/preinstalled" ]',
    "k3s": 'cat "$ROOT/installed"',
    "rke2": 'cat "$ROOT/installed"',
    "kubelet": 'cat "$ROOT/installed"',
    "kubeadm": "",
    "apt-get": "",
    # The metadata service, and the download of an installer that notes what it was told.
    "curl": """case "$*" in
      *instance-id*) n=$(cat "$ROOT/tries" 2>/dev/null || echo 0); echo $((n + 1)) >"$ROOT/tries"
        [ "$n" -ge 2 ] || exit 7; echo 4711 ;;
      *) while [ "$1" != -o ]; do shift; done; echo 'env >"$ROOT/told"' >"$2" ;;
    esac""",
}


class Machine:
    """A folder that stands for a machine's file system, with stubs on its PATH."""

    def __init__(self, root: Path, user_data: str, installed: str) -> None:
        self.root = root
        for folder in ("bin", "run", "etc/modules-load.d", "etc/sysctl.d", "etc/apt/sources.list.d"):
            (root / folder).mkdir(parents=True, exist_ok=True)
        for name, body in STUBS.items():
            stub = root / "bin" / name
            stub.write_text(f'#!/bin/sh\necho "{name} $*" >>"$ROOT/log"\n{body}\n')
            stub.chmod(0o755)
        (root / "installed").write_text(installed)
        for path, content in files(user_data).items():
            target = root / path.lstrip("/")
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(content.replace("/etc/", f"{root}/etc/").replace("/run/", f"{root}/run/"))

    def boot(self) -> subprocess.CompletedProcess[str]:
        """Run the join script."""
        environment = {"PATH": f"{self.root}/bin:/usr/bin:/bin", "ROOT": str(self.root)}
        script = str(self.root / SCRIPT_FILE.lstrip("/"))
        return subprocess.run(
            ["/bin/sh", script], env=environment, capture_output=True, text=True, timeout=30, check=False
        )

    def read(self, path: str) -> str:
        return (self.root / path).read_text()


@pytest.mark.skipif(sys.platform != "linux", reason="the script is for Linux machines")
@pytest.mark.parametrize("method", [JoinMethod.K3S, JoinMethod.RKE2])
def test_an_agent_learns_its_provider_id_and_installs_the_pinned_version(method: JoinMethod, tmp_path: Path) -> None:
    version = VERSIONS[method]
    machine = Machine(tmp_path, render(join(method)), f"{method} version {version} (0a1b2c3d)")
    done = machine.boot()
    assert done.returncode == 0, done.stderr
    settings = json.loads(machine.read(f"etc/rancher/{method}/config.yaml.d/provider-id.yaml"))
    assert settings == {"kubelet-arg+": ["provider-id=hcloud://4711"]}
    assert f"INSTALL_{method.upper()}_VERSION={version}" in machine.read("told").splitlines()
    assert f"systemctl enable --now --no-block {method}-agent" in machine.read("log")


@pytest.mark.parametrize("installed", ["k3s version v1.34.1+k3s10 (x)", "k3s version v1.33.1+k3s1 (x)"])
def test_an_image_with_another_version_does_not_join(installed: str, tmp_path: Path) -> None:
    machine = Machine(tmp_path, render(join()), installed)
    (tmp_path / "preinstalled").touch()
    done = machine.boot()
    assert done.returncode == 1
    assert "is not v1.34.1+k3s1; it does not join" in done.stderr
    assert "systemctl enable" not in machine.read("log")
    assert not (tmp_path / "told").exists()


def test_an_image_with_the_version_needs_no_installer(tmp_path: Path) -> None:
    machine = Machine(tmp_path, render(join()), "k3s version v1.34.1+k3s1 (x)")
    (tmp_path / "preinstalled").touch()
    assert machine.boot().returncode == 0
    assert not (tmp_path / "told").exists()
    assert "systemctl enable --now --no-block k3s-agent" in machine.read("log")


def test_kubeadm_joins_with_the_provider_id_and_cleans_up_after_a_failed_try(tmp_path: Path) -> None:
    machine = Machine(tmp_path, render(join(JoinMethod.KUBEADM)), "Kubernetes v1.34.1")
    failing = (
        '#!/bin/sh\necho "kubeadm $*" >>"$ROOT/log"\n[ "$1" = reset ] && touch "$ROOT/reset"\n[ -e "$ROOT/reset" ]\n'
    )
    (tmp_path / "bin/kubeadm").write_text(failing)
    done = machine.boot()
    assert done.returncode == 0, done.stderr
    steps = [line.split()[1] for line in machine.read("log").splitlines() if line.startswith("kubeadm")]
    assert steps == ["join", "reset", "join"]
    arguments = json.loads(machine.read(KUBEADM_FILE.lstrip("/")))["nodeRegistration"]["kubeletExtraArgs"]
    assert {"name": "provider-id", "value": "hcloud://4711"} in arguments


def test_a_clock_that_is_never_right_holds_the_join_up_for_a_minute_at_most(tmp_path: Path) -> None:
    machine = Machine(tmp_path, render(join()), "k3s version v1.34.1+k3s1 (x)")
    (tmp_path / "bin/timedatectl").write_text("#!/bin/sh\nexec /bin/sleep 20\n")
    # A minute that passes quickly: the limit asked for is noted, and is half a second.
    (tmp_path / "bin/timeout").write_text(
        '#!/bin/sh\necho "timeout $1" >>"$ROOT/log"\nshift\nexec /usr/bin/timeout 0.5 "$@"\n'
    )
    (tmp_path / "bin/timeout").chmod(0o755)
    done = machine.boot()
    assert done.returncode == 0, done.stderr
    assert "timeout 60" in machine.read("log").splitlines()
    assert "not synchronized after 60 s" in done.stderr
    assert "systemctl enable --now --no-block k3s-agent" in machine.read("log")


@pytest.mark.parametrize("installed", ["v1.34.10", "v1.34.1-rc.0", "v1.33.1"])
def test_a_kubelet_of_another_version_does_not_join(installed: str, tmp_path: Path) -> None:
    machine = Machine(tmp_path, render(join(JoinMethod.KUBEADM)), f"Kubernetes {installed}")
    done = machine.boot()
    assert done.returncode == 1
    assert "kubeadm join" not in machine.read("log")


def test_kubeadm_s_packages_are_those_of_the_cluster_s_release(tmp_path: Path) -> None:
    machine = Machine(tmp_path, render(join(JoinMethod.KUBEADM)), "Kubernetes v1.34.1")
    kubelet = (tmp_path / "bin/kubelet").read_text()
    (tmp_path / "bin/kubelet").unlink()
    installing = f'#!/bin/sh\necho "apt-get $*" >>"$ROOT/log"\ncat >"$ROOT/bin/kubelet" <<"END"\n{kubelet}END\n'
    (tmp_path / "bin/apt-get").write_text(installing + 'chmod 755 "$ROOT/bin/kubelet"\n')
    done = machine.boot()
    assert done.returncode == 0, done.stderr
    assert "apt-get install -qy containerd kubelet=1.34.1-* kubeadm=1.34.1-*" in machine.read("log")
    assert "https://pkgs.k8s.io/core:/stable:/v1.34/deb/ /" in machine.read("etc/apt/sources.list.d/kubernetes.list")
    assert "SystemdCgroup = true" in machine.read("etc/containerd/config.toml")
