"""Patterns of dates and times. What Java does with them is in the tables of ``test_java_tables``."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.sql.types.time_fields import Moment
from headrace.sql.types.time_patterns import pattern_of
from headrace.sql.types.zones import UTC, zone_of


def answer(question: Callable[[], int]) -> int | None:
    try:
        return question()
    except ValueError:
        return None


@given(
    st.sampled_from(
        ["yyyy-MM-dd", "uuuuMMddHHmmss", "yyyy-MM-dd HH:mm:ss.SSS", "dd/MM/yyyy'T'HH", "yyyy-MM-dd mm:ss", "SSyyyyMMdd"]
    ),
    st.sampled_from(["Z", "Europe/Berlin", "-03:30"]),
    st.data(),
)
def test_the_short_way_to_read_equals_the_long_one(pattern: str, zone: str, data: st.DataObject) -> None:
    # Digits at random where the pattern has letters, mostly near to what is a date.
    shape = pattern.replace("'", "")
    likely = st.sampled_from("0012")
    text = "".join(
        data.draw(likely | st.sampled_from("0123456789")) if char.isalpha() and char != "T" else char for char in shape
    )
    found = pattern_of(pattern)
    assert found.simple is not None
    expected = answer(lambda: found.read(text).instant(zone_of(zone)))
    assert answer(lambda: found.read_instant(text, zone_of(zone))) == expected


@pytest.mark.parametrize(
    "pattern",
    ["yy-MM-dd", "yyyy-M-d", "yyyy-MM", "HH:mm", "yyyy-MM-dd X", "yyyy-MM-dd[ HH]", "yyyy-MM-dd nn", "yyyy yyyy MM dd"],
)
def test_other_patterns_have_no_short_way(pattern: str) -> None:
    assert pattern_of(pattern).simple is None


@pytest.mark.parametrize(
    ("pattern", "message"),
    [
        ("yyyy-MM-ddThh", "contains 'T', which says nothing"),
        ("ddd", "contains 'ddd', which says nothing"),
        ("yyyy {MM}", "contains '{', which is reserved"),
        ("'open", "does not close a quote"),
        ("yyyy]", "closes a section that is not open"),
        ("SSSSSSSSSS", "contains 'SSSSSSSSSS', which says nothing"),
    ],
)
def test_what_is_no_pattern_is_refused(pattern: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        pattern_of(pattern)


def test_errors_tell_the_text_and_the_pattern() -> None:
    with pytest.raises(ValueError, match="'x' does not follow the pattern 'yyyy'"):
        pattern_of("yyyy").read("x")
    with pytest.raises(ValueError, match="'2021-13' is no time by the pattern 'yyyy-MM': 13 is no month of year"):
        pattern_of("yyyy-MM").read("2021-13")
    with pytest.raises(ValueError, match="there is no hour of day to write"):
        pattern_of("HH").write(Moment(days=0))


@given(st.datetimes(), st.sampled_from(["UTC", "Europe/Berlin", "America/Sao_Paulo", "Asia/Kathmandu"]))
def test_what_is_written_with_its_offset_is_read_back(moment: datetime, zone: str) -> None:
    ms = (moment - datetime(1970, 1, 1)) // timedelta(seconds=1) * 1000
    pattern = pattern_of("uuuu-MM-dd'T'HH:mm:ssXXXXX")
    assert pattern.read_instant(pattern.write(Moment.at(ms, zone_of(zone))), UTC) == ms
