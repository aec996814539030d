"""Topics in the catalog: made, altered, described, deleted. Their directories belong to whoever writes segments."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from headrace.broker import topic_config
from headrace.broker.port import PartitionDescription, TopicDescription, TopicPartition
from headrace.broker.topic_config import TopicConfig, check_partitions
from headrace.commands import command
from headrace.errors import ArgumentError, TopicExistsError, UnknownTopicError
from headrace.names import check_name
from headrace.near_names import did_you_mean

_DIRECTORY_NAME_LENGTH = 200


@dataclass(frozen=True, slots=True)
class Topic:
    id: int
    name: str
    settings: dict[str, str]
    created_ms: int

    @property
    def directory(self) -> str:
        """The name of its directory; the number keeps a topic apart from a deleted one, and ``A`` from ``a``."""
        return directory_of(self.id, self.name)

    @property
    def config(self) -> TopicConfig:
        return TopicConfig.of(self.settings)


def directory_of(topic_id: int, name: str) -> str:
    return f"{topic_id}-{name[:_DIRECTORY_NAME_LENGTH]}"


def create(
    connection: sqlite3.Connection, name: str, partitions: int, config: Mapping[str, object] | None, now_ms: int
) -> None:
    check_name(name, "topic")
    check_partitions(name, partitions)
    settings = json.dumps(topic_config.checked(config))
    if connection.execute("SELECT 1 FROM topics WHERE name = ?", (name,)).fetchone():
        message = f"topic {name} exists already"
        raise TopicExistsError(message, hint="Use it, delete it first, or choose another name.")
    insert = "INSERT INTO topics (name, config, created_ms) VALUES (?, ?, ?)"
    topic_id = connection.execute(insert, (name, settings, now_ms)).lastrowid
    _add_partitions(connection, topic_id, range(partitions))


def alter(
    connection: sqlite3.Connection, name: str, partitions: int | None, config: Mapping[str, object | None] | None
) -> None:
    topic = find(connection, name)
    if partitions is not None:
        have = partition_count(connection, topic)
        if check_partitions(name, partitions) < have:
            message = f"topic {name} has {have} partitions: it cannot shrink to {partitions}"
            raise ArgumentError(message, hint="Make a new topic and copy the records.")
        _add_partitions(connection, topic.id, range(have, partitions))
    if config:
        changed = {**topic.settings, **config}
        settings = topic_config.checked({name: value for name, value in changed.items() if value is not None})
        connection.execute("UPDATE topics SET config = ? WHERE id = ?", (json.dumps(settings), topic.id))


def find(connection: sqlite3.Connection, name: str) -> Topic:
    row = connection.execute("SELECT id, name, config, created_ms FROM topics WHERE name = ?", (name,)).fetchone()
    if row is None:
        raise _unknown(connection, name)
    return Topic(row[0], row[1], json.loads(row[2]), row[3])


def all_topics(connection: sqlite3.Connection) -> list[Topic]:
    rows = connection.execute("SELECT id, name, config, created_ms FROM topics ORDER BY name").fetchall()
    return [Topic(row[0], row[1], json.loads(row[2]), row[3]) for row in rows]


def partition_count(connection: sqlite3.Connection, topic: Topic) -> int:
    row = connection.execute("SELECT count(*) FROM partitions WHERE topic_id = ?", (topic.id,)).fetchone()
    return int(row[0])


def counts(connection: sqlite3.Connection) -> dict[str, int]:
    question = """SELECT t.name, count(*) FROM topics t JOIN partitions p ON p.topic_id = t.id
                  GROUP BY t.id ORDER BY t.name"""
    return dict(connection.execute(question).fetchall())


def ids(connection: sqlite3.Connection, names: Iterable[str]) -> dict[str, str]:
    wanted = set(names)
    rows = connection.execute("SELECT name, created_ms FROM topics")
    return {name: _id(created_ms) for name, created_ms in rows if name in wanted}


def _id(created_ms: int) -> str:
    """What tells a topic from an earlier one of its name; of a catalog that was restored from a backup, too."""
    return str(created_ms)


def describe(connection: sqlite3.Connection, name: str) -> TopicDescription:
    topic = find(connection, name)
    question = """SELECT p.partition, p.start_offset, p.end_offset,
                         coalesce(sum(s.records), 0), coalesce(sum(s.bytes), 0), count(s.id),
                         p.expired_records, p.expired_ms
                  FROM partitions p LEFT JOIN segments s ON s.partition_id = p.id
                  WHERE p.topic_id = ? GROUP BY p.id ORDER BY p.partition"""
    rows = connection.execute(question, (topic.id,)).fetchall()
    partitions = tuple(PartitionDescription(*row) for row in rows)
    config = {**topic_config.DEFAULTS, **topic.settings}
    return TopicDescription(name, config, partitions, _id(topic.created_ms), topic.created_ms)


def delete(connection: sqlite3.Connection, name: str) -> tuple[Topic, list[str]]:
    """Remove the topic with all that refers to it; the topic, and the files that nobody needs any more."""
    topic = find(connection, name)
    question = "SELECT s.file FROM segments s JOIN partitions p ON p.id = s.partition_id WHERE p.topic_id = ?"
    files = [row[0] for row in connection.execute(question, (topic.id,)) if row[0] is not None]
    connection.execute("DELETE FROM topics WHERE id = ?", (topic.id,))
    return topic, files


def offsets(
    connection: sqlite3.Connection, partitions: Iterable[TopicPartition], column: str
) -> dict[TopicPartition, int]:
    """``start_offset`` or ``end_offset`` of the partitions."""
    wanted = list(partitions)
    found: dict[TopicPartition, int] = {}
    for name in dict.fromkeys(topic for topic, _ in wanted):
        question = f"""SELECT p.partition, p.{column} FROM partitions p JOIN topics t ON t.id = p.topic_id
                       WHERE t.name = ?"""
        rows = connection.execute(question, (name,)).fetchall()
        if not rows:
            raise _unknown(connection, name)
        found.update({(name, partition): offset for partition, offset in rows})
    for topic, partition in wanted:
        if (topic, partition) not in found:
            raise unknown_partition(topic, partition)
    return {tp: found[tp] for tp in wanted}


def unknown_partition(topic: str, partition: int) -> UnknownTopicError:
    """The error for a partition that a topic does not have."""
    message = f"topic {topic} has no partition {partition}"
    return UnknownTopicError(message)


def _unknown(connection: sqlite3.Connection, name: str) -> UnknownTopicError:
    message = f"there is no topic {name!r}"
    names = [row[0] for row in connection.execute("SELECT name FROM topics")]
    catalog = Path(connection.execute("PRAGMA database_list").fetchone()[2])
    shown = f"{command('topics list', f'embedded:{catalog.parent}')} shows those there are."
    return UnknownTopicError(message, hint=did_you_mean(name, names) or shown)


def _add_partitions(connection: sqlite3.Connection, topic_id: int | None, numbers: range) -> None:
    insert = "INSERT INTO partitions (topic_id, partition) VALUES (?, ?)"
    connection.executemany(insert, [(topic_id, number) for number in numbers])
