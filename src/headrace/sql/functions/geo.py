"""Distances on the earth."""

from __future__ import annotations

import math

from headrace.sql.functions.declare import scalar
from headrace.sql.types.trimming import trimmed

_RADIUS_KM, _RADIUS_MILES = 6371.0, 3959.0
_RADII = dict.fromkeys(("mi", "mile", "miles"), _RADIUS_MILES) | dict.fromkeys(
    ("km", "kilometer", "kilometers", "kilometre", "kilometres", ""), _RADIUS_KM
)
_POINTS = "DOUBLE latitude1, DOUBLE longitude1, DOUBLE latitude2, DOUBLE longitude2"


@scalar(
    "GEO_DISTANCE",
    f"({_POINTS}) -> DOUBLE",
    f"({_POINTS}, STRING unit) -> DOUBLE",
    description="The distance of two points, in kilometres (KM) or miles (MI).",
)
def distance(
    latitude1: float | None,
    longitude1: float | None,
    latitude2: float | None,
    longitude2: float | None,
    unit: str | None = "km",
) -> float:
    if latitude1 is None or longitude1 is None or latitude2 is None or longitude2 is None:
        raise ValueError("a coordinate is null")
    # Not by max(): beside a NaN it would not see the other one.
    if abs(latitude1) > 90 or abs(latitude2) > 90 or abs(longitude1) > 180 or abs(longitude2) > 180:
        raise ValueError("latitudes are from -90 to 90, and longitudes from -180 to 180")
    north, east = math.radians(latitude2 - latitude1), math.radians(longitude2 - longitude1)
    across = _haversine(north) + _haversine(east) * math.cos(math.radians(latitude1)) * math.cos(
        math.radians(latitude2)
    )
    return 2 * math.asin(math.sqrt(across)) * _radius(unit)


def _haversine(angle: float) -> float:
    return math.sin(angle / 2) ** 2


def _radius(unit: str | None) -> float:
    name = trimmed(unit or "").lower()
    if name not in _RADII:
        message = f"there is no unit {unit!r} of distances, but KM and MI"
        raise ValueError(message)
    return _RADII[name]
