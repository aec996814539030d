"""Names of months, days and zones, in English."""

from __future__ import annotations

_MONTHS = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
]
_DAYS = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]

SHORT, FULL, NARROW = "short", "full", "narrow"


def _styles(full: list[str]) -> dict[str, dict[int, str]]:
    return {
        SHORT: {number: name[:3] for number, name in enumerate(full, 1)},
        FULL: dict(enumerate(full, 1)),
        NARROW: {number: name[0] for number, name in enumerate(full, 1)},
    }


NAMES: dict[str, dict[str, dict[int, str]]] = {
    "MONTH_OF_YEAR": _styles(_MONTHS),
    "DAY_OF_WEEK": _styles(_DAYS),
    "AMPM_OF_DAY": {SHORT: {0: "AM", 1: "PM"}},
    "ERA": {SHORT: {0: "BC", 1: "AD"}, FULL: {0: "Before Christ", 1: "Anno Domini"}, NARROW: {0: "B", 1: "A"}},
    "QUARTER_OF_YEAR": {
        SHORT: {number: f"Q{number}" for number in range(1, 5)},
        FULL: {1: "1st quarter", 2: "2nd quarter", 3: "3rd quarter", 4: "4th quarter"},
        NARROW: {number: str(number) for number in range(1, 5)},
    },
}

ZONES = {
    "PST": ("America/Los_Angeles", "Pacific Standard Time"),
    "PDT": ("America/Los_Angeles", "Pacific Daylight Time"),
    "MST": ("America/Denver", "Mountain Standard Time"),
    "MDT": ("America/Denver", "Mountain Daylight Time"),
    "CST": ("America/Chicago", "Central Standard Time"),
    "CDT": ("America/Chicago", "Central Daylight Time"),
    "EST": ("America/New_York", "Eastern Standard Time"),
    "EDT": ("America/New_York", "Eastern Daylight Time"),
    "GMT": ("GMT", "Greenwich Mean Time"),
    "UTC": ("UTC", "Coordinated Universal Time"),
    "BST": ("Europe/London", "British Summer Time"),
    "WET": ("WET", "Western European Standard Time"),
    "WEST": ("WET", "Western European Summer Time"),
    "CET": ("Europe/Paris", "Central European Standard Time"),
    "CEST": ("Europe/Paris", "Central European Summer Time"),
    "EET": ("EET", "Eastern European Standard Time"),
    "EEST": ("EET", "Eastern European Summer Time"),
    "MSK": ("Europe/Moscow", "Moscow Standard Time"),
    "IST": ("Asia/Kolkata", "India Standard Time"),
    "JST": ("Asia/Tokyo", "Japan Standard Time"),
    "KST": ("Asia/Seoul", "Korean Standard Time"),
}
"""Zones by their short names, with a region and the full name."""
