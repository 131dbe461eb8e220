"""Who gets in, and in which order a request is judged."""

from collections.abc import Callable
from typing import Any

import pytest
from hcloud import APIException

from sandbox.hetzner import LiveCloud


def verdict(response: Any) -> tuple[int, str, str]:
    error = response.json()["error"]
    return response.status_code, error["code"], error["message"]


@pytest.mark.parametrize(
    ("request_line", "token", "body", "expected"),
    [
        ("GET /nowhere", None, b"", (404, "not_found", "api route not found")),
        ("GET /servers/abc", None, b"", (404, "not_found", "api route not found")),
        ("PATCH /servers", None, b"", (401, "unauthorized", "token is required")),
        ("GET /servers", "x" * 64, b"", (401, "unauthorized", "the token you have provided is invalid")),
        ("PATCH /servers", "viewer", b"", (405, "method_not_allowed", "method not allowed")),
        ("POST /servers", "viewer", b"{", (403, "token_readonly", "not allowed because token is readonly")),
        ("POST /servers", "admin", b"{", (400, "json_error", "invalid JSON in request body")),
        ("POST /servers", "admin", b"[1]", (400, "json_error", "request body must be a JSON object")),
        ("DELETE /servers/1", "admin", b"", (404, "not_found", "server with ID '1' not found")),
    ],
)
def test_the_first_check_that_fails_answers(
    ask: Callable[..., Any], request_line: str, token: str | None, body: bytes, expected: tuple[int, str, str]
) -> None:
    response = ask(*request_line.split(), token, data=body)
    assert verdict(response) == expected
    assert len(response.headers["X-Correlation-Id"]) == 32


def test_an_empty_ssh_key_tells_a_read_write_token_from_a_read_only_one(connect: Callable[..., Any]) -> None:
    codes = {}
    for token in ("admin", "viewer"):
        with pytest.raises(APIException) as refused:
            connect(token=token).request("POST", "/ssh_keys", json={})
        codes[token] = refused.value.code
    assert codes == {"admin": "invalid_input", "viewer": "token_readonly"}
    assert connect().ssh_keys.get_all() == []


def test_a_read_only_token_reads(connect: Callable[..., Any], order: Callable[..., Any]) -> None:
    order("seen")
    assert [server.name for server in connect(token="viewer").servers.get_all()] == ["seen"]


def test_projects_do_not_see_each_other(connect: Callable[..., Any], order: Callable[..., Any]) -> None:
    server = order("mine").server
    other = connect(project="other")
    assert other.servers.get_all() == []
    with pytest.raises(APIException, match="not found"):
        other.servers.get_by_id(server.id)


def test_a_revoked_token_is_refused_and_a_second_one_goes_on(
    connect: Callable[..., Any], lever: Callable[..., Any]
) -> None:
    lever("PUT", "/projects/demo/tokens/admin", {"enabled": False})
    with pytest.raises(APIException) as refused:
        connect().servers.get_all()
    assert refused.value.code == "unauthorized"
    assert connect(token="rotated").servers.get_all() == []
    lever("PUT", "/projects/demo/tokens/admin", {"enabled": True})
    assert connect().servers.get_all() == []


def test_each_request_takes_one_and_a_second_brings_one_back(world: LiveCloud, ask: Callable[..., Any]) -> None:
    def left(response: Any) -> tuple[int, int]:
        headers = response.headers
        full_in = int(headers["RateLimit-Reset"]) - int(world.cloud.clock.now().timestamp())
        assert headers["RateLimit-Limit"] == "3600"
        return int(headers["RateLimit-Remaining"]), full_in

    assert [left(ask("GET", "/servers")) for _ in range(3)] == [(3599, 1), (3598, 2), (3597, 3)]
    world.advance(2)
    assert left(ask("GET", "/servers", "viewer")) == (3598, 2)


def test_an_empty_budget_answers_429_to_every_token_of_the_project(
    world: LiveCloud, ask: Callable[..., Any], lever: Callable[..., Any]
) -> None:
    lever("PUT", "/projects/demo/limits", {"requests_per_hour": 3})
    assert [ask("GET", "/servers").status_code for _ in range(4)] == [200, 200, 200, 429]
    refused = ask("GET", "/servers", "viewer")
    shown = world.cloud.token("demo", "viewer").value[:8]
    message = f"Limit of '3' requests per hour for token '{shown}...' reached."
    assert verdict(refused) == (429, "rate_limit_exceeded", message)
    assert refused.headers["RateLimit-Remaining"] == "0"
    assert int(refused.headers["RateLimit-Reset"]) == world.cloud.clock.now().timestamp() + 3600
    world.advance(1199)
    assert ask("GET", "/servers").status_code == 429
    world.advance(1)
    assert ask("GET", "/servers").status_code == 200


def test_the_log_names_tokens_and_never_holds_one(
    world: LiveCloud, ask: Callable[..., Any], lever: Callable[..., Any]
) -> None:
    ask("GET", "/servers?name=a")
    ask("GET", "/servers/7", "viewer")
    ask("GET", "/servers", "y" * 64)
    entries = lever("GET", "/requests")["requests"]
    seen = [(entry["method"], entry["path"], entry["status"], entry["token"]) for entry in entries]
    assert seen == [
        ("GET", "/servers", 200, "admin"),
        ("GET", "/servers/7", 404, "viewer"),
        ("GET", "/servers", 401, None),
    ]
    assert entries[0]["query"] == "name=a"
    shown = str(lever("GET", "/requests")) + str(lever("GET", "/projects")) + repr(world.cloud.world)
    secrets = [token.value for project in world.cloud.world.projects.values() for token in project.tokens]
    assert not any(secret in shown for secret in [*secrets, "y" * 64])
    assert lever("GET", "/requests?path=/servers/{id}")["count"] == 1
    lever("DELETE", "/requests")
    assert lever("GET", "/requests")["count"] == 0
