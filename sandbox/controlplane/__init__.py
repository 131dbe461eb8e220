"""A real Kubernetes control plane without kubelets: etcd, API server, controller manager and scheduler on loopback."""

from sandbox.controlplane.binaries import PROGRAMS, find
from sandbox.controlplane.plane import ControlPlane

__all__ = ["PROGRAMS", "ControlPlane", "find"]
