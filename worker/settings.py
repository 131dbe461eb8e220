"""The worker's settings, all from the environment; Temporal's own come from its profile and TEMPORAL_* variables."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from core.autoscale.cluster import Options
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
    # How long no node is removed after servers were added, after a removal was given up, and after one that went well.
    delay_after_add_s: float = 600.0  # LBR_SCALE_DOWN_DELAY_AFTER_ADD_SECONDS
    delay_after_failure_s: float = 180.0  # LBR_SCALE_DOWN_DELAY_AFTER_FAILURE_SECONDS
    delay_after_delete_s: float = 0.0  # LBR_SCALE_DOWN_DELAY_AFTER_DELETE_SECONDS
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
            delay_after_add_s=_delay(environment, "LBR_SCALE_DOWN_DELAY_AFTER_ADD_SECONDS", cls.delay_after_add_s),
            delay_after_failure_s=_delay(
                environment, "LBR_SCALE_DOWN_DELAY_AFTER_FAILURE_SECONDS", cls.delay_after_failure_s
            ),
            delay_after_delete_s=_delay(
                environment, "LBR_SCALE_DOWN_DELAY_AFTER_DELETE_SECONDS", cls.delay_after_delete_s
            ),
            metrics_address=environment.get("LBR_METRICS_ADDRESS", ""),
        )

    def autoscaling(self) -> Options:
        """What holds for the autoscaling of every cluster."""
        return Options(
            delay_after_add=timedelta(seconds=self.delay_after_add_s),
            delay_after_failure=timedelta(seconds=self.delay_after_failure_s),
            delay_after_delete=timedelta(seconds=self.delay_after_delete_s),
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
    value = _delay(environment, name, default)
    if value <= 0:
        raise PoolsError(f"{name} is {value:g}, not a number of seconds above 0", hint=f"leave it out for {default:g}")
    return value


def _delay(environment: Mapping[str, str], name: str, default: float) -> float:
    text = environment.get(name)
    if text is None:
        return default
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 <= value < math.inf:
        raise PoolsError(f"{name} is {text!r}, not a number of seconds", hint=f"leave it out for {default:g}")
    return value
