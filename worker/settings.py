"""The worker's settings, all from the environment; Temporal's own come from its profile and TEMPORAL_* variables."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from core.errors import PoolsError
from core.sealing import PlatformKey

HETZNER_API = "https://api.hetzner.cloud/v1"


@dataclass(frozen=True)
class Settings:
    """What a worker needs besides Temporal. Times in seconds."""

    platform_key_file: Path  # LBR_PLATFORM_KEY_FILE: the private key that opens sealed tokens and kubeconfigs
    cloud_endpoint: str = HETZNER_API  # HCLOUD_ENDPOINT
    listing_s: float = 60.0  # LBR_SERVER_LISTING_SECONDS: how old the shared server listing may be
    cloud_poll_s: float = 2.0  # LBR_CLOUD_POLL_SECONDS: first pause between two looks at a running action
    metrics_address: str = ""  # LBR_METRICS_ADDRESS: host:port for Prometheus, empty for none

    @classmethod
    def load(cls, environment: Mapping[str, str] = os.environ) -> Settings:
        """The settings in `environment`. Raises PoolsError when one is missing or wrong."""
        key_file = environment.get("LBR_PLATFORM_KEY_FILE")
        if not key_file:
            raise PoolsError(
                "LBR_PLATFORM_KEY_FILE is not set: a worker needs the platform's private key",
                hint="make one with `lbr keys generate` and name the file",
            )
        return cls(
            platform_key_file=Path(key_file),
            cloud_endpoint=environment.get("HCLOUD_ENDPOINT", HETZNER_API).rstrip("/"),
            listing_s=_seconds(environment, "LBR_SERVER_LISTING_SECONDS", cls.listing_s),
            cloud_poll_s=_seconds(environment, "LBR_CLOUD_POLL_SECONDS", cls.cloud_poll_s),
            metrics_address=environment.get("LBR_METRICS_ADDRESS", ""),
        )

    def platform_key(self) -> PlatformKey:
        """The private key. Raises PoolsError when the file cannot be read or is no such key."""
        try:
            pem = self.platform_key_file.read_bytes()
        except OSError as error:
            raise PoolsError(
                f"the platform key {self.platform_key_file} cannot be read: {error.strerror}",
                hint="check LBR_PLATFORM_KEY_FILE and the file's permissions",
            ) from error
        return PlatformKey.from_pem(pem)


def _seconds(environment: Mapping[str, str], name: str, default: float) -> float:
    text = environment.get(name)
    if text is None:
        return default
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if value <= 0:
        raise PoolsError(f"{name} is {text!r}, not a number of seconds above 0", hint=f"leave it out for {default:g}")
    return value
