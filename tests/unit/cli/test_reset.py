from __future__ import annotations

from pathlib import Path

import pytest

from headrace.broker.port import Broker, NewRecord, OffsetAndMetadata
from headrace.state.directory_hold import DirectoryHold
from tests.unit.cli.conftest import Headrace
from tests.unit.cli.counting import run_program, say, write_program

CHANGELOGS = ["word-count-by-length-changelog", "word-count-windows-changelog", "word-count-word-counts-changelog"]


@pytest.fixture(autouse=True)
def counted(broker: Broker) -> None:
    """Two lines were counted."""
    write_program()
    broker.create_topic("lines")
    say(broker, "hello kafka", at=10)
    say(broker, "hello", at=20)
    run_program(broker)


def count_of_hello(headrace: Headrace) -> str:
    return headrace("state", "get", "app.py", "word-counts", "hello").out.strip()


def test_an_application_starts_over(headrace: Headrace, broker: Broker) -> None:
    headrace("reset", "app.py", "--yes")

    assert sorted(broker.topics()) == ["lines"]
    assert broker.last_decided("word-count") is None
    assert not Path("state/word-count").exists()
    assert broker.committed("word-count") == {("lines", 0): OffsetAndMetadata(0)}
    run_program(broker)
    assert count_of_hello(headrace) == "2"


@pytest.mark.parametrize(("to", "expected"), [("end", 2), ("1", 1), ("@20", 1), ("beginning", 0), ("-1", 1)])
def test_its_input_may_start_elsewhere(headrace: Headrace, broker: Broker, to: str, expected: int) -> None:
    headrace("reset", "app.py", "--to", to, "-y")
    assert broker.committed("word-count") == {("lines", 0): OffsetAndMetadata(expected)}

    say(broker, "hello")
    run_program(broker)

    assert count_of_hello(headrace) == str(3 - expected)


def test_a_dry_run_shows_what_would_be_done(headrace: Headrace, broker: Broker) -> None:
    ran = headrace("reset", "app.py", "--dry-run")

    assert [line.split() for line in ran.out.splitlines()] == [
        ["INPUT", "PARTITION", "FROM", "TO"],
        ["lines", "0", "2", "0"],
        *(["delete", "topic", name] for name in CHANGELOGS),
        ["delete", "the", "commits", "of", "word-count"],
        ["delete", "directory", "state/word-count"],
    ]
    assert headrace("reset", "app.py", "--dry-run", "--json").data == {
        "application": "word-count",
        "inputs": [{"topic": "lines", "partition": 0, "from": 2, "to": 0}],
        "deleted_topics": CHANGELOGS,
        "deleted_commits": True,
        "deleted_directory": "state/word-count",
        "executed": False,
    }
    assert broker.last_decided("word-count") is not None
    assert count_of_hello(headrace) == "2"


def test_a_running_application_is_left_alone(headrace: Headrace, broker: Broker) -> None:
    with broker.acquire_lease("word-count"):
        assert "is running" in headrace.fails("reset", "app.py", "--yes", code=4)
        headrace("reset", "app.py", "--dry-run")
    assert count_of_hello(headrace) == "2"


def test_the_state_of_another_broker_is_left_alone(headrace: Headrace, broker: Broker) -> None:
    headrace("topics", "create", "lines", "--broker", "embedded:other")
    counted = sorted(path for path in Path("state/word-count").rglob("*"))
    ran = headrace("reset", "app.py", "--yes", "--broker", "embedded:other")

    assert "directory" not in ran.out
    assert sorted(path for path in Path("state/word-count").rglob("*")) == counted
    assert (
        headrace("reset", "app.py", "--dry-run", "--broker", "embedded:other", "--json").data["deleted_directory"]
        is None
    )
    assert count_of_hello(headrace) == "2"


def test_a_directory_that_is_in_use_stops_it_before_anything_is_changed(headrace: Headrace, broker: Broker) -> None:
    hold = DirectoryHold(Path("state/word-count"), broker.address)
    try:
        assert "is in use" in headrace.fails("reset", "app.py", "--yes", code=1)
    finally:
        hold.release()
    assert count_of_hello(headrace) == "2"


def test_it_asks_first(headrace: Headrace, broker: Broker) -> None:
    assert "Say --yes" in headrace.fails("reset", "app.py", code=4)
    assert broker.last_decided("word-count") is not None


def test_topics_of_others_stay(headrace: Headrace, broker: Broker) -> None:
    broker.commit_offsets("word-count-eu", {("lines", 0): OffsetAndMetadata(1)})
    for topic in ("word-count-eu-x-changelog", "word-count-output", "word-count-old-changelog"):
        broker.create_topic(topic)
    broker.append([NewRecord("word-count-output", b"k", b"v")])

    deleted = headrace("reset", "app.py", "-y", "--json").data["deleted_topics"]

    assert deleted == sorted([*CHANGELOGS, "word-count-old-changelog"])
    assert sorted(broker.topics()) == ["lines", "word-count-eu-x-changelog", "word-count-output"]


def test_missing_input_is_no_obstacle(headrace: Headrace, broker: Broker) -> None:
    broker.delete_topic("lines")
    assert headrace("reset", "app.py", "-y", "--json").data["inputs"] == []
    assert broker.topics() == {}
