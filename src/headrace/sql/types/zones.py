"""Time zones by the names that Java knows: regions of the tz database and offsets."""

from __future__ import annotations

import os
import re
import zoneinfo
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone, tzinfo
from functools import lru_cache
from pathlib import Path

_EPOCH = datetime(1970, 1, 1)
_CYCLE_SECONDS = 146_097 * 86_400
"""400 years, after which the calendar repeats itself."""
_FIRST, _LAST = -62_135_596_800 + 86_400 * 2, 253_402_300_799 - 86_400 * 2
"""Seconds that Python's datetime can tell, with room for an offset."""
_1900 = -2_208_988_800
_LOCAL_MEAN_TIME = "LMT"
_OFFSET = re.compile(r"([+-])([0-9]{1,2})(?::?([0-9]{2})(?::?([0-9]{2}))?)?", re.ASCII)
_PREFIXED = re.compile(r"(UTC|GMT|UT)([+-].*)", re.ASCII)
_NOT_IN_JAVA = frozenset({"EST", "MST", "HST", "Factory", "localtime", "posixrules"})
_REGION = re.compile(r"[A-Za-z][A-Za-z0-9~/._+-]+", re.ASCII)


@dataclass(frozen=True)
class Zone:
    """A time zone: a name, and its distance from UTC at any time, in seconds."""

    name: str
    rules: tzinfo
    fixed: int | None = None
    """The distance where it is always the same."""

    def offset_at(self, epoch_seconds: int) -> int:
        if self.fixed is not None:
            return self.fixed
        return _seconds(self._moment(epoch_seconds).utcoffset())

    def offset_since_1900(self, epoch_seconds: int) -> int:
        """As java.util.TimeZone has it: before 1900 there was no local mean time, but the standard time of today."""
        if self.fixed is not None or epoch_seconds >= _1900:
            return self.offset_at(epoch_seconds)
        return _seconds(_times_of_today(self)[0].utcoffset())

    def offset_of_local(self, local_seconds: int) -> int:
        """The offset of a local time, given as if it were UTC."""
        if self.fixed is not None:
            return self.fixed
        return _seconds(self._local(local_seconds).utcoffset())

    def short_name(self, epoch_seconds: int) -> str:
        """As in Java that of today for standard and for daylight saving time, whatever it was called then."""
        moment = self._moment(epoch_seconds)
        name, standard, daylight = (each.tzname() or self.name for each in (moment, *_times_of_today(self)))
        if name in (standard, daylight):
            return name
        # Where today's name is an offset, it would be a wrong one then.
        if not moment.dst() and (standard.isalpha() or name == _LOCAL_MEAN_TIME):
            return standard
        return daylight if moment.dst() and daylight != standard else name

    @property
    def is_offset(self) -> bool:
        return self.fixed is not None

    def _moment(self, epoch_seconds: int) -> datetime:
        moment = _EPOCH.replace(tzinfo=timezone.utc) + timedelta(seconds=_within(epoch_seconds))
        return moment.astimezone(self.rules)

    def _local(self, local_seconds: int) -> datetime:
        return (_EPOCH + timedelta(seconds=_within(local_seconds))).replace(tzinfo=self.rules)


@lru_cache(maxsize=1000)
def _times_of_today(zone: Zone) -> tuple[datetime, datetime]:
    """A time at which clocks show standard time, and one of daylight saving time if there is any, by today's rules."""
    year = [datetime(2037, 1, 1, tzinfo=timezone.utc) + timedelta(weeks=2 * number) for number in range(26)]
    by_offset = sorted((each.astimezone(zone.rules) for each in year), key=lambda each: _seconds(each.utcoffset()))
    return by_offset[0], by_offset[-1]


def _within(seconds: int) -> int:
    """A time with the same rules that Python can tell: 400 years are a cycle."""
    while seconds > _LAST:
        seconds -= _CYCLE_SECONDS * max(1, (seconds - _LAST) // _CYCLE_SECONDS)
    return max(seconds, _FIRST)


def _seconds(offset: timedelta | None) -> int:
    return 0 if offset is None else offset.days * 86_400 + offset.seconds


def _fixed(name: str, seconds: int) -> Zone:
    return Zone(name, timezone(timedelta(seconds=seconds)), seconds)


UTC = _fixed("Z", 0)


@lru_cache(maxsize=1000)
def zone_of(name: str) -> Zone:
    """The zone of a name: ``Z``, ``+02:00``, ``UTC+2``, ``Europe/Berlin``.

    >>> zone_of("+0200").offset_at(0), zone_of("UTC-3").offset_at(0)
    (7200, -10800)
    """
    if name in ("Z", "z"):
        return UTC
    if name.startswith(("+", "-")):
        seconds = offset_seconds(name)
        return _fixed(offset_text(seconds), seconds)
    if name in ("UTC", "GMT", "UT"):
        return _fixed(name, 0)
    prefixed = _PREFIXED.fullmatch(name)
    if prefixed:
        seconds = offset_seconds(prefixed[2])
        return _fixed(prefixed[1] + (offset_text(seconds) if seconds else ""), seconds)
    return _region(name)


def _region(name: str) -> Zone:
    try:
        if _REGION.fullmatch(name) and name not in _NOT_IN_JAVA:
            return Zone(name, zoneinfo.ZoneInfo(name))
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError):
        pass
    message = f"there is no time zone {name!r}"
    raise ValueError(message)


def offset_seconds(text: str) -> int:
    """The seconds of an offset such as ``+2``, ``+02:00`` or ``-023000``."""
    found = _OFFSET.fullmatch(text)
    # A single digit stands alone, and colons come everywhere or nowhere.
    if found is None or (len(found[2]) == 1 and found[3]) or text.count(":") not in (0, _parts(found) - 1):
        message = f"{text!r} is no offset of a time zone"
        raise ValueError(message)
    hours, minutes, seconds = (int(found[part] or 0) for part in (2, 3, 4))
    total = hours * 3600 + minutes * 60 + seconds
    if minutes > 59 or seconds > 59 or total > 18 * 3600:
        message = f"{text!r} is more than 18 hours from UTC"
        raise ValueError(message)
    return -total if found[1] == "-" else total


def _parts(found: re.Match[str]) -> int:
    return sum(found[part] is not None for part in (2, 3, 4))


def offset_text(seconds: int) -> str:
    """An offset as Java names it."""
    if seconds == 0:
        return "Z"
    sign, rest = "-" if seconds < 0 else "+", abs(seconds)
    text = f"{sign}{rest // 3600:02}:{rest // 60 % 60:02}"
    return f"{text}:{rest % 60:02}" if rest % 60 else text


@lru_cache(maxsize=1)
def system_zone() -> Zone:
    """The zone of this machine: ``TZ``, else what /etc/localtime links to, else UTC."""
    name = os.environ.get("TZ", "").lstrip(":") or str(Path("/etc/localtime").resolve()).rpartition("zoneinfo/")[2]
    try:
        return zone_of(name)
    except ValueError:
        return UTC
