"""The commands with ``--broker host:port``: topics, produce, consume, groups, doctor; and the same from Python."""

from __future__ import annotations

from pathlib import Path

import pytest

import headrace as library
from headrace.errors import TopicExistsError, UnknownTopicError
from tests.unit.cli.conftest import Headrace


@pytest.fixture
def headrace(kafka_address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Headrace:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HEADRACE_BROKER", kafka_address)
    return Headrace()


@pytest.fixture
def topic(headrace: Headrace, kafka_name: str) -> str:
    name = f"{kafka_name}-lines"
    headrace("topics", "create", name, "--partitions", "2")
    return name


def test_topics_are_made_listed_altered_and_deleted(headrace: Headrace, topic: str) -> None:
    assert {"name": topic, "partitions": 2} in headrace("topics", "list", "--json").data
    assert topic in headrace("topics", "list", "--long").out
    headrace("topics", "alter", topic, "--partitions", "3", "--config", "retention.ms=1000")
    described = headrace("topics", "describe", topic, "--json").data
    assert len(described["partitions"]) == 3
    assert described["config"]["retention.ms"] == "1000"
    assert described["partitions"][0]["bytes"] is None
    headrace("topics", "alter", topic, "--unset", "retention.ms")
    assert headrace("topics", "describe", topic, "--json").data["config"]["retention.ms"] == "604800000"
    headrace("topics", "create", topic, "--if-not-exists")
    assert "there is a topic of that name already" in headrace.fails("topics", "create", topic, code=4)
    headrace("topics", "delete", topic, "--yes")
    told = headrace.fails("topics", "describe", topic, code=3)
    assert f"there is no topic {topic}\n  hint: Create it: headrace topics create {topic} --broker " in told


def test_sizes_that_kafka_does_not_tell_are_not_made_up(headrace: Headrace, topic: str) -> None:
    headrace("produce", topic, input="a\nb\n")
    lines = headrace("topics", "describe", topic).out.splitlines()
    assert lines[0] == f"{topic}: 2 partitions, 2 records"
    assert lines[2].split() == ["PARTITION", "START", "END", "RECORDS"]


def test_what_is_produced_is_consumed(headrace: Headrace, topic: str) -> None:
    headrace("produce", topic, "-K", ":", input="a:1\nb:2\na:3\n")
    headrace(
        "produce", topic, "--json", input='{"key":"n","value":null,"timestamp":5,"headers":[["h","x"],["h",null]]}\n'
    )
    records = headrace("consume", topic, "--json").records
    assert sorted((record["key"], record["value"] or "") for record in records) == [
        ("a", "1"),
        ("a", "3"),
        ("b", "2"),
        ("n", ""),
    ]
    (tombstone,) = [record for record in records if record["key"] == "n"]
    assert (tombstone["timestamp"], tombstone["value"]) == (5, None)
    assert [value for key, value in ((each["key"], each["value"]) for each in records) if key == "a"] == ["1", "3"]
    assert len(headrace("consume", topic, "-o", "-1", "-p", str(tombstone["partition"])).out.splitlines()) == 1
    assert headrace("consume", topic, "-o", "@4102444800000").out == ""


def test_a_group_goes_on_is_shown_reset_and_deleted(headrace: Headrace, topic: str) -> None:
    group = f"{topic}-group"
    headrace("produce", topic, "-k", "same", input="1\n2\n3\n")
    assert headrace("consume", topic, "--group", group, "-c", "2", "-f", "%v\\n").out == "1\n2\n"
    (listed,) = [each for each in headrace("groups", "list", "--json").data if each["group"] == group]
    assert listed["lag"] == 1
    assert "1" in headrace("groups", "describe", group).out
    assert headrace("consume", topic, "--group", group, "-f", "%v\\n").out == "3\n"
    headrace("groups", "reset", group, "--to", "beginning", "--execute")
    assert headrace("consume", topic, "--group", group, "-c", "1", "-f", "%v\\n").out == "1\n"
    headrace("groups", "delete", group, "--yes")
    assert group not in headrace("groups", "list").out


def test_the_doctor_sees_the_cluster(headrace: Headrace, topic: str, kafka_address: str) -> None:
    checks = {check["name"]: check for check in headrace("doctor", "--json").data}
    assert checks["broker"]["status"] == "ok"
    assert checks["broker"]["found"].startswith(f"{kafka_address}: topics ")
    assert checks["confluent-kafka"]["status"] == "ok"


def test_a_cluster_that_is_not_there_is_told(
    headrace: Headrace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "client.properties").write_text("# patience\nadmin.default.api.timeout.ms = 300\n")
    monkeypatch.setenv("HEADRACE_BROKER_CONFIG", "client.properties")
    told = headrace.fails("topics", "list", "--broker", "127.0.0.1:1", code=3)
    assert "error: list the topics: Kafka at 127.0.0.1:1 does not answer" in told
    assert "hint: Start the broker, or correct bootstrap.servers" in told


def test_a_file_with_the_clients_settings(headrace: Headrace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADRACE_BROKER_CONFIG", "client.properties")
    assert "client.properties" in headrace.fails("topics", "list", code=2)
    (tmp_path / "client.properties").write_text("sasl.password hidden-word")
    assert "hidden-word" not in headrace.fails("topics", "list", code=2)
    (tmp_path / "client.properties").write_text(
        "security.protocol=SASL_PLAINTEXT\nsasl.mechanism=PLAIN\nadmin.default.api.timeout.ms=3000\n"
        'sasl.jaas.config=org.apache.kafka.common.security.plain.PlainLoginModule required \\\n  username="me" \\\n'
        '  password="hidden-word";\n'
    )
    # The shared broker speaks no SASL: what matters is that the settings arrive, and what is said.
    told = headrace.fails("topics", "list", code=3)
    assert "list the topics: " in told
    assert "hidden-word" not in told


def test_topics_from_python(kafka_address: str, kafka_name: str) -> None:
    name = f"{kafka_name}-purchases"
    with library.topics(kafka_address, value_serde="json", settings={"producer.linger.ms": 0}) as topics:
        topics.create(name, 2)
        with pytest.raises(TopicExistsError):
            topics.create(name)
        assert topics.produce(name, "alice", {"amount": 3}).offset == 0
        assert [(record.key, record.value) for record in topics.consume(name)] == [("alice", {"amount": 3})]
        assert topics.describe(name).size is None
        assert topics.names()[name] == 2
        topics.delete(name)
        with pytest.raises(UnknownTopicError, match=name):
            list(topics.consume(name))
