"""Dates, times and timestamps: arithmetic, texts, zones."""

from __future__ import annotations

from headrace.clock import now_ms
from headrace.sql.functions.declare import scalar
from headrace.sql.types.calendar_patterns import parse_calendar_date
from headrace.sql.types.numbers import wrap32, wrap64
from headrace.sql.types.time_fields import Moment
from headrace.sql.types.time_patterns import pattern_of
from headrace.sql.types.times import DAY_MS, DAY_NANOS
from headrace.sql.types.zones import system_zone, zone_of

_UNITS = {"DAY": DAY_MS, "HOUR": 3_600_000, "MINUTE": 60_000, "SECOND": 1000, "MILLISECOND": 1}
_LONG_MAX = 2**63 - 1


def _saturated(number: int) -> int:
    return max(-_LONG_MAX - 1, min(_LONG_MAX, number))


def _millis(unit: str, count: int) -> int:
    return _saturated(_UNITS[unit.upper().removesuffix("S")] * count)


def _nanos(unit: str, count: int) -> int:
    return _saturated(_UNITS[unit.upper().removesuffix("S")] * count * 1_000_000)


# Arithmetic


@scalar("TIMESTAMPADD", "(INTERVALUNIT unit, INTEGER count, TIMESTAMP moment) -> TIMESTAMP", description="Later.")
def add_to_timestamp(unit: str | None, count: int | None, moment: int | None) -> int | None:
    return None if unit is None or count is None or moment is None else wrap64(moment + _millis(unit, count))


@scalar("TIMESTAMPSUB", "(INTERVALUNIT unit, INTEGER count, TIMESTAMP moment) -> TIMESTAMP", description="Earlier.")
def subtract_from_timestamp(unit: str | None, count: int | None, moment: int | None) -> int | None:
    return None if unit is None or count is None or moment is None else wrap64(moment - _millis(unit, count))


@scalar("DATEADD", "(INTERVALUNIT unit, INTEGER count, DATE date) -> DATE", description="Later, in whole days.")
def add_to_date(unit: str | None, count: int | None, date: int | None) -> int | None:
    if unit is None or count is None or date is None:
        return None
    return _whole_days(date * DAY_MS + _millis(unit, count))


@scalar("DATESUB", "(INTERVALUNIT unit, INTEGER count, DATE date) -> DATE", description="Earlier, in whole days.")
def subtract_from_date(unit: str | None, count: int | None, date: int | None) -> int | None:
    if unit is None or count is None or date is None:
        return None
    return _whole_days(date * DAY_MS - _millis(unit, count))


def _whole_days(ms: int) -> int:
    """Toward 1970, as java.util.concurrent.TimeUnit has it."""
    return ms // DAY_MS if ms >= 0 else -(-ms // DAY_MS)


@scalar("TIMEADD", "(INTERVALUNIT unit, INTEGER count, TIME time) -> TIME", description="Later, around midnight.")
def add_to_time(unit: str | None, count: int | None, moment: int | None) -> int | None:
    if unit is None or count is None or moment is None:
        return None
    return (moment * 1_000_000 + _nanos(unit, count)) % DAY_NANOS // 1_000_000


@scalar("TIMESUB", "(INTERVALUNIT unit, INTEGER count, TIME time) -> TIME", description="Earlier, around midnight.")
def subtract_from_time(unit: str | None, count: int | None, moment: int | None) -> int | None:
    if unit is None or count is None or moment is None:
        return None
    return (moment * 1_000_000 - _nanos(unit, count)) % DAY_NANOS // 1_000_000


@scalar(
    "CONVERT_TZ", "(TIMESTAMP moment, STRING from, STRING to) -> TIMESTAMP", description="From one zone to another."
)
def convert_zone(moment: int | None, from_: str | None, to: str | None) -> int | None:
    if moment is None or from_ is None or to is None:
        return None
    seconds = moment // 1000
    return moment + (zone_of(to).offset_since_1900(seconds) - zone_of(from_).offset_since_1900(seconds)) * 1000


# Numbers


@scalar("UNIX_TIMESTAMP", "() -> BIGINT", description="Milliseconds since 1970, now.")
def unix_timestamp_now() -> int:
    return now_ms()


@scalar("UNIX_TIMESTAMP", "(TIMESTAMP moment) -> BIGINT", description="Milliseconds since 1970.")
@scalar("FROM_UNIXTIME", "(BIGINT ms) -> TIMESTAMP", description="The timestamp of milliseconds since 1970.")
@scalar("UNIX_DATE", "(DATE date) -> INTEGER", description="Days since 1970.")
def same_number(number: int | None) -> int | None:
    return number


@scalar("UNIX_DATE", "() -> INTEGER", description="Days since 1970, today.")
def unix_date_now() -> int:
    seconds = now_ms() // 1000
    return (seconds + system_zone().offset_at(seconds)) // 86_400


@scalar("FROM_DAYS", "(INTEGER days) -> DATE", description="The date of days since 1970.")
def from_days(days: int | None) -> int:
    return _required(days)


def _required(number: int | None) -> int:
    if number is None:
        raise ValueError("an argument that must not be null is null")
    return number


# Texts


@scalar(
    "FORMAT_TIMESTAMP",
    "(TIMESTAMP moment, STRING pattern) -> STRING",
    "(TIMESTAMP moment, STRING pattern, STRING zone) -> STRING",
    description="A timestamp as text.",
)
def format_timestamp(moment: int | None, pattern: str | None, zone: str | None = "GMT") -> str | None:
    if moment is None or pattern is None or zone is None:
        return None
    return pattern_of(pattern).write(Moment.at(moment, zone_of(zone)))


@scalar("FORMAT_DATE", "(DATE date, STRING pattern) -> STRING", description="A date as text.")
def format_date(date: int | None, pattern: str | None) -> str | None:
    return None if date is None or pattern is None else pattern_of(pattern).write(Moment(days=date))


@scalar("FORMAT_TIME", "(TIME time, STRING pattern) -> STRING", description="A time as text.")
def format_time(moment: int | None, pattern: str | None) -> str | None:
    return None if moment is None or pattern is None else pattern_of(pattern).write(Moment(nanos=moment * 1_000_000))


@scalar(
    "PARSE_TIMESTAMP",
    "(STRING text, STRING pattern) -> TIMESTAMP",
    "(STRING text, STRING pattern, STRING zone) -> TIMESTAMP",
    description="The timestamp of a text.",
)
def parse_timestamp(text: str | None, pattern: str | None, zone: str | None = "GMT") -> int | None:
    if text is None or pattern is None or zone is None:
        return None
    return pattern_of(pattern).read_instant(text, zone_of(zone))


@scalar("PARSE_DATE", "(STRING text, STRING pattern) -> DATE", description="The date of a text.")
def parse_date(text: str | None, pattern: str | None) -> int | None:
    return None if text is None or pattern is None else parse_calendar_date(text, pattern)


@scalar("PARSE_TIME", "(STRING text, STRING pattern) -> TIME", description="The time of a text.")
def parse_time(text: str | None, pattern: str | None) -> int | None:
    return None if text is None or pattern is None else pattern_of(pattern).read_time(text)


# The same for numbers, from before there were types for times


@scalar(
    "TIMESTAMPTOSTRING", "(BIGINT ms, STRING pattern) -> STRING", description="A timestamp as text, in the local zone."
)
def local_timestamp_text(ms: int | None, pattern: str | None) -> str | None:
    moment = Moment.at(_required(ms), system_zone())
    return None if pattern is None else pattern_of(pattern).write(moment)


@scalar("TIMESTAMPTOSTRING", "(BIGINT ms, STRING pattern, STRING zone) -> STRING", description="A timestamp as text.")
def timestamp_text(ms: int | None, pattern: str | None, zone: str | None) -> str | None:
    return format_timestamp(_required(ms), pattern, zone)


@scalar(
    "STRINGTOTIMESTAMP",
    "(STRING text, STRING pattern) -> BIGINT",
    description="The timestamp of a text, in the local zone.",
)
def local_timestamp_of(text: str | None, pattern: str | None) -> int:
    if text is None or pattern is None:
        raise ValueError("STRINGTOTIMESTAMP needs a text and a pattern that are not null")
    return pattern_of(pattern).read_instant(text, system_zone())


@scalar(
    "STRINGTOTIMESTAMP", "(STRING text, STRING pattern, STRING zone) -> BIGINT", description="The timestamp of a text."
)
def timestamp_of(text: str | None, pattern: str | None, zone: str | None) -> int:
    if text is None or pattern is None or zone is None:
        raise ValueError("STRINGTOTIMESTAMP needs a text, a pattern and a zone that are not null")
    return pattern_of(pattern).read_instant(text, zone_of(zone))


@scalar("DATETOSTRING", "(INTEGER days, STRING pattern) -> STRING", description="A date as text.")
def date_text(days: int | None, pattern: str | None) -> str | None:
    return format_date(_required(days), pattern)


@scalar("STRINGTODATE", "(STRING text, STRING pattern) -> INTEGER", description="The date of a text.")
def date_of(text: str | None, pattern: str | None) -> int:
    if text is None or pattern is None:
        raise ValueError("STRINGTODATE needs a text and a pattern that are not null")
    return wrap32(pattern_of(pattern).read_date(text))
