"""The configuration: which organization, which Temporal server and which public key a command uses.

A file of TOML tables `[profile.NAME]`: the one that LBR_CONFIG names, else `lbr/config.toml` in the
configuration folder of the XDG rules, else the one that a running sandbox wrote in the state folder.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from core.errors import FieldRefused, PoolsError

DEFAULT_ADDRESS = "localhost:7233"
DEFAULT_NAMESPACE = "default"
DEFAULT_PROFILE = "default"


@dataclass(frozen=True)
class Profile:
    """Where to go and as whom. `public_key` is base64 text; `source` is the file that it comes from, '' for none."""

    organization: str | None = None
    temporal_address: str = DEFAULT_ADDRESS
    temporal_namespace: str = DEFAULT_NAMESPACE
    public_key: str | None = None
    sandbox: bool = False
    name: str = DEFAULT_PROFILE
    source: str = ""


_FIELDS: dict[str, type] = {
    "organization": str,
    "temporal_address": str,
    "temporal_namespace": str,
    "public_key": str,
    "sandbox": bool,
}


def configuration_file(environment: Mapping[str, str]) -> Path | None:
    """The file to read, or None where none exists. Raises PoolsError if LBR_CONFIG names a missing one."""
    named = environment.get("LBR_CONFIG")
    if named:
        if not Path(named).is_file():
            raise PoolsError(f"LBR_CONFIG names {named}, which is not a file", hint="correct or unset LBR_CONFIG")
        return Path(named)
    configuration = Path(environment.get("XDG_CONFIG_HOME") or Path.home() / ".config") / "lbr/config.toml"
    state = Path(environment.get("XDG_STATE_HOME") or Path.home() / ".local/state") / "lbr/sandbox/profile.toml"
    return next((path for path in (configuration, state) if path.is_file()), None)


def resolve(name: str | None, organization: str | None, environment: Mapping[str, str] = os.environ) -> Profile:
    """The profile in force: flags before environment before file. Raises PoolsError for a file that is not right."""
    path = configuration_file(environment)
    wanted = name or environment.get("LBR_PROFILE") or None
    if path is None and wanted:
        raise FieldRefused("--profile", f"there is no configuration file with a profile {wanted!r}", hint=_HOW)
    table, chosen = _table(path, wanted) if path else ({}, DEFAULT_PROFILE)
    asked = organization or environment.get("LBR_ORG") or table.get("organization")
    return Profile(**{**table, "organization": asked}, name=chosen, source=str(path or ""))


_HOW = "write one to ~/.config/lbr/config.toml, or start a sandbox: lbr sandbox up"


def _table(path: Path, wanted: str | None) -> tuple[dict[str, Any], str]:
    """The wanted profile's fields and name; without a wish the one named `default`, else the only one."""
    try:
        tables = tomllib.loads(path.read_text()).get("profile", {})
    except (OSError, ValueError) as error:
        raise PoolsError(f"{path} cannot be read as TOML: {error}", hint="correct the file") from error
    chosen = wanted or (next(iter(tables)) if len(tables) == 1 else DEFAULT_PROFILE)
    if chosen not in tables:
        known = ", ".join(sorted(tables)) or "none"
        raise FieldRefused("--profile", f"{path} has no profile {chosen!r}", hint=f"profiles there: {known}")
    fields = tables[chosen]
    for key, value in fields.items():
        if key not in _FIELDS or not isinstance(value, _FIELDS[key]):
            rule = f"must be a {_FIELDS[key].__name__}" if key in _FIELDS else f"is not one of {', '.join(_FIELDS)}"
            raise PoolsError(f"{path}: [profile.{chosen}] {key} {rule}", hint="correct the file")
    return dict(fields), chosen


def organization_of(profile: Profile) -> str:
    """The organization to act for. Raises FieldRefused where none is known."""
    if not profile.organization:
        raise FieldRefused(
            "--org", "no organization is given", hint="give --org NAME, set LBR_ORG, or put organization in the profile"
        )
    return profile.organization
