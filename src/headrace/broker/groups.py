"""Consumer groups: how far each has read. A deleted topic takes what was committed for it along."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping

from headrace.broker import topics
from headrace.broker.port import OffsetAndMetadata, TopicPartition
from headrace.errors import ArgumentError
from headrace.names import problem_with


def check_name(name: object, what: str) -> None:
    """Refuse a name that could not be that of a group or an application in Kafka and in a directory."""
    problem = problem_with(name)
    if problem is not None:
        message = f"the {what} name {str(name)[:80]!r} is illegal: {problem}"
        raise ArgumentError(message, hint="Choose a plain one, such as 'my-name'.")


def commit(
    connection: sqlite3.Connection, group: str, offsets: Mapping[TopicPartition, OffsetAndMetadata], now_ms: int
) -> None:
    """Note how far the group has read."""
    topics.offsets(connection, offsets, "end_offset")
    insert = """INSERT OR REPLACE INTO group_offsets (group_id, topic_id, partition, offset, metadata, committed_ms)
                SELECT ?, id, ?, ?, ?, ? FROM topics WHERE name = ?"""
    for (topic, partition), (offset, metadata) in offsets.items():
        if offset < 0:
            message = f"group {group} cannot commit the offset {offset} of {topic}-{partition}"
            raise ArgumentError(message)
        connection.execute(insert, (group, partition, offset, metadata, now_ms, topic))


def committed(connection: sqlite3.Connection, group: str) -> dict[TopicPartition, OffsetAndMetadata]:
    """What the group committed."""
    question = """SELECT t.name, g.partition, g.offset, g.metadata FROM group_offsets g
                  JOIN topics t ON t.id = g.topic_id WHERE g.group_id = ? ORDER BY t.name, g.partition"""
    rows = connection.execute(question, (group,)).fetchall()
    return {(topic, partition): OffsetAndMetadata(offset, metadata) for topic, partition, offset, metadata in rows}


def names(connection: sqlite3.Connection) -> list[str]:
    """The groups that committed something."""
    rows = connection.execute("SELECT DISTINCT group_id FROM group_offsets ORDER BY group_id").fetchall()
    return [row[0] for row in rows]


def lag(connection: sqlite3.Connection, group: str) -> dict[TopicPartition, int]:
    """How many offsets the group is behind, per partition it committed."""
    question = """SELECT t.name, g.partition, max(0, p.end_offset - max(g.offset, p.start_offset))
                  FROM group_offsets g JOIN topics t ON t.id = g.topic_id
                  JOIN partitions p ON p.topic_id = t.id AND p.partition = g.partition
                  WHERE g.group_id = ? ORDER BY t.name, g.partition"""
    return {(topic, partition): behind for topic, partition, behind in connection.execute(question, (group,))}


def delete(connection: sqlite3.Connection, group: str) -> None:
    """Forget the group."""
    connection.execute("DELETE FROM group_offsets WHERE group_id = ?", (group,))
