"""Which organization, server and key a command uses."""

from __future__ import annotations

from pathlib import Path

import pytest

from core.errors import FieldRefused, PoolsError
from starter.profile import organization_of, resolve

TWO = """
[profile.default]
organization = "acme"

[profile.lab]
organization = "lab"
temporal_address = "10.0.0.1:7233"
temporal_namespace = "pools"
sandbox = true
"""


@pytest.fixture
def home(tmp_path: Path) -> dict[str, str]:
    """An environment whose configuration and state folders are empty."""
    return {"XDG_CONFIG_HOME": str(tmp_path / "config"), "XDG_STATE_HOME": str(tmp_path / "state")}


def put(path: Path, text: str) -> None:
    """Write a file, folders included."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def test_without_any_file_the_local_server_is_meant(home: dict[str, str]) -> None:
    """And no organization."""
    profile = resolve(None, None, home)
    assert (profile.temporal_address, profile.temporal_namespace) == ("localhost:7233", "default")
    with pytest.raises(FieldRefused, match="--org"):
        organization_of(profile)


def test_a_sandbox_serves_until_something_is_configured(home: dict[str, str], tmp_path: Path) -> None:
    """The sandbox's profile, then the user's own file, then the one that LBR_CONFIG names."""
    put(tmp_path / "state/lbr/sandbox/profile.toml", '[profile.sandbox]\norganization = "one"\n')
    assert resolve(None, None, home).organization == "one"
    put(tmp_path / "config/lbr/config.toml", '[profile.mine]\norganization = "two"\n')
    assert resolve(None, None, home).organization == "two"
    put(tmp_path / "named.toml", '[profile.named]\norganization = "three"\n')
    assert resolve(None, None, {**home, "LBR_CONFIG": str(tmp_path / "named.toml")}).organization == "three"


def test_flags_come_before_the_environment_and_that_before_the_file(home: dict[str, str], tmp_path: Path) -> None:
    """For the organization and for the profile."""
    put(tmp_path / "config/lbr/config.toml", TWO)
    assert resolve(None, None, home).organization == "acme"
    assert resolve(None, None, {**home, "LBR_PROFILE": "lab"}).temporal_namespace == "pools"
    assert resolve("default", None, {**home, "LBR_PROFILE": "lab"}).organization == "acme"
    assert resolve(None, None, {**home, "LBR_ORG": "env"}).organization == "env"
    assert resolve(None, "flag", {**home, "LBR_ORG": "env"}).organization == "flag"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[profile.a\n", "cannot be read as TOML"),
        ('[profile.a]\norganisation = "x"\n', "organisation is not one of organization,"),
        ('[profile.a]\nsandbox = "yes"\n', "sandbox must be a bool"),
        ("[profile.a]\n[profile.b]\n", "has no profile 'default'"),
    ],
)
def test_a_file_that_is_not_right_is_named(home: dict[str, str], tmp_path: Path, text: str, says: str) -> None:
    """With what is wrong about it."""
    put(tmp_path / "config/lbr/config.toml", text)
    with pytest.raises(PoolsError, match=r"config\.toml") as caught:
        resolve(None, None, home)
    assert says in caught.value.message


def test_a_profile_that_is_nowhere_is_refused(home: dict[str, str], tmp_path: Path) -> None:
    """Without a file, and with one that has others."""
    with pytest.raises(FieldRefused, match="no configuration file"):
        resolve("lab", None, home)
    put(tmp_path / "config/lbr/config.toml", TWO)
    with pytest.raises(FieldRefused) as caught:
        resolve("prod", None, home)
    assert caught.value.hint == "profiles there: default, lab"


def test_a_named_file_must_exist(home: dict[str, str], tmp_path: Path) -> None:
    """LBR_CONFIG never falls back to another file."""
    put(tmp_path / "config/lbr/config.toml", TWO)
    with pytest.raises(PoolsError, match="LBR_CONFIG"):
        resolve(None, None, {**home, "LBR_CONFIG": str(tmp_path / "gone.toml")})
