"""The sandbox's own handles on the cluster, under `/_sandbox/kubernetes`."""

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from sandbox.clock import ManualClock
from sandbox.kubernetes.cluster import Cluster
from sandbox.kubernetes.faults import ApiFault
from sandbox.kubernetes.objects import stamp

_PREFIX = "/_sandbox/kubernetes"


class Admin:
    """Reads and changes what no API client can."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster

    async def version(self, request: Request) -> Response:
        """GET the version; PUT `{"version": "v1.35.0+k3s1"}` upgrades the control plane."""
        if request.method == "PUT":
            try:
                self._cluster.version = (await request.json())["version"]
            except (ValueError, KeyError, TypeError) as error:
                return JSONResponse({"error": str(error)}, 400)
        return JSONResponse({"version": self._cluster.version})

    async def requests(self, request: Request) -> Response:
        """GET the last requests and the counts; DELETE forgets them."""
        if request.method == "DELETE":
            self._cluster.requests.clear()
            self._cluster.counts.clear()
        last = [entry._asdict() for entry in self._cluster.requests]
        return JSONResponse({"counts": dict(self._cluster.counts), "last": last})

    async def clock(self, request: Request) -> Response:
        """GET the simulated time; PUT `{"advance": seconds}` moves a clock that stands still."""
        if request.method == "PUT":
            if not isinstance(self._cluster.clock, ManualClock):
                return JSONResponse({"error": "this clock runs by itself"}, 409)
            self._cluster.clock.advance(float((await request.json())["advance"]))
        return JSONResponse({"now": stamp(self._cluster.clock.now())})

    async def api_faults(self, request: Request) -> Response:
        """POST a fault (see `ApiFault`) for coming requests; DELETE forgets those that have not happened."""
        if request.method == "DELETE":
            self._cluster.faults.clear()
            return JSONResponse({})
        try:
            self._cluster.faults.add(ApiFault(**await request.json()))
        except (ValueError, TypeError) as error:
            return JSONResponse({"error": str(error)}, 400)
        return JSONResponse({}, 201)

    async def watches(self, request: Request) -> Response:
        """DELETE ends all watches; with `?compact=1` they cannot resume either (410)."""
        if request.query_params.get("compact"):
            self._cluster.store.compact()
        self._cluster.hub.cut()
        return JSONResponse({})


def routes(cluster: Cluster) -> list[Route]:
    """The admin routes of a cluster."""
    admin = Admin(cluster)
    return [
        Route(f"{_PREFIX}/version", admin.version, methods=["GET", "PUT"]),
        Route(f"{_PREFIX}/requests", admin.requests, methods=["GET", "DELETE"]),
        Route(f"{_PREFIX}/clock", admin.clock, methods=["GET", "PUT"]),
        Route(f"{_PREFIX}/api-faults", admin.api_faults, methods=["POST", "DELETE"]),
        Route(f"{_PREFIX}/watches", admin.watches, methods=["DELETE"]),
    ]
