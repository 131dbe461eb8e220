"""Hollow nodes: kubelets without containers, which know the cluster through the Kubernetes API alone."""

from sandbox.hollow.machine import Fault, ServerSeen
from sandbox.hollow.nodes import HollowNodes

__all__ = ["Fault", "HollowNodes", "ServerSeen"]
