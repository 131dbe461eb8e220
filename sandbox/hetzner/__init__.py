"""A simulated Hetzner Cloud: the parts of its public API that node pools use, as strict as the real one.

`default_cloud` makes a world with projects and tokens, `create_app` speaks its API over HTTP and `serve`
runs that on a loopback port. Rules and state are pure; only `app`, `admin` and `serve` know of HTTP servers.
"""

from sandbox.hetzner.app import create_app
from sandbox.hetzner.cloud import HetznerCloud, default_cloud
from sandbox.hetzner.facts import ServerFacts
from sandbox.hetzner.live import LiveCloud, live
from sandbox.hetzner.serve import serve

__all__ = ["HetznerCloud", "LiveCloud", "ServerFacts", "create_app", "default_cloud", "live", "serve"]
