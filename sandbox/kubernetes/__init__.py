"""A simulated Kubernetes cluster: an API server with its controllers, strict as the real one."""

from sandbox.kubernetes.app import create_app
from sandbox.kubernetes.cluster import DEFAULT_VERSION, Cluster
from sandbox.kubernetes.serving import serve, serve_cluster
from sandbox.kubernetes.timing import REAL, SANDBOX, Timing

__all__ = ["DEFAULT_VERSION", "REAL", "SANDBOX", "Cluster", "Timing", "create_app", "serve", "serve_cluster"]
