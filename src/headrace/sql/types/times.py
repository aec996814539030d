"""Dates, times of day and timestamps as numbers, and their SQL text.

A DATE is a number of days and a TIMESTAMP a number of milliseconds since 1970, a TIME a number of milliseconds since
midnight. The calendar is the proleptic Gregorian one, for years of any size.
"""

from __future__ import annotations

import re
from functools import lru_cache

from headrace.sql.types.zones import Zone, zone_of

DAY_MS = 86_400_000
DAY_NANOS = DAY_MS * 1_000_000


def days_of(year: int, month: int, day: int) -> int:
    """Days since 1970-01-01.

    >>> days_of(1970, 1, 1), days_of(2000, 2, 29)
    (0, 11016)
    """
    shifted = year - (month <= 2)
    era, year_of_era = divmod(shifted, 400)
    day_of_year = (153 * ((month + 9) % 12) + 2) // 5 + day - 1
    return era * 146_097 + year_of_era * 365 + year_of_era // 4 - year_of_era // 100 + day_of_year - 719_468


@lru_cache(maxsize=1000)
def civil(days: int) -> tuple[int, int, int]:
    """Year, month and day of a number of days since 1970-01-01.

    >>> civil(11016)
    (2000, 2, 29)
    """
    era, day_of_era = divmod(days + 719_468, 146_097)
    year_of_era = (day_of_era - day_of_era // 1_460 + day_of_era // 36_524 - day_of_era // 146_096) // 365
    day_of_year = day_of_era - (365 * year_of_era + year_of_era // 4 - year_of_era // 100)
    shifted_month = (5 * day_of_year + 2) // 153
    month = (shifted_month + 2) % 12 + 1
    return era * 400 + year_of_era + (month <= 2), month, day_of_year - (153 * shifted_month + 2) // 5 + 1


def is_leap(year: int) -> bool:
    return year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)


def month_length(year: int, month: int) -> int:
    if month == 2:
        return 29 if is_leap(year) else 28
    return 30 if month in (4, 6, 9, 11) else 31


def clock(nanos: int) -> tuple[int, int, int, int]:
    """Hour, minute, second and nanoseconds of a number of nanoseconds since midnight."""
    seconds, nano = divmod(nanos, 1_000_000_000)
    return seconds // 3600, seconds // 60 % 60, seconds % 60, nano


def instant_of(days: int, nanos: int, zone: Zone) -> int:
    """The instant, in milliseconds, of a local date and time.

    A time that a change of clocks skips counts from the offset before; one that comes twice is the first.
    """
    local_seconds = days * 86_400 + nanos // 1_000_000_000
    return (local_seconds - zone.offset_of_local(local_seconds)) * 1000 + nanos % 1_000_000_000 // 1_000_000


# Text of DATE, TIME and TIMESTAMP in casts and literals

_ISO_DATE = re.compile(r"([+-]?[0-9]{4,9})-([0-9]{2})-([0-9]{2})", re.ASCII)
_ISO_TIME = re.compile(r"([0-9]{2}):([0-9]{2})(?::([0-9]{2})(?:\.([0-9]{0,9}))?)?", re.ASCII)
_FULL_TIME = "HH:mm:ss.SSS"


def date_text(days: int) -> str:
    """A DATE as text, the way of ISO 8601.

    >>> date_text(0), date_text(-719529)
    ('1970-01-01', '-0001-12-31')
    """
    year, month, day = civil(days)
    return f"{year_text(year)}-{month:02}-{day:02}"


def year_text(year: int) -> str:
    if abs(year) > 9999:
        return f"{year:+}"
    return f"-{-year:04}" if year < 0 else f"{year:04}"


def time_text(ms: int) -> str:
    """A TIME as text, without its milliseconds; seconds only if there are any.

    >>> time_text(60_000), time_text(61_999)
    ('00:01', '00:01:01')
    """
    if not 0 <= ms < DAY_MS:
        message = f"{ms} is no time of day"
        raise ValueError(message)
    hour, minute, second, _ = clock(ms * 1_000_000)
    return f"{hour:02}:{minute:02}" + (f":{second:02}" if second else "")


def timestamp_text(ms: int) -> str:
    """A TIMESTAMP as text, in UTC.

    >>> timestamp_text(0)
    '1970-01-01T00:00:00.000'
    """
    days, rest = divmod(ms, DAY_MS)
    year, month, day = civil(days)
    # A pattern's yyyy counts years of an era: there is no year 0, the year before 1 is 1 again.
    year = year if year > 0 else 1 - year
    hour, minute, second, nanos = clock(rest * 1_000_000)
    sign = "+" if year > 9999 else ""
    return f"{sign}{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{nanos // 1_000_000:03}"


def parse_date(text: str) -> int:
    """A DATE from text; month and day may be left out.

    >>> date_text(parse_date("2020-05")), date_text(parse_date("2020"))
    ('2020-05-01', '2020-01-01')
    """
    found = _ISO_DATE.fullmatch(_complete_date(text))
    if found is None or not _sign_fits(found[1]):
        message = f"{text!r} is no date, such as 2020-05-26 or 2020-05"
        raise ValueError(message)
    year, month, day = map(int, found.groups())
    if not (1 <= month <= 12 and 1 <= day <= month_length(year, month)):
        message = f"there is no date {text!r}"
        raise ValueError(message)
    return days_of(year, month, day)


def _complete_date(text: str) -> str:
    missing = 3 - len(text.rstrip("-").split("-"))
    return text + "-01" * max(missing, 0)


def _sign_fits(year: str) -> bool:
    """A plus where there are more than four digits, and only there."""
    if year.startswith("+"):
        return len(year) > 5
    return year.startswith("-") or len(year) == 4


def parse_time(text: str) -> int:
    """A TIME from text: hours and minutes, seconds if need be, and a fraction of them.

    >>> parse_time("01:34"), parse_time("00:00:01.5")
    (5640000, 1500)
    """
    found = _ISO_TIME.fullmatch(text)
    hour, minute, second = (int(found[part] or 0) for part in (1, 2, 3)) if found else (24, 0, 0)
    if found is None or hour > 23 or minute > 59 or second > 59:
        message = f"{text!r} is no time, such as 01:34 or 01:34:20.123"
        raise ValueError(message)
    ms = int((found[4] or "").ljust(9, "0")) // 1_000_000
    return ((hour * 60 + minute) * 60 + second) * 1000 + ms


def parse_timestamp(text: str) -> int:
    """A TIMESTAMP from text, in UTC if it names no zone; what is left out at the end counts as its least value.

    >>> parse_timestamp("1970"), parse_timestamp("1970-01-01T01"), parse_timestamp("1970-01-01T00:00:00.001+0100")
    (0, 3600000, -3599999)
    """
    date, has_time, rest = text.partition("T")
    if not has_time:
        return _timestamp(text, _complete_date(text), "", "")
    at = rest.find("+") if "+" in rest else rest.find("-")
    time, zone = (rest, "") if at < 0 else (rest[:at], rest[at:])
    return _timestamp(text, date, re.sub("Z$", "", time), zone)


def _timestamp(text: str, date: str, time: str, zone: str) -> int:
    time += re.sub("[a-zA-Z]", "0", _FULL_TIME[len(time) :])
    day = re.fullmatch(r"(\d{4}|[+]\d{5,9})-(\d\d)-(\d\d)", date, re.ASCII)
    moment = re.fullmatch(r"(\d\d):(\d\d):(\d\d)\.(\d\d\d)", time, re.ASCII)
    if day is None or moment is None:
        message = f"{text!r} is no timestamp, such as 2020-05-26T23:59:58.000, 2020-05-26 or 2020-05-26T23:59+0200"
        raise ValueError(message)
    year, month, date_day = map(int, day.groups())
    hour, minute, second, ms = map(int, moment.groups())
    if not (year > 0 and 1 <= month <= 12 and 1 <= date_day <= 31 and minute < 60 and second < 60):
        message = f"there is no time {text!r}"
        raise ValueError(message)
    days = days_of(year, month, min(date_day, month_length(year, month)))
    if hour == 24 and not (minute or second or ms):
        days, hour = days + 1, 0
    if hour > 23:
        message = f"there is no time {text!r}"
        raise ValueError(message)
    nanos = ((hour * 60 + minute) * 60 + second) * 1_000_000_000 + ms * 1_000_000
    return instant_of(days, nanos, zone_of(zone.strip() or "+0000"))
