"""The scripts that run once at a machine's first boot: assignments of what is particular, and a body that is not."""

from __future__ import annotations

import shlex
from collections.abc import Mapping

_HEAD = """#!/bin/sh
# Runs once, at first boot: waits for the clock, learns the server's id, joins the cluster.
set -eu
"""

_PRELUDE = """
wait_for_time() {
  # A skewed clock makes every certificate look not yet valid; one minute is enough where NTP is reachable.
  # The limit is on the whole wait, because timedatectl itself hangs where its service does not answer.
  timeout 60 sh -c '
    until [ "$(timedatectl show --property=NTPSynchronized --value 2>/dev/null)" = yes ]; do sleep 1; done
  ' || echo "the clock is not synchronized after 60 s; joining anyway" >&2
}

again() {
  # Runs its arguments until they succeed, for ten minutes: a machine that has not joined by then is replaced.
  n=1
  until "$@"; do
    [ "$n" -ge 60 ] && return 1
    n=$((n + 1))
    sleep 10
  done
}

instance_id() {
  curl -fsS --max-time 10 http://169.254.169.254/hetzner/v1/metadata/instance-id >/run/managed-pool-instance-id
}

wait_for_time
again instance_id
INSTANCE_ID=$(cat /run/managed-pool-instance-id)
"""

_AGENT = """
settings=/etc/rancher/$BINARY/config.yaml.d
mkdir -p "$settings"
printf '{"kubelet-arg+": ["provider-id=hcloud://%s"]}\\n' "$INSTANCE_ID" >"$settings/provider-id.yaml"

if ! systemctl cat "$UNIT" >/dev/null 2>&1; then
  installer=/run/managed-pool-install.sh
  again curl -fsSL --max-time 60 "https://get.$BINARY.io" -o "$installer"
  again sh "$installer"
fi
# The cluster's own version and no other: an image may bring one.
if ! "$BINARY" --version | grep -qwF "$VERSION"; then
  echo "the installed $BINARY is not $VERSION; it does not join" >&2
  exit 1
fi
systemctl enable --now --no-block "$UNIT"
"""

_KUBEADM = """
sed -i "s|hcloud://INSTANCE_ID|hcloud://$INSTANCE_ID|" "$CONFIG"

printf 'overlay\\nbr_netfilter\\n' >/etc/modules-load.d/kubernetes.conf
modprobe -a overlay br_netfilter
printf 'net.bridge.bridge-nf-call-iptables=1\\nnet.ipv4.ip_forward=1\\n' >/etc/sysctl.d/90-kubernetes.conf
sysctl --system >/dev/null

install_packages() {
  keyring=/etc/apt/keyrings/kubernetes.gpg
  repository=https://pkgs.k8s.io/core:/stable:/$MINOR/deb/
  mkdir -p /etc/apt/keyrings
  again curl -fsSL --max-time 60 "${repository}Release.key" -o /run/managed-pool-repository.asc
  gpg --batch --yes --dearmor -o "$keyring" /run/managed-pool-repository.asc
  echo "deb [signed-by=$keyring] $repository /" >/etc/apt/sources.list.d/kubernetes.list
  again apt-get update -q
  again apt-get install -qy containerd "kubelet=$RELEASE-*" "kubeadm=$RELEASE-*"
  apt-mark hold kubelet kubeadm
  mkdir -p /etc/containerd
  containerd config default | sed 's/SystemdCgroup = false/SystemdCgroup = true/' >/etc/containerd/config.toml
  systemctl restart containerd
}

join() {
  kubeadm join --config "$CONFIG" && return 0
  kubeadm reset --force # what a failed join leaves behind would refuse the next one
  return 1
}

command -v kubelet >/dev/null 2>&1 || install_packages
# The cluster's own version and no other: an image may bring one.
if [ "$(kubelet --version)" != "Kubernetes $KUBELET_VERSION" ]; then
  echo "the installed kubelet is not $KUBELET_VERSION; it does not join" >&2
  exit 1
fi
systemctl enable kubelet
again join
"""


def agent_script(settings: Mapping[str, str]) -> str:
    """Installs and starts a k3s or RKE2 agent. `settings`: BINARY, UNIT, VERSION and what the installer reads."""
    return _script(settings, _AGENT)


def kubeadm_script(settings: Mapping[str, str]) -> str:
    """Installs kubelet and joins by kubeadm. `settings`: CONFIG, RELEASE, MINOR and KUBELET_VERSION."""
    return _script(settings, _KUBEADM)


def _script(settings: Mapping[str, str], body: str) -> str:
    exports = "".join(f"export {name}={shlex.quote(value)}\n" for name, value in settings.items())
    return _HEAD + exports + _PRELUDE + body
