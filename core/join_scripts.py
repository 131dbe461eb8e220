"""The scripts that run once at a machine's first boot. Braces doubled, because they are filled in by `format`."""

from __future__ import annotations

_PRELUDE = """#!/bin/sh
# Runs once, at first boot: waits for the clock, learns the server's id, joins the cluster.
set -eu

wait_for_time() {{
  # A skewed clock makes every certificate look not yet valid; one minute is enough where NTP is reachable.
  i=0
  while [ "$i" -lt 60 ]; do
    [ "$(timedatectl show --property=NTPSynchronized --value 2>/dev/null)" = yes ] && return 0
    i=$((i + 1))
    sleep 1
  done
  echo "the clock is not synchronized after 60 s; joining anyway" >&2
}}

again() {{
  # Runs its arguments until they succeed, at most 10 times, each time waiting longer.
  n=1
  until "$@"; do
    [ "$n" -ge 10 ] && return 1
    sleep $((n * 3))
    n=$((n + 1))
  done
}}

metadata() {{
  curl -fsS --max-time 10 "http://169.254.169.254/hetzner/v1/metadata/$1"
}}

wait_for_time
again metadata instance-id >/run/managed-pool-instance-id
INSTANCE_ID=$(cat /run/managed-pool-instance-id)
"""

AGENT_SCRIPT = (
    _PRELUDE
    + """
mkdir -p {folder}/config.yaml.d
printf '{{"kubelet-arg+": ["provider-id=hcloud://%s"]}}\\n' "$INSTANCE_ID" >{folder}/config.yaml.d/provider-id.yaml

# The cluster's own version and no other; an image that brings another one must not join with it.
export {prefix}_VERSION={version}
export {kind}
if command -v {binary} >/dev/null 2>&1; then
  if ! {binary} --version | grep -qF '{version}'; then
    echo "the image's {binary} is not {version}" >&2
    exit 1
  fi
  export {prefix}_SKIP_DOWNLOAD=true
fi
fetch() {{ curl -fsSL --max-time 60 {installer} -o /run/managed-pool-install.sh; }}
again fetch
again sh /run/managed-pool-install.sh
systemctl enable --now {unit}
"""
)

KUBEADM_SCRIPT = (
    _PRELUDE
    + """
KUBELET_VERSION={version}
sed -i "s/INSTANCE_ID/$INSTANCE_ID/" {config}

printf 'overlay\\nbr_netfilter\\n' >/etc/modules-load.d/kubernetes.conf
modprobe overlay
modprobe br_netfilter
printf 'net.bridge.bridge-nf-call-iptables=1\\nnet.ipv4.ip_forward=1\\n' >/etc/sysctl.d/90-kubernetes.conf
sysctl --system >/dev/null

# The cluster's own version and no other; an image that brings another one must not join with it.
if command -v kubelet >/dev/null 2>&1; then
  if ! kubelet --version | grep -qF "$KUBELET_VERSION"; then
    echo "the image's kubelet is not $KUBELET_VERSION" >&2
    exit 1
  fi
else
  keyring=/etc/apt/keyrings/kubernetes.gpg
  repository=https://pkgs.k8s.io/core:/stable:/{minor}/deb/
  mkdir -p /etc/apt/keyrings
  key() {{ curl -fsSL --max-time 60 "$repository"Release.key | gpg --batch --yes --dearmor -o "$keyring"; }}
  again key
  echo "deb [signed-by=$keyring] $repository /" >/etc/apt/sources.list.d/kubernetes.list
  again apt-get update -q
  again apt-get install -qy containerd 'kubelet={release}-*' 'kubeadm={release}-*'
  apt-mark hold kubelet kubeadm
  mkdir -p /etc/containerd
  containerd config default | sed 's/SystemdCgroup = false/SystemdCgroup = true/' >/etc/containerd/config.toml
  systemctl restart containerd
fi
systemctl enable kubelet
again kubeadm join --config {config}
"""
)
