from __future__ import annotations

from pathlib import Path

import pytest

from headrace.batch.local import LocalEngine
from headrace.broker.embedded import EmbeddedBroker
from headrace.broker.port import Broker
from tests.integration.batch.programs import append, settings, word_count
from tests.unit.cli.conftest import Headrace


def test_a_created_topic_is_listed(headrace: Headrace) -> None:
    assert headrace("topics", "create", "lines", "-p", "3").out == "created topic lines with 3 partitions\n"
    headrace("topics", "create", "words")

    assert [line.split() for line in headrace("topics", "list").out.splitlines()] == [
        ["TOPIC", "PARTITIONS"],
        ["lines", "3"],
        ["words", "1"],
    ]
    assert headrace("topics", "list", "--quiet").out == "lines\nwords\n"
    assert headrace("topics", "list", "--json").data == [
        {"name": "lines", "partitions": 3},
        {"name": "words", "partitions": 1},
    ]


def test_the_long_list_shows_records_and_sizes(headrace: Headrace) -> None:
    headrace("topics", "create", "lines")
    headrace("produce", "lines", input="a\nb\n")

    (row,) = headrace("topics", "list", "--long", "--json").data
    assert (row["name"], row["partitions"], row["records"]) == ("lines", 1, 2)
    assert row["bytes"] > 0
    assert headrace("topics", "list", "-l").out.split()[:4] == ["TOPIC", "PARTITIONS", "RECORDS", "BYTES"]


def test_a_topic_that_is_deleted_while_topics_are_listed_is_left_out(
    headrace: Headrace, monkeypatch: pytest.MonkeyPatch
) -> None:
    headrace("topics", "create", "lines")
    monkeypatch.setattr(EmbeddedBroker, "topics", lambda _: {"gone": 1, "lines": 1})

    (row,) = headrace("topics", "list", "--long", "--json").data
    assert row["name"] == "lines"


def test_no_topics_is_said_on_the_standard_error(headrace: Headrace, broker: Broker) -> None:
    ran = headrace("topics", "list")

    assert (ran.out, ran.err) == ("", "no topics yet; create one: headrace topics create NAME\n")
    assert headrace("topics", "list", "--json").data == []


def test_settings_are_given_with_kafkas_names(headrace: Headrace, broker: Broker) -> None:
    headrace("topics", "create", "users", "--config", "cleanup.policy=compact", "-c", "retention.ms=-1")

    config = broker.describe_topic("users").config
    assert (config["cleanup.policy"], config["retention.ms"]) == ("compact", "-1")


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("create", "lines"), 4, "topic lines exists already"),
        (("create", "../x"), 2, "illegal"),
        (("create", "x", "-c", "cleanup.policy"), 2, "'cleanup.policy' is no setting"),
        (("create", "x", "-c", "clean.policy=compact"), 2, "Did you mean cleanup.policy?"),
        (("create", "x", "-p", "0"), 2, "Invalid value"),
        (("describe", "line"), 3, "Did you mean 'lines'?"),
        (("alter", "lines"), 2, "nothing to alter"),
        (("alter", "lines", "-p", "1"), 2, "it cannot shrink to 1"),
        (("alter", "nope", "-p", "3"), 3, "there is no topic 'nope'"),
        (("delete", "lines"), 4, "Say --yes"),
        (("delete", "lines", "nope", "--yes"), 3, "there is no topic 'nope'"),
        (("nonsense",), 2, "No such command"),
    ],
)
def test_what_cannot_be_done_is_refused_with_its_code(
    headrace: Headrace, arguments: tuple[str, ...], code: int, message: str
) -> None:
    headrace("topics", "create", "lines", "-p", "2")

    assert message in headrace.fails("topics", *arguments, code=code)
    assert headrace("topics", "list", "-q").out == "lines\n"


def test_if_not_exists_takes_the_topic_that_is_there(headrace: Headrace) -> None:
    headrace("topics", "create", "lines", "-p", "2")

    assert headrace("topics", "create", "lines", "--if-not-exists", "--json").data == {
        "topic": "lines",
        "partitions": 2,
        "created": False,
    }


def test_describe_shows_settings_and_partitions(headrace: Headrace) -> None:
    headrace("topics", "create", "lines", "-p", "2")
    headrace("produce", "lines", "-p", "1", input="a\n")

    shown = headrace("topics", "describe", "lines").out
    assert shown.startswith("lines: 2 partitions, 1 record, ")
    assert "cleanup.policy" in shown
    found = headrace("topics", "describe", "lines", "--json").data
    assert [part["end_offset"] for part in found["partitions"]] == [0, 1]
    assert found["config"]["cleanup.policy"] == "delete"


def test_alter_adds_partitions_and_changes_settings(headrace: Headrace, broker: Broker) -> None:
    headrace("topics", "create", "lines", "-c", "retention.ms=5")

    headrace("topics", "alter", "lines", "-p", "3", "-c", "cleanup.policy=compact", "--unset", "retention.ms")

    topic = broker.describe_topic("lines")
    assert (len(topic.partitions), topic.config["cleanup.policy"]) == (3, "compact")
    assert topic.config["retention.ms"] == "604800000"


def test_partitions_that_the_state_of_an_application_cannot_follow_are_asked_for(
    headrace: Headrace, broker: Broker, tmp_path: Path
) -> None:
    for topic in ("lines", "elsewhere"):
        broker.create_topic(topic)
    append(broker, "lines", [(None, "a b")])
    with LocalEngine(word_count(), settings(tmp_path), broker) as engine:
        engine.run_until_idle()

    said = headrace.fails("topics", "alter", "lines", "-p", "2", code=4)
    assert "app has word-counts" in said and "partitions cannot be taken away again" in said and "--yes" in said
    assert broker.topics()["lines"] == 1
    headrace("topics", "alter", "lines", "-p", "1", "-c", "retention.ms=-1")
    headrace("topics", "alter", "elsewhere", "-p", "2")
    headrace("topics", "alter", "lines", "-p", "2", "--yes")
    assert broker.topics()["lines"] == 2


def test_delete_takes_all_or_nothing(headrace: Headrace) -> None:
    for name in ("a", "b"):
        headrace("topics", "create", name)

    headrace.fails("topics", "delete", "a", "missing", "-y", code=3)
    assert headrace("topics", "list", "-q").out == "a\nb\n"
    assert headrace("topics", "delete", "a", "missing", "-y", "--if-exists").out == "deleted a\n"
    assert headrace("topics", "list", "-q").out == "b\n"


def test_looking_never_makes_a_broker(headrace: Headrace, tmp_path: Path) -> None:
    elsewhere = f"embedded:{tmp_path / 'elsewhere'}"

    for command in (
        ("topics", "list"),
        ("groups", "list"),
        ("consume", "x"),
        ("produce", "x"),
        ("topics", "delete", "x"),
    ):
        assert "there is no broker at" in headrace.fails(*command, "-b", elsewhere, code=3)
    assert not (tmp_path / "elsewhere").exists()


def test_a_broker_of_an_unknown_kind_is_named_without_its_password(headrace: Headrace) -> None:
    told = headrace.fails("topics", "list", "-b", "kafka://al:geheim@host:9092", code=1)

    assert "kafka://al:***@host:9092" in told
    assert "geheim" not in told


def test_describe_shows_what_retention_removed(headrace: Headrace, broker: Broker) -> None:
    headrace("topics", "create", "lines", "--config", "retention.bytes=0")
    headrace("produce", "lines", input="a\nb\n")
    assert "retention removed" not in headrace("topics", "describe", "lines").out
    headrace("consume", "lines", "--group", "slow", "--count", "1")
    broker.maintain()
    assert "retention removed" not in headrace("topics", "describe", "lines").out
    assert headrace("topics", "describe", "lines", "--json").data["groups"] == {"slow": 1}
    assert "slow     1" in headrace("topics", "describe", "lines").out
    broker.delete_group("slow")
    broker.maintain()

    shown = headrace("topics", "describe", "lines").out
    assert "partition 0: retention removed 2 records, the last of them at 20" in shown
    (partition,) = headrace("topics", "describe", "lines", "--json").data["partitions"]
    assert (partition["start_offset"], partition["expired_records"]) == (2, 2)
    assert partition["expired_ms"] > 0
