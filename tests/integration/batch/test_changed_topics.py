"""Topics that change while an application runs: partitions are added, topics are deleted."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from headrace import StreamsBuilder, Topology
from headrace.batch.local import LocalEngine
from headrace.broker.port import Broker, NewRecord
from headrace.errors import InternalTopicError, MissingOutputTopicError, MissingSourceTopicError, UpgradeError
from tests.integration.batch.programs import append, open_at, read, settings, word_count


def copy() -> Topology:
    builder = StreamsBuilder()
    builder.stream("in").to("out")
    return builder.build()


@pytest.fixture
def broker(tmp_path: Path) -> Broker:
    broker = open_at(tmp_path)
    broker.create_topic("in")
    return broker


def send(broker: Broker, value: str, partition: int = 0) -> None:
    broker.append([NewRecord("in", b"k", value.encode(), partition=partition)])


def values(broker: Broker, topic: str = "out") -> list[bytes | None]:
    return [value for _, value in read(broker, topic)]


class TestPartitionsAreAdded:
    def test_lag_counts_them_at_once(self, tmp_path: Path, broker: Broker) -> None:
        with LocalEngine(copy(), settings(tmp_path), broker) as engine:
            engine.run_until_idle()
            broker.alter_topic("in", partitions=3)
            send(broker, "a", 2)
            assert broker.lag("app") == {("in", 0): 0, ("in", 1): 0, ("in", 2): 1}

    def test_a_stateless_application_takes_them_up(self, tmp_path: Path, broker: Broker) -> None:
        send(broker, "a")
        with LocalEngine(copy(), settings(tmp_path), broker) as engine:
            engine.run_until_idle()
            assert not engine.has_new_topics
            broker.alter_topic("in", partitions=3)
            send(broker, "b", 2)
            assert engine.has_new_topics
            engine.lay_out_again()
            engine.run_until_idle()
            assert not engine.has_new_topics
        assert values(broker) == [b"a", b"b"]
        assert broker.lag("app") == {("in", 0): 0, ("in", 1): 0, ("in", 2): 0}

    def test_a_stateful_one_stops_with_what_a_restart_says(self, tmp_path: Path, broker: Broker) -> None:
        broker.create_topic("lines")
        append(broker, "lines", [("k", "a b")])
        with LocalEngine(word_count(), settings(tmp_path), broker) as engine:
            engine.run_until_idle()
            broker.alter_topic("lines", partitions=2)
            with pytest.raises(UpgradeError, match="word-counts cannot go on with the state") as said:
                engine.lay_out_again()
        with pytest.raises(UpgradeError) as again:
            LocalEngine(word_count(), settings(tmp_path), broker)
        assert str(again.value) == str(said.value)
        assert said.value.message.endswith("it had 1 partitions and would have 2: keys would be looked for elsewhere")
        assert "A topic cannot have fewer partitions again: create one with as many as there were" in str(said.value)


class TestAnInputIsDeleted:
    def test_it_is_named(self, tmp_path: Path, broker: Broker) -> None:
        with LocalEngine(copy(), settings(tmp_path), broker) as engine:
            engine.run_until_idle()
            broker.delete_topic("in")
            with pytest.raises(MissingSourceTopicError, match="topics were deleted while the application runs: in"):
                engine.run_until_idle()
            with pytest.raises(MissingSourceTopicError, match="in"):
                engine.lay_out_again()

    def test_one_that_comes_back_smaller_is_named(self, tmp_path: Path, broker: Broker) -> None:
        broker.alter_topic("in", partitions=2)
        with LocalEngine(copy(), settings(tmp_path), broker) as engine:
            engine.run_until_idle()
            broker.delete_topic("in")
            broker.create_topic("in")
            with pytest.raises(MissingSourceTopicError, match="fewer partitions"):
                engine.run_until_idle()

    def test_one_that_matched_a_pattern_is_left_out(self, tmp_path: Path, broker: Broker) -> None:
        builder = StreamsBuilder()
        builder.stream(re.compile("i.*")).to("out")
        broker.create_topic("in-2")
        with LocalEngine(builder.build(), settings(tmp_path), broker) as engine:
            engine.run_until_idle()
            broker.delete_topic("in-2")
            send(broker, "a")
            engine.run_until_idle()
            assert values(broker) == [b"a"]
            assert engine.has_new_topics
            engine.lay_out_again()
            send(broker, "b")
            engine.run_until_idle()
        assert values(broker) == [b"a", b"b"]

    def test_that_of_a_global_table_is_named(self, tmp_path: Path, broker: Broker) -> None:
        builder = StreamsBuilder()
        table = builder.global_table("names")
        builder.stream("in").join(table, lambda key, value: key, lambda value, name: name).to("out")
        broker.create_topic("names")
        with LocalEngine(builder.build(), settings(tmp_path), broker) as engine:
            engine.run_until_idle()
            broker.delete_topic("names")
            send(broker, "a")
            with pytest.raises(MissingSourceTopicError, match="topics were deleted while the application runs: names"):
                engine.run_until_idle()


class TestAnOutputIsDeleted:
    def test_a_sink_is_not_made_again(self, tmp_path: Path, broker: Broker) -> None:
        broker.create_topic("out", 4)
        send(broker, "a")
        with LocalEngine(copy(), settings(tmp_path), broker) as engine:
            engine.run_until_idle()
            broker.delete_topic("out")
            send(broker, "b")
            with pytest.raises(
                MissingOutputTopicError, match="topics were deleted while the application runs: out"
            ) as at:
                engine.run_until_idle()
            assert f"headrace topics create out --partitions 4 --broker {broker.address}" in str(at.value.hint)
            broker.alter_topic("in", partitions=2)
            with pytest.raises(MissingOutputTopicError):
                engine.lay_out_again()
            assert "out" not in broker.topics()
            # Once it is there again, nothing is missing.
            broker.create_topic("out", 4)
            engine.run_until_idle()
        assert values(broker) == [b"b"]

    def test_nor_is_a_changelog(self, tmp_path: Path, broker: Broker) -> None:
        broker.create_topic("lines")
        append(broker, "lines", [("k", "a")])
        with LocalEngine(word_count(), settings(tmp_path), broker) as engine:
            engine.run_until_idle()
            broker.delete_topic("app-word-counts-changelog")
            append(broker, "lines", [("k", "b")])
            with pytest.raises(MissingOutputTopicError, match="app-word-counts-changelog") as caught:
                engine.run_until_idle()
            assert "headrace reset" in str(caught.value.hint)
            assert "app-word-counts-changelog" not in broker.topics()

    def test_a_changelog_that_is_made_anew_is_not_written_to(self, tmp_path: Path, broker: Broker) -> None:
        broker.create_topic("lines")
        append(broker, "lines", [("k", "a")])
        with LocalEngine(word_count(), settings(tmp_path), broker) as engine:
            engine.run_until_idle()
            assert not engine.has_new_topics
            broker.delete_topic("app-word-counts-changelog")
            broker.create_topic("app-word-counts-changelog", config={"cleanup.policy": "compact"})
            assert engine.has_new_topics
            append(broker, "lines", [("k", "b")])
            for go_on in (engine.run_until_idle, engine.lay_out_again):
                with pytest.raises(InternalTopicError, match="deleted since the application wrote them: app-word"):
                    go_on()
            assert values(broker, "app-word-counts-changelog") == []

    def test_nor_is_a_changelog_when_the_application_starts_again(self, tmp_path: Path, broker: Broker) -> None:
        broker.create_topic("lines")
        append(broker, "lines", [("k", "a")])
        with LocalEngine(word_count(), settings(tmp_path), broker) as engine:
            engine.run_until_idle()
        broker.delete_topic("app-word-counts-changelog")
        with pytest.raises(
            InternalTopicError, match="changelogs were deleted since the application wrote them: app-word"
        ):
            LocalEngine(word_count(), settings(tmp_path), broker)
        broker.delete_application("app")
        LocalEngine(word_count(), settings(tmp_path), broker).close()

    def test_a_sink_that_is_made_again_at_the_next_start_is_told_of(
        self, tmp_path: Path, broker: Broker, caplog: pytest.LogCaptureFixture
    ) -> None:
        with LocalEngine(copy(), settings(tmp_path), broker) as engine:
            engine.run_until_idle()
        assert "was made" not in caplog.text
        broker.delete_topic("out")
        LocalEngine(copy(), settings(tmp_path), broker).close()
        assert "the topic out was not there and was made with one partition" in caplog.text

    def test_nor_is_a_dead_letter_topic(self, tmp_path: Path, broker: Broker) -> None:
        builder = StreamsBuilder()
        builder.stream("in").map_values(int).map_values(str).to("out")
        with_letters = settings(
            tmp_path,
            **{
                "errors.dead.letter.queue.topic.name": "letters",
                "processing.exception.handler": "log_and_continue",
            },
        )
        with LocalEngine(builder.build(), with_letters, broker) as engine:
            send(broker, "x")
            engine.run_until_idle()
            assert values(broker, "letters") == [b"x"]
            broker.delete_topic("letters")
            send(broker, "y")
            with pytest.raises(MissingOutputTopicError, match="letters"):
                engine.run_until_idle()
            assert "letters" not in broker.topics()
