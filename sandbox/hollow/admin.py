"""The sandbox's handles on hollow nodes, under `/_sandbox/hollow`: the same for every cluster that they join."""

from datetime import timedelta
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from sandbox.hollow.machine import Fault
from sandbox.hollow.node import HollowNode
from sandbox.hollow.nodes import HollowNodes

_PREFIX = "/_sandbox/hollow"


class HollowAdmin:
    """Shows hollow nodes and makes them misbehave."""

    def __init__(self, nodes: HollowNodes) -> None:
        self._nodes = nodes

    async def list(self, request: Request) -> Response:
        """GET all hollow nodes."""
        del request
        return JSONResponse([_shown(node) for node in self._nodes.all()])

    async def fault(self, request: Request) -> Response:
        """PUT `{"fault": "frozen"}` (with `skew_seconds` for clock-skew), or DELETE to heal; by name or server id."""
        name = request.path_params["name"]
        node = self._nodes.get(int(name) if name.isdigit() else name)
        if node is None:
            return JSONResponse({"error": f"no hollow node {name}"}, 404)
        if request.method == "DELETE":
            await node.set_fault(None)
            return JSONResponse(_shown(node))
        try:
            fault, skew = _fault_in(await request.json())
        except (ValueError, KeyError, TypeError) as error:
            return JSONResponse({"error": str(error)}, 400)
        await node.set_fault(fault, skew)
        return JSONResponse(_shown(node))

    async def expect(self, request: Request) -> Response:
        """POST `{"fault": "never-joins", "pattern": "*", "count": 1}` for servers still to come."""
        try:
            wanted = await request.json()
            fault, skew = _fault_in(wanted)
            self._nodes.expect(fault, str(wanted.get("pattern", "*")), int(wanted.get("count", 1)), skew)
        except (ValueError, KeyError, TypeError) as error:
            return JSONResponse({"error": str(error)}, 400)
        return JSONResponse({}, 201)


def _fault_in(wanted: dict[str, Any]) -> tuple[Fault, timedelta]:
    return Fault(wanted["fault"]), timedelta(seconds=float(wanted.get("skew_seconds", 0)))


def _shown(node: HollowNode) -> dict[str, Any]:
    return {
        "server_id": node.server.server_id,
        "server": node.server.name,
        "node": node.name,
        "registered": node.registered,
        "fault": node.fault,
        "trouble": node.trouble,
    }


def create_app(nodes: HollowNodes) -> Starlette:
    """The application that serves them."""
    admin = HollowAdmin(nodes)
    routes = [
        Route(f"{_PREFIX}/nodes", admin.list),
        Route(f"{_PREFIX}/nodes/{{name}}/fault", admin.fault, methods=["PUT", "DELETE"]),
        Route(f"{_PREFIX}/node-faults", admin.expect, methods=["POST"]),
    ]
    return Starlette(routes=routes)
