"""The sandbox's own levers, under `/_sandbox/hetzner`: what a test or a person does to the cloud itself.

They need no token: they listen on the loopback address only and show user-data, which the API never does.
A lever answers 200 with what it made or found, 204 when there is nothing to say, 404 or 422 with a reason.
"""

from collections.abc import Awaitable, Callable
from dataclasses import asdict
from typing import Any

from pydantic import BaseModel, Field, ValidationError
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from sandbox.clock import ManualClock
from sandbox.hetzner.cloud import HetznerCloud
from sandbox.hetzner.faults import Fault
from sandbox.hetzner.records import Limits, Project
from sandbox.hetzner.stock import Deprecation, Level

Lever = Callable[[HetznerCloud, Request], Awaitable[dict[str, Any] | None]]


class Advance(BaseModel):
    seconds: float = Field(ge=0)


class Enabled(BaseModel):
    enabled: bool


async def _list_faults(cloud: HetznerCloud, _: Request) -> dict[str, Any]:
    return {"faults": [item.model_dump() for item in cloud.world.faults.active]}


async def _add_fault(cloud: HetznerCloud, request: Request) -> dict[str, Any]:
    fault = cloud.world.faults.add(Fault.model_validate_json(await request.body()))
    return {"fault": fault.model_dump()}


async def _clear_faults(cloud: HetznerCloud, _: Request) -> None:
    cloud.world.faults.clear()


async def _clear_fault(cloud: HetznerCloud, request: Request) -> None:
    cloud.world.faults.clear(request.path_params["id"])


async def _list_requests(cloud: HetznerCloud, request: Request) -> dict[str, Any]:
    """Filters in the query: `method`, `path` (a route or a pattern), `status`."""
    given, status = request.query_params, request.query_params.get("status", "")
    found = cloud.log.select(
        given.get("method", "*"), given.get("path", "*"), int(status) if status.isdigit() else None
    )
    entries = [entry.as_json() for entry in found]
    return {"count": len(entries), "requests": entries}


async def _clear_requests(cloud: HetznerCloud, _: Request) -> None:
    cloud.log.clear()


async def _list_servers(cloud: HetznerCloud, _: Request) -> dict[str, Any]:
    return {"servers": [asdict(facts) for facts in cloud.servers()]}


async def _vanish_server(cloud: HetznerCloud, request: Request) -> None:
    cloud.vanish(request.path_params["id"])


async def _show_stock(cloud: HetznerCloud, _: Request) -> dict[str, Any]:
    return cloud.world.stock.model_dump(mode="json")


async def _set_level(cloud: HetznerCloud, request: Request) -> None:
    """`remaining` (null: plenty) and `advertised` (null: the truth) of one type in one location."""
    level = Level.model_validate_json(await request.body())
    params = request.path_params
    cloud.world.stock.set_level(params["type"], params["location"], level.remaining, level.advertised)


async def _deprecate(cloud: HetznerCloud, request: Request) -> None:
    deprecation = Deprecation.model_validate_json(await request.body())
    cloud.world.stock.deprecate(request.path_params["type"], request.path_params["location"], deprecation)


async def _enable_location(cloud: HetznerCloud, request: Request) -> None:
    wanted = Enabled.model_validate_json(await request.body())
    cloud.world.stock.enable_location(request.path_params["location"], wanted.enabled)


async def _list_projects(cloud: HetznerCloud, _: Request) -> dict[str, Any]:
    return {"projects": [_project_view(item) for item in cloud.world.projects.values()]}


def _project_view(project: Project) -> dict[str, Any]:
    """Tokens without their values."""
    tokens = [token.model_dump(exclude={"value"}) for token in project.tokens]
    return {"name": project.name, "limits": project.limits.model_dump(), "tokens": tokens}


async def _set_limits(cloud: HetznerCloud, request: Request) -> None:
    limits = Limits.model_validate_json(await request.body())
    cloud.set_limits(cloud.project(request.path_params["project"]), limits)


async def _enable_token(cloud: HetznerCloud, request: Request) -> None:
    wanted = Enabled.model_validate_json(await request.body())
    cloud.token(request.path_params["project"], request.path_params["token"]).revoked = not wanted.enabled


async def _show_clock(cloud: HetznerCloud, _: Request) -> dict[str, Any]:
    return {"now": cloud.clock.now().isoformat()}


async def _advance_clock(cloud: HetznerCloud, request: Request) -> dict[str, Any]:
    """Only a clock that stands still can be moved."""
    step = Advance.model_validate_json(await request.body())
    if not isinstance(cloud.clock, ManualClock):
        raise KeyError("this cloud runs on real time")
    cloud.clock.advance(step.seconds)
    cloud.settle()
    return await _show_clock(cloud, request)


_LEVERS: tuple[tuple[str, str, Lever], ...] = (
    ("GET", "/faults", _list_faults),
    ("POST", "/faults", _add_fault),
    ("DELETE", "/faults", _clear_faults),
    ("DELETE", "/faults/{id:int}", _clear_fault),
    ("GET", "/requests", _list_requests),
    ("DELETE", "/requests", _clear_requests),
    ("GET", "/servers", _list_servers),
    ("DELETE", "/servers/{id:int}", _vanish_server),
    ("GET", "/stock", _show_stock),
    ("PUT", "/stock/{location}/{type}", _set_level),
    ("PUT", "/stock/{location}/{type}/deprecation", _deprecate),
    ("PUT", "/locations/{location}", _enable_location),
    ("GET", "/projects", _list_projects),
    ("PUT", "/projects/{project}/limits", _set_limits),
    ("PUT", "/projects/{project}/tokens/{token}", _enable_token),
    ("GET", "/clock", _show_clock),
    ("POST", "/clock", _advance_clock),
)


def admin_routes(cloud: HetznerCloud) -> list[Route]:
    return [Route(path, _endpoint(cloud, lever), methods=[method]) for method, path, lever in _LEVERS]


def _endpoint(cloud: HetznerCloud, lever: Lever) -> Callable[[Request], Awaitable[Response]]:
    async def endpoint(request: Request) -> Response:
        cloud.settle()
        try:
            found = await lever(cloud, request)
        except KeyError as missing:
            return JSONResponse({"error": f"not found: {missing.args[0]}"}, 404)
        except ValidationError as wrong:
            return JSONResponse({"error": str(wrong)}, 422)
        if request.method != "GET":
            cloud.changed()
        return Response(status_code=204) if found is None else JSONResponse(found)

    return endpoint
