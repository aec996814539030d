"""Where records get their time from."""

from __future__ import annotations

import logging
import time

import pytest

from headrace import timestamps
from headrace.errors import StreamsError
from headrace.records import ConsumedRecord


def record(timestamp: int) -> ConsumedRecord:
    return ConsumedRecord("t", 0, 7, timestamp, "k", "v")


@pytest.mark.parametrize(
    "extractor",
    [
        timestamps.fail_on_invalid_timestamp,
        timestamps.log_and_skip_on_invalid_timestamp,
        timestamps.use_partition_time_on_invalid_timestamp,
    ],
)
def test_a_valid_timestamp_is_taken(extractor: timestamps.TimestampExtractor) -> None:
    assert extractor(record(0), 99) == 0
    assert extractor(record(5), 99) == 5


def test_an_invalid_timestamp_fails_and_says_where() -> None:
    with pytest.raises(StreamsError, match="t-0@7 has the invalid timestamp -1"):
        timestamps.fail_on_invalid_timestamp(record(-1), 99)


def test_an_invalid_timestamp_is_logged_and_skipped(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        assert timestamps.log_and_skip_on_invalid_timestamp(record(-1), 99) == -1

    assert "t-0@7" in caplog.text


def test_an_invalid_timestamp_gives_way_to_partition_time() -> None:
    assert timestamps.use_partition_time_on_invalid_timestamp(record(-1), 99) == 99
    with pytest.raises(StreamsError, match="its partition had none before"):
        timestamps.use_partition_time_on_invalid_timestamp(record(-1), -1)


def test_wallclock_is_now_in_milliseconds() -> None:
    before = int(time.time() * 1000)

    assert before - 1 <= timestamps.wallclock_timestamp(record(5), 99) <= before + 10_000
