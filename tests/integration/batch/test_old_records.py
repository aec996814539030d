"""Records that are old when they arrive, and applications that retention overtakes."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from headrace import StreamsBuilder, Topology
from headrace.batch.local import LocalEngine
from headrace.broker.port import Broker, NewRecord
from headrace.errors import OffsetError
from tests.integration.batch.programs import open_at, read, settings


def copy() -> Topology:
    builder = StreamsBuilder()
    builder.stream("in").to("out")
    return builder.build()


def send(broker: Broker, *values: str, timestamp: int | None = None) -> None:
    broker.append(NewRecord("in", None, value.encode(), timestamp) for value in values)


def run(directory: Path, broker: Broker, **more: str) -> dict[str, int]:
    """Run until nothing is due; which records were dropped."""
    with LocalEngine(copy(), settings(directory, **more), broker) as engine:
        engine.run_until_idle()
        return dict(engine.dropped_records)


def test_records_of_1970_are_read(tmp_path: Path) -> None:
    broker = open_at(tmp_path)
    broker.create_topic("in")
    send(broker, "a", timestamp=0)
    broker.maintain()
    run(tmp_path, broker)
    broker.maintain()
    assert read(broker, "in") == read(broker, "out") == [(None, b"a")]


@pytest.fixture
def behind(tmp_path: Path) -> Broker:
    """An application has read one record; of the three after it the topic keeps none."""
    broker = open_at(tmp_path)
    broker.create_topic("in", config={"retention.ms": 0})
    send(broker, "a")
    run(tmp_path, broker)
    send(broker, "b", "c", "d", timestamp=0)
    time.sleep(0.01)
    return broker


def test_what_an_application_has_yet_to_read_stays(tmp_path: Path, behind: Broker) -> None:
    behind.maintain()
    run(tmp_path, behind)
    assert [value for _, value in read(behind, "out")] == [b"a", b"b", b"c", b"d"]
    behind.maintain()
    assert behind.start_offsets([("in", 0)]) == {("in", 0): 4}


class TestOvertaken:
    @pytest.fixture
    def overtaken(self, behind: Broker) -> Broker:
        behind.alter_topic("in", config={"headrace.retention.unread": "delete"})
        behind.maintain()
        send(behind, "e")
        return behind

    def test_the_application_is_told(self, tmp_path: Path, overtaken: Broker) -> None:
        with pytest.raises(OffsetError, match="3 records of in-0 were deleted before they were read") as caught:
            run(tmp_path, overtaken)
        assert f"headrace topics describe in --broker {overtaken.address}" in str(caught.value.hint)

    def test_a_policy_that_was_asked_for_goes_on_and_counts(
        self, tmp_path: Path, overtaken: Broker, caplog: pytest.LogCaptureFixture
    ) -> None:
        dropped = run(tmp_path, overtaken, **{"consumer.auto.offset.reset": "earliest"})
        assert [value for _, value in read(overtaken, "out")] == [b"a", b"e"]
        assert dropped == {"the record was deleted before it was read": 3}
        assert "3 records from in-0@1 on were deleted before they were read" in caplog.text
