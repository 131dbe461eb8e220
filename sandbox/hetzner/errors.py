"""The error replies of the API: one exception, the status that goes with each code, and the usual wordings."""

from typing import Any

# Status of each error code as the API's documentation lists them. `token_readonly` was seen live with 403;
# the status of `placement_group_member_limit_reached` is nowhere published and follows `placement_error`.
STATUS_OF_CODE = {
    "json_error": 400,
    "unauthorized": 401,
    "token_readonly": 403,
    "forbidden": 403,
    "maintenance": 403,
    "resource_limit_exceeded": 403,
    "not_found": 404,
    "method_not_allowed": 405,
    "uniqueness_error": 409,
    "conflict": 409,
    "deprecated_api_endpoint": 410,
    "resource_unavailable": 412,
    "primary_ip_version_mismatch": 412,
    "invalid_input": 422,
    "service_error": 422,
    "unsupported_error": 422,
    "placement_error": 422,
    "placement_group_member_limit_reached": 422,
    "primary_ip_assigned": 422,
    "primary_ip_already_assigned": 422,
    "primary_ip_datacenter_mismatch": 422,
    "server_has_ipv4": 422,
    "server_has_ipv6": 422,
    "must_be_unassigned": 422,
    "server_already_attached": 422,
    "ip_not_available": 422,
    "no_subnet_available": 422,
    "networks_overlap": 422,
    "server_not_stopped": 422,
    "already_in_placement_group": 422,
    "resource_in_use": 422,
    "firewall_already_applied": 422,
    "firewall_already_removed": 422,
    "locked": 423,
    "protected": 423,
    "rate_limit_exceeded": 429,
    "server_error": 500,
    "bad_gateway": 502,
    "unavailable": 503,
    "timeout": 504,
}


class ApiError(Exception):
    """A request the API refuses. `code` is one of `STATUS_OF_CODE` unless `status` says otherwise."""

    def __init__(
        self, code: str, message: str, details: dict[str, Any] | None = None, status: int | None = None
    ) -> None:
        super().__init__(f"{message} ({code})")
        self.code = code
        self.message = message
        self.details = details
        self.status = STATUS_OF_CODE[code] if status is None else status

    def body(self) -> dict[str, Any]:
        return {"error": {"code": self.code, "message": self.message, "details": self.details}}


def invalid_fields(problems: dict[str, list[str]]) -> ApiError:
    """`invalid_input` naming each wrong field with what is wrong about it."""
    fields = [{"name": name, "messages": messages} for name, messages in problems.items()]
    listed = ", ".join(f"'{name}'" for name in problems)
    noun = "field" if len(problems) == 1 else "fields"
    return ApiError("invalid_input", f"invalid input in {noun} {listed}", {"fields": fields})


def invalid_input(field: str, message: str) -> ApiError:
    return invalid_fields({field: [message]})


def not_found(kind: str, reference: int | str) -> ApiError:
    """`kind` as a person writes it, such as "SSH key"."""
    by = "ID" if isinstance(reference, int) else "name"
    return ApiError("not_found", f"{kind} with {by} '{reference}' not found", {})


def limit_exceeded(what: str, limit: str) -> ApiError:
    return ApiError("resource_limit_exceeded", f"{what} limit exceeded", {"limits": [{"name": limit}]})


def name_taken(kind: str) -> ApiError:
    return ApiError("uniqueness_error", f"{kind} name is already used", {})
