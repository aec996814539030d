"""Dates, times and timestamps as numbers and as SQL's text."""

from __future__ import annotations

from datetime import date, datetime, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.sql.types.times import (
    civil,
    date_text,
    days_of,
    parse_date,
    parse_time,
    parse_timestamp,
    time_text,
    timestamp_text,
)
from headrace.sql.types.zones import zone_of


@given(st.dates())
def test_days_count_as_pythons_calendar_does(day: date) -> None:
    days = (day - date(1970, 1, 1)).days
    assert days_of(day.year, day.month, day.day) == days
    assert civil(days) == (day.year, day.month, day.day)
    assert parse_date(date_text(days)) == days


@given(st.integers(-(10**11), 10**11))
def test_days_of_any_year_come_back(days: int) -> None:
    assert days_of(*civil(days)) == days


@given(st.datetimes(min_value=datetime(1, 1, 2), max_value=datetime(9999, 12, 30), timezones=st.just(timezone.utc)))
def test_a_timestamp_is_read_back_from_its_text(moment: datetime) -> None:
    ms = (moment - datetime(1970, 1, 1, tzinfo=timezone.utc)) // (moment.resolution * 1000)
    assert (
        timestamp_text(ms) == moment.strftime("%Y-%m-%dT%H:%M:%S.").rjust(20, "0") + f"{moment.microsecond // 1000:03}"
    )
    assert parse_timestamp(timestamp_text(ms)) == ms


@given(st.integers(0, 86_399_999))
def test_a_time_is_read_back_without_its_milliseconds(ms: int) -> None:
    assert parse_time(time_text(ms)) == ms // 1000 * 1000


@pytest.mark.parametrize(
    ("text", "days"),
    [("1970-01-01", 0), ("1970", 0), ("1970-02", 31), ("-0001-12-31", -719529), ("+10000-01-01", 2932897)],
)
def test_a_date_may_leave_out_month_and_day(text: str, days: int) -> None:
    assert parse_date(text) == days


@pytest.mark.parametrize(
    "text", ["", "70", "1970-13", "2021-02-29", "1970-1-1", "1970-01-01T00", "10000-01-01", "+1970", "x"]
)
def test_what_is_no_date_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="date"):
        parse_date(text)


@pytest.mark.parametrize(
    ("text", "ms"),
    [("00:00", 0), ("23:59:59.999999999", 86_399_999), ("01:02:03", 3_723_000), ("01:02:03.", 3_723_000)],
)
def test_a_time_has_hours_and_minutes_at_least(text: str, ms: int) -> None:
    assert parse_time(text) == ms


@pytest.mark.parametrize("text", ["", "1:02", "24:00", "00:60", "00:00:60", "00", "00:00:00Z", "00:00:00.0000000000"])
def test_what_is_no_time_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is no time"):
        parse_time(text)


@pytest.mark.parametrize(
    ("text", "ms"),
    [
        ("1970", 0),
        ("1970-01", 0),
        ("1970-01-02", 86_400_000),
        ("1970-01-01T", 0),
        ("1970-01-01T01", 3_600_000),
        ("1970-01-01T01:0", 3_600_000),
        ("1970-01-01T00:00:00.001Z", 1),
        ("1970-01-01T00:00:00.000+0100", -3_600_000),
        ("1970-01-01T00:00-01:00", 3_600_000),
        ("1970-01-01T24:00", 86_400_000),
        ("1970-02-31T00:00", 58 * 86_400_000),
    ],
)
def test_a_timestamp_may_leave_out_its_end(text: str, ms: int) -> None:
    assert parse_timestamp(text) == ms


@pytest.mark.parametrize(
    "text",
    [
        "",
        "x",
        "1970-01T00",
        "1970-01-01 00:00",
        "1970-01-01T25",
        "1970-01-01T00:00+99",
        "1970-13-01",
        "1970-01-01T00:00:00.0001",
    ],
)
def test_what_is_no_timestamp_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"time|UTC"):
        parse_timestamp(text)


def test_years_that_python_does_not_know_have_the_offsets_of_years_that_it_does() -> None:
    berlin = zone_of("Europe/Berlin")
    summer = days_of(12021, 7, 1) * 86_400
    assert berlin.offset_at(summer) == 7200
    assert berlin.offset_of_local(summer) == 7200
    assert berlin.offset_at(days_of(-5000, 7, 1) * 86_400) == 3208  # local mean time


_1850, _1895, _1900, _JULY_1918, _JULY_1943 = (
    -3_786_825_600,
    -2_366_755_200,
    -2_208_988_800,
    -1_625_356_800,
    -836_438_400,
)


@pytest.mark.parametrize(
    ("zone", "local_mean_time", "since_1900"),
    [
        ("Europe/Berlin", 3208, 3600),
        ("Europe/Dublin", -1521, 0),
        ("Africa/Algiers", 732, 3600),
        ("Africa/Casablanca", -1820, 0),
        ("Asia/Kolkata", 21_208, 19_800),
        ("America/New_York", -17_762, -18_000),
        ("+02:00:01", 7201, 7201),
    ],
)
def test_before_1900_a_zone_has_two_offsets_as_in_java(zone: str, local_mean_time: int, since_1900: int) -> None:
    found = zone_of(zone)
    assert (found.offset_at(_1850), found.offset_since_1900(_1850)) == (local_mean_time, since_1900)
    assert found.offset_of_local(_1850 + local_mean_time) == local_mean_time
    assert found.offset_since_1900(_1900 - 1) == since_1900
    assert found.offset_since_1900(_1900) == found.offset_at(_1900)


@pytest.mark.parametrize(
    ("zone", "seconds", "name"),
    [
        ("Europe/Berlin", _1850, "CET"),
        ("Asia/Kolkata", _1895, "IST"),
        ("Europe/Paris", _1895, "CET"),
        ("Europe/Paris", _JULY_1918, "CEST"),
        ("Europe/London", _JULY_1943, "BST"),
        ("America/New_York", _JULY_1943, "EDT"),
    ],
)
def test_a_zone_is_called_what_it_is_called_today_as_in_java(zone: str, seconds: int, name: str) -> None:
    assert zone_of(zone).short_name(seconds) == name
