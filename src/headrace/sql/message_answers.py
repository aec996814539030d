"""Answers as protobuf messages: a schema for the columns, and one message for each row."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from headrace.sql.formats.format_info import PROTOBUF, PROTOBUF_NOSR, UNWRAP_PRIMITIVES, ColumnsFormat
from headrace.sql.formats.languages import language
from headrace.sql.formats.rows import row_serde
from headrace.sql.schema import Column


class MessageAnswers:
    """The rows of one answer as messages. ``schema`` is the text of a .proto file with their definition."""

    def __init__(self, columns: Sequence[Column]) -> None:
        plain = [Column(each.name, each.type) for each in columns]
        given = ColumnsFormat(PROTOBUF, {UNWRAP_PRIMITIVES: "true"})
        self.schema = language(PROTOBUF.name).own_schema(plain, given).text
        self._rows = row_serde(plain, ColumnsFormat(PROTOBUF_NOSR))

    def message(self, row: list[Any]) -> bytes:
        """The bytes of one row."""
        return self._rows.serialize("", row) or b""
