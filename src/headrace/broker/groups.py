"""Consumer groups: how far each has read. Deleting a topic also deletes what was committed for it."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from typing import TYPE_CHECKING

from headrace.broker import topics
from headrace.broker.port import OffsetAndMetadata, TopicPartition
from headrace.errors import ArgumentError
from headrace.records import offsets_by_partition

if TYPE_CHECKING:
    from headrace.broker.log import Partition


def commit(
    connection: sqlite3.Connection, group: str, offsets: Mapping[TopicPartition, OffsetAndMetadata], now_ms: int
) -> None:
    topics.offsets(connection, offsets, "end_offset")
    insert = """INSERT OR REPLACE INTO group_offsets (group_id, topic_id, partition, offset, metadata, committed_ms)
                SELECT ?, id, ?, ?, ?, ? FROM topics WHERE name = ?"""
    for (topic, partition), (offset, metadata) in offsets.items():
        if offset < 0:
            message = f"group {group} cannot commit the offset {offset} of {topic}-{partition}"
            raise ArgumentError(message)
        connection.execute(insert, (group, partition, offset, metadata, now_ms, topic))


def committed(connection: sqlite3.Connection, group: str) -> dict[TopicPartition, OffsetAndMetadata]:
    question = """SELECT t.name, g.partition, g.offset, g.metadata FROM group_offsets g
                  JOIN topics t ON t.id = g.topic_id WHERE g.group_id = ? ORDER BY t.name, g.partition"""
    rows = connection.execute(question, (group,)).fetchall()
    return offsets_by_partition(rows)


def names(connection: sqlite3.Connection) -> list[str]:
    rows = connection.execute("SELECT DISTINCT group_id FROM group_offsets ORDER BY group_id").fetchall()
    return [row[0] for row in rows]


def lag(connection: sqlite3.Connection, group: str) -> dict[TopicPartition, int]:
    """How many offsets the group is behind, per partition of the topics it reads; all of those it has not begun."""
    question = """SELECT t.name, p.partition, max(0, p.end_offset - max(coalesce(g.offset, 0), p.start_offset))
                  FROM topics t JOIN partitions p ON p.topic_id = t.id
                  LEFT JOIN group_offsets g ON g.group_id = ? AND g.topic_id = t.id AND g.partition = p.partition
                  WHERE t.id IN (SELECT topic_id FROM group_offsets WHERE group_id = ?)
                  ORDER BY t.name, p.partition"""
    rows = connection.execute(question, (group, group))
    return {(topic, partition): behind for topic, partition, behind in rows}


def read_by_all(connection: sqlite3.Connection, partition: Partition) -> int | None:
    """The offset up to which every group has read the partition; None where no group reads it.

    An application that reads the topic will read every partition of it, so one that it has not begun counts from its
    start. Another group may have chosen the partitions it reads.
    """
    question = """SELECT min(offset) FROM (
                      SELECT offset FROM group_offsets WHERE topic_id = ?1 AND partition = ?2
                      UNION ALL
                      SELECT 0 FROM group_offsets g JOIN applications a ON a.name = g.group_id
                      WHERE g.topic_id = ?1 AND NOT EXISTS (
                          SELECT 1 FROM group_offsets h
                          WHERE h.group_id = g.group_id AND h.topic_id = ?1 AND h.partition = ?2))"""
    found: int | None = connection.execute(question, (partition.topic_id, partition.partition)).fetchone()[0]
    return found


def delete(connection: sqlite3.Connection, group: str) -> None:
    connection.execute("DELETE FROM group_offsets WHERE group_id = ?", (group,))
