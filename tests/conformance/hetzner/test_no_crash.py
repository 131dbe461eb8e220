"""Requests made up from the official document: none of them makes the simulated cloud stumble."""

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest
import requests
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis import Case
from schemathesis.generation import GenerationMode
from tour import Tour

from sandbox.clock import ManualClock
from sandbox.hetzner import HetznerCloud, LiveCloud, default_cloud, live
from sandbox.hetzner.records import Limits
from sandbox.hetzner.routes import ENDPOINTS

EXAMPLES = 10
COME_SINCE_THE_DOCUMENT = {("GET", "/networks/{id}/members")}
ROUTES = sorted({(item.method, item.template) for item in ENDPOINTS} - COME_SINCE_THE_DOCUMENT)


@pytest.fixture(scope="module")
def schema(document: dict[str, Any]) -> Any:
    ours = {template for _, template in ROUTES}
    paths = {path: item for path, item in document["paths"].items() if path in ours}
    return schemathesis.openapi.from_dict({**document, "paths": paths})


@pytest.fixture(scope="module")
def town() -> Iterator[LiveCloud]:
    """A cloud with something of every kind in it, and requests without number."""
    cloud = default_cloud(ManualClock(datetime(2026, 12, 1, 8, 0, tzinfo=UTC)))
    cloud.set_limits(cloud.project("demo"), Limits(requests_per_hour=10**9))
    with live(cloud) as running:
        Tour(running).furnish()
        yield running


def aim(case: Case, cloud: HetznerCloud) -> None:
    """Point half of the requests at something that exists; made-up numbers hardly ever do."""
    project = cloud.project("demo")
    kinds = (
        "servers",
        "networks",
        "firewalls",
        "primary_ips",
        "ssh_keys",
        "placement_groups",
        "actions",
    )
    kind = case.path.split("/")[1]
    existing = list(getattr(project, kind)) if kind in kinds else []
    number = case.path_parameters.get("id") if case.path_parameters else None
    if existing and isinstance(number, int) and number % 2:
        case.path_parameters["id"] = existing[number % len(existing)]


@pytest.mark.parametrize(("method", "template"), ROUTES)
def test_no_request_makes_the_cloud_stumble(method: str, template: str, schema: Any, town: LiveCloud) -> None:
    operation = schema[template][method]
    session = requests.Session()
    session.headers["Authorization"] = f"Bearer {town.cloud.token('demo', 'admin').value}"
    right = operation.as_strategy(generation_mode=GenerationMode.POSITIVE)
    wrong = operation.as_strategy(generation_mode=GenerationMode.NEGATIVE)

    @given(case=right | wrong)
    @settings(
        max_examples=EXAMPLES,
        deadline=None,
        database=None,
        derandomize=True,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    def probe(case: Case) -> None:
        town.advance(30)
        town.call(lambda cloud: aim(case, cloud))
        response = case.call(base_url=f"{town.url}/v1", session=session)
        assert response.status_code < 500, response.text
        if response.status_code >= 400:
            assert set(response.json()["error"]) == {"code", "message", "details"}

    probe()
