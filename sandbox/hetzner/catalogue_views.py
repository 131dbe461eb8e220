"""How the catalogue looks in replies: locations, server types, images and the price list."""

from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

from sandbox.hetzner.catalogue import LOCATIONS, SERVER_TYPES, Location, ServerType
from sandbox.hetzner.images import Image
from sandbox.hetzner.stock import Stock

View = dict[str, Any]

CURRENCY = "EUR"
# A recorded reply had gross = 1.2 x net: the rate of the account's country, not of the cloud.
VAT_PERCENT = 20
# Months are billed at most, an hour costs about 1/624 of one in the published list.
HOURS_IN_A_MONTH = 624
TRAFFIC_EU = 20 * 1024**4
TRAFFIC_ELSEWHERE = 1024**4
IPV4_MONTHLY = 0.5
# Net monthly EUR of what only the price list names; no pool ever orders it.
FLOATING_IPV4_MONTHLY = 3.0
VOLUME_GB_MONTHLY = 0.044
IMAGE_GB_MONTHLY = 0.011
TRAFFIC_TB = 1.0


def location_view(location: Location) -> View:
    return {
        "id": location.id,
        "name": location.name,
        "description": f"{location.city} DC Park 1",
        "country": location.country,
        "city": location.city,
        "latitude": location.latitude,
        "longitude": location.longitude,
        "network_zone": location.network_zone,
    }


def included_traffic(location: Location) -> int:
    """Bytes a month that cost nothing extra."""
    return TRAFFIC_EU if location.in_eu else TRAFFIC_ELSEWHERE


def price(net: float) -> View:
    """Net with ten and gross with sixteen decimals, as the cloud writes them."""
    exact = Decimal(str(net))
    return {"net": f"{exact:.10f}", "gross": f"{exact * (100 + VAT_PERCENT) / 100:.16f}"}


def server_type_view(stock: Stock, server_type: ServerType, now: datetime) -> View:
    """`deprecation` of the type as a whole is that of its locations once all of them have one."""
    places = [item for item in LOCATIONS if server_type.supports(item)]
    deprecations = [stock.deprecation(server_type, item) for item in places]
    last = [item for item in deprecations if item is not None]
    everywhere = len(last) == len(places)
    return {
        "id": server_type.id,
        "name": server_type.name,
        "description": server_type.name.upper(),
        "category": server_type.category,
        "cores": server_type.cores,
        "memory": float(server_type.memory),
        "disk": server_type.disk,
        "cpu_type": "dedicated" if server_type.dedicated else "shared",
        "architecture": server_type.architecture,
        "storage_type": "local",
        "deprecated": everywhere,
        "deprecation": last[0].model_dump(mode="json") if everywhere else None,
        "prices": server_type_prices(server_type),
        "locations": [_type_location(stock, server_type, item, now) for item in places],
    }


def _type_location(stock: Stock, server_type: ServerType, location: Location, now: datetime) -> View:
    deprecation = stock.deprecation(server_type, location)
    return {
        "id": location.id,
        "name": location.name,
        "deprecation": None if deprecation is None else deprecation.model_dump(mode="json"),
        "available": stock.advertised(server_type, location, now),
        "recommended": deprecation is None,
    }


def server_type_prices(server_type: ServerType) -> list[View]:
    """Prices stay listed for types that can no longer be ordered: the real list does that too."""
    return [
        {
            "location": location.name,
            "price_hourly": price(round(server_type.monthly / HOURS_IN_A_MONTH, 4)),
            "price_monthly": price(server_type.monthly),
            "included_traffic": included_traffic(location),
            "price_per_tb_traffic": price(TRAFFIC_TB),
        }
        for location in LOCATIONS
        if server_type.supports(location)
    ]


def image_view(image: Image) -> View:
    """Images announce their end three months ahead; `deprecated` left the API in September 2026."""
    deprecation = None
    if image.deprecated is not None:
        gone = image.deprecated + timedelta(days=90)
        deprecation = {"announced": image.deprecated.isoformat(), "unavailable_after": gone.isoformat()}
    return {
        "id": image.id,
        "type": "system",
        "status": "available",
        "name": image.name,
        "description": image.description,
        "image_size": None,
        "disk_size": 5,
        "created": image.created.isoformat(),
        "created_from": None,
        "bound_to": None,
        "os_flavor": image.os_flavor,
        "os_version": image.os_version,
        "rapid_deploy": True,
        "protection": {"delete": False},
        "deprecation": deprecation,
        "deleted": None,
        "labels": {},
        "architecture": image.architecture,
    }


def pricing_view() -> View:
    return {
        "currency": CURRENCY,
        "vat_rate": f"{VAT_PERCENT:.6f}",
        "primary_ips": [_primary_ip_prices("ipv4", IPV4_MONTHLY), _primary_ip_prices("ipv6", 0.0)],
        "floating_ip": {"price_monthly": price(FLOATING_IPV4_MONTHLY)},
        "floating_ips": [
            {
                "type": "ipv4",
                "prices": [
                    {"location": item.name, "price_monthly": price(FLOATING_IPV4_MONTHLY)} for item in LOCATIONS
                ],
            }
        ],
        "image": {"price_per_gb_month": price(IMAGE_GB_MONTHLY)},
        "volume": {"price_per_gb_month": price(VOLUME_GB_MONTHLY)},
        "server_backup": {"percentage": "20.0000000000"},
        "server_types": [
            {"id": item.id, "name": item.name, "prices": server_type_prices(item)} for item in SERVER_TYPES
        ],
        "load_balancer_types": [],
    }


def _primary_ip_prices(ip_type: str, monthly: float) -> View:
    hourly = round(monthly / HOURS_IN_A_MONTH, 4)
    prices = [
        {"location": item.name, "price_hourly": price(hourly), "price_monthly": price(monthly)} for item in LOCATIONS
    ]
    return {"type": ip_type, "prices": prices}
