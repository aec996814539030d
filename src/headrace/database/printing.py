"""PRINT: the records of a topic as text, as they come."""

from __future__ import annotations

import time
from collections.abc import Iterator

from headrace.broker.port import Log
from headrace.client.reading import merged
from headrace.database.answers import Row
from headrace.near_names import did_you_mean
from headrace.records import RawRecord
from headrace.sql.errors import SqlError
from headrace.sql.schema import Column
from headrace.sql.tree.statements import Print
from headrace.sql.tree.types import BIGINT, INTEGER, STRING, TIMESTAMP

PRINTED = (
    Column("ROWTIME", TIMESTAMP),
    Column("KEY", STRING),
    Column("VALUE", STRING),
    Column("PARTITION", INTEGER),
    Column("OFFSET", BIGINT),
)
_POLL_SECONDS = 0.05


class PrintedRecords:
    """The records of one topic from now on, or from the beginning."""

    def __init__(self, statement: Print, log: Log) -> None:
        partitions = log.topics().get(statement.topic)
        if partitions is None:
            hint = did_you_mean(statement.topic, log.topics(), shown=str) or "SHOW TOPICS; lists those there are."
            message = f"there is no topic {statement.topic}"
            raise SqlError("name.topic", message, hint=hint)
        self._statement, self._log = statement, log
        named = [(statement.topic, number) for number in range(partitions)]
        self._positions = log.start_offsets(named) if statement.from_beginning else log.end_offsets(named)
        self._is_closed = False

    def __iter__(self) -> Iterator[Row]:
        left, every = self._statement.limit, self._statement.interval or 1
        for number, record in enumerate(self._records()):
            if number % every:
                continue
            if left is not None and (left := left - 1) < 0:
                return
            yield Row([record[3], shown(record[4]), shown(record[5]), record[1], record[2]])
            if left == 0:
                return

    def close(self) -> None:
        """No more records are wanted."""
        self._is_closed = True

    def _records(self) -> Iterator[RawRecord]:
        while not self._is_closed:
            ends = self._log.end_offsets(self._positions)
            if ends == self._positions:
                time.sleep(_POLL_SECONDS)
            else:
                yield from merged(self._log, self._positions, ends)
                self._positions = ends


def shown(data: bytes | None) -> str | None:
    r"""Bytes as text: as UTF-8 where they are that, else as hexadecimal digits.

    >>> shown(b"caf\xc3\xa9"), shown(b"\x00\x00\x00\x2a"), shown(None)
    ('café', '0x0000002a', None)
    """
    if data is None:
        return None
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return f"0x{data.hex()}"
    is_text = all(each.isprintable() or each in "\t\r\n" for each in text)
    return text if is_text else f"0x{data.hex()}"
