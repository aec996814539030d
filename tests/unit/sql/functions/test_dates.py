"""Functions of dates, times and timestamps."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import pytest

from headrace.sql.types.zones import system_zone
from tests.unit.sql.functions.calling import FAILS, Cases, answer, check, listed
from tests.unit.sql.functions.test_strings import NULL, nulls

DAY = 86_400_000
MARCH = 1_614_938_649_123
"""2021-03-05T10:04:09.123Z, a Friday."""
IN_1850 = -3_786_825_600_000
"""1850-01-01T00:00:00Z, when clocks showed local mean time."""

CASES: Cases = {
    "TIMESTAMPADD(UNIT, INTEGER, TIMESTAMP)": [
        (("DAYS", 1, 5), DAY + 5),
        (("DAY", -1, 0), -DAY),
        (("HOURS", 2, 0), 7_200_000),
        (("MINUTES", 2, 0), 120_000),
        (("SECONDS", 2, 0), 2000),
        (("MILLISECONDS", 2, 0), 2),
        (("MILLISECOND", 1, 2**63 - 1), -(2**63)),
        *nulls(3, ("DAYS", 1, 1)),
    ],
    "TIMESTAMPSUB(UNIT, INTEGER, TIMESTAMP)": [(("HOUR", 1, 0), -3_600_000), *nulls(3, ("DAYS", 1, 1))],
    "DATEADD(UNIT, INTEGER, DATE)": [
        (("DAYS", 5, 10), 15),
        (("HOURS", 23, 0), 0),
        (("HOURS", -1, 0), 0),
        (("HOURS", -1, 1), 0),
        (("HOURS", -25, 0), -1),
        *nulls(3, ("DAYS", 1, 1)),
    ],
    "DATESUB(UNIT, INTEGER, DATE)": [(("DAYS", 5, 10), 5), (("MINUTES", 1, 10), 9), *nulls(3, ("DAYS", 1, 1))],
    "TIMEADD(UNIT, INTEGER, TIME)": [
        (("HOURS", 25, 0), 3_600_000),
        (("MILLISECONDS", -1, 0), DAY - 1),
        (("DAYS", 3, 7), 7),
        *nulls(3, ("DAYS", 1, 1)),
    ],
    "TIMESUB(UNIT, INTEGER, TIME)": [
        (("MILLISECONDS", 1, 0), DAY - 1),
        (("SECONDS", 1, 2000), 1000),
        *nulls(3, ("DAYS", 1, 1)),
    ],
    "CONVERT_TZ(TIMESTAMP, STRING, STRING)": [
        ((0, "UTC", "+02:00"), 7_200_000),
        ((1_625_097_600_000, "America/Los_Angeles", "Europe/Berlin"), 1_625_097_600_000 + 9 * 3_600_000),
        ((IN_1850, "UTC", "Europe/Berlin"), IN_1850 + 3_600_000),
        ((0, "Nowhere", "UTC"), FAILS),
        *nulls(3, (0, "UTC", "UTC")),
    ],
    "UNIX_TIMESTAMP(TIMESTAMP)": [((5,), 5), (NULL, None)],
    "UNIX_DATE(DATE)": [((5,), 5), (NULL, None)],
    "FROM_UNIXTIME(BIGINT)": [((-5,), -5), (NULL, None)],
    "FROM_DAYS(INTEGER)": [((5,), 5), (NULL, FAILS)],
    "FORMAT_TIMESTAMP(TIMESTAMP, STRING)": [
        ((MARCH, "yyyy-MM-dd HH:mm:ss.SSS z"), "2021-03-05 10:04:09.123 GMT"),
        ((0, "foo"), FAILS),
        *nulls(2, (0, "yyyy")),
    ],
    "FORMAT_TIMESTAMP(TIMESTAMP, STRING, STRING)": [
        ((MARCH, "EEE, d MMM yyyy h:mm a z", "America/Los_Angeles"), "Fri, 5 Mar 2021 2:04 AM PST"),
        ((MARCH, "HH XXX VV", "Asia/Kolkata"), "15 +05:30 Asia/Kolkata"),
        ((MARCH, "zzzz", "America/New_York"), "Eastern Standard Time"),
        ((IN_1850, "HH:mm:ss XXX XXXXX OOOO z", "Europe/Berlin"), "00:53:28 +00:53 +00:53:28 GMT+00:53:28 CET"),
        ((0, "HH", "Nowhere"), FAILS),
        *nulls(3, (0, "yyyy", "UTC")),
    ],
    "FORMAT_DATE(DATE, STRING)": [
        ((18_691, "EEEE, MMMM d, yyyy"), "Friday, March 5, 2021"),
        ((0, "HH"), FAILS),
        ((0, "yyyy[ HH]"), "1970"),
        *nulls(2, (0, "yyyy")),
    ],
    "FORMAT_TIME(TIME, STRING)": [
        ((3_723_004, "HH:mm:ss.SSS"), "01:02:03.004"),
        ((0, "yyyy"), FAILS),
        *nulls(2, (0, "HH")),
    ],
    "PARSE_TIMESTAMP(STRING, STRING)": [
        (("2021-03-05 10:04:09.123", "yyyy-MM-dd HH:mm:ss.SSS"), MARCH),
        (("2021", "yyyy"), 1_609_459_200_000),
        (("03-05", "MM-dd"), 63 * DAY),
        (("10:04", "HH:mm"), 36_240_000),
        (("PM", "a"), 18 * 3_600_000),
        (("3", "h"), 3 * 3_600_000),
        (("59278", "g"), 18_691 * DAY),
        (("3", "F"), 2 * DAY),
        (("Fri 2021", "EEE yyyy"), 18_628 * DAY),
        (("2021-10-6", "YYYY-ww-e"), 18_691 * DAY),
        (("02-30", "MM-dd"), FAILS),
        (("366", "DDD"), FAILS),
        (("nonsense", "yyyy"), FAILS),
        *nulls(2, ("2021", "yyyy")),
    ],
    "PARSE_TIMESTAMP(STRING, STRING, STRING)": [
        (("2021-07-01 00", "yyyy-MM-dd HH", "Europe/Berlin"), 1_625_090_400_000),
        (("2021-07-01 00 Z", "yyyy-MM-dd HH X", "Europe/Berlin"), 1_625_097_600_000),
        (("1850-01-01 00:53:28", "yyyy-MM-dd HH:mm:ss", "Europe/Berlin"), IN_1850),
        (("2021", "yyyy", "Nowhere"), FAILS),
        *nulls(3, ("2021", "yyyy", "UTC")),
    ],
    "PARSE_DATE(STRING, STRING)": [
        (("2021-03-05", "yyyy-MM-dd"), 18_691),
        (("5 mar 2021", "d MMM yyyy"), 18_691),
        (("20210305", "yyyyMMdd"), 18_691),
        (("2021-02-30", "yyyy-MM-dd"), 18_688),
        (("2021-03-05 and more", "yyyy-MM-dd"), 18_691),
        (("March 5, 2021", "MMMM d, yyyy"), 18_691),
        (("21-03-05", "yy-MM-dd"), 18_691),
        (("2021-064", "yyyy-DDD"), 18_691),
        (("2021-03-05 00:00", "yyyy-MM-dd HH:mm"), 18_691),
        (("2021-03-05 10:00", "yyyy-MM-dd HH:mm"), FAILS),
        (("x", "yyyy"), FAILS),
        (("2021", "b"), FAILS),
        *nulls(2, ("2021", "yyyy")),
    ],
    "PARSE_TIME(STRING, STRING)": [
        (("10:04", "HH:mm"), 36_240_000),
        (("1:02:03 pm", "h:mm:ss a"), 46_923_000),
        (("2021 10", "yyyy HH"), FAILS),
        (("10", "mm"), FAILS),
        (("x", "HH"), FAILS),
        *nulls(2, ("10", "HH")),
    ],
    "TIMESTAMPTOSTRING(BIGINT, STRING, STRING)": [
        ((MARCH, "HH:mm", "Europe/Berlin"), "11:04"),
        ((None, "HH", "UTC"), FAILS),
        ((0, None, "UTC"), None),
        ((0, "HH", None), None),
    ],
    "TIMESTAMPTOSTRING(BIGINT, STRING)": [((0, "'at'"), "at"), ((None, "HH"), FAILS), ((0, None), None)],
    "STRINGTOTIMESTAMP(STRING, STRING, STRING)": [
        (("2021-03-05 11:04:09.123", "yyyy-MM-dd HH:mm:ss.SSS", "Europe/Berlin"), MARCH),
        ((None, "yyyy", "UTC"), FAILS),
        (("2021", None, "UTC"), FAILS),
        (("2021", "yyyy", None), FAILS),
    ],
    "STRINGTOTIMESTAMP(STRING, STRING)": [(("x", "yyyy"), FAILS), ((None, "yyyy"), FAILS), (("2021", None), FAILS)],
    "DATETOSTRING(INTEGER, STRING)": [
        ((18_691, "yyyy-MM-dd"), "2021-03-05"),
        ((None, "yyyy"), FAILS),
        ((0, None), None),
    ],
    "STRINGTODATE(STRING, STRING)": [
        (("2021-03-05", "yyyy-MM-dd"), 18_691),
        (("05-MAR-2021", "dd-MMM-yyyy"), 18_691),
        (("2021-02-30", "yyyy-MM-dd"), 18_686),
        (("2021", "yyyy"), FAILS),
        (("2021-03-05", "YYYY-MM-dd"), FAILS),
        ((None, "yyyy"), FAILS),
        (("2021", None), FAILS),
    ],
}


@pytest.mark.parametrize(("call", "arguments", "expected"), listed(CASES))
def test_it_answers_what_java_does(call: str, arguments: tuple[Any, ...], expected: Any) -> None:
    check(call, arguments, expected)


@pytest.fixture
def in_tokyo(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    system_zone.cache_clear()
    yield
    system_zone.cache_clear()


@pytest.mark.usefixtures("in_tokyo")
def test_the_oldest_functions_are_in_the_zone_of_the_machine() -> None:
    check("TIMESTAMPTOSTRING(BIGINT, STRING)", (0, "yyyy-MM-dd HH:mm"), "1970-01-01 09:00")
    check("STRINGTOTIMESTAMP(STRING, STRING)", ("1970-01-01 09:00", "yyyy-MM-dd HH:mm"), 0)


def test_now_is_now() -> None:
    before = time.time_ns() // 1_000_000
    now = answer("UNIX_TIMESTAMP()", ())
    assert before <= now <= time.time_ns() // 1_000_000
    assert abs(answer("UNIX_DATE()", ()) - now // DAY) <= 1
