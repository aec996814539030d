"""Answers as messages, written as text to be compared."""

from __future__ import annotations

from typing import Any

from google.protobuf import text_format

from headrace.serde.registry import Schema
from headrace.sql.formats.format_info import PROTOBUF, PROTOBUF_NOSR, UNWRAP_PRIMITIVES, ColumnsFormat
from headrace.sql.formats.protobuf import own_schema
from headrace.sql.formats.protobuf_files import load_schema
from headrace.sql.formats.rows import row_serde
from headrace.sql.schema import Column


def as_messages(
    columns: tuple[Column, ...], rows: list[list[Any]], final: dict[str, Any] | None
) -> list[dict[str, Any]]:
    """The lines of a response: the schema, a message for each row, and the last word if there is one."""
    plain = [Column(each.name, each.type) for each in columns]
    schema = own_schema(plain, ColumnsFormat(PROTOBUF, {UNWRAP_PRIMITIVES: "true"})).text
    serde = row_serde(plain, ColumnsFormat(PROTOBUF_NOSR))
    loaded = load_schema(Schema(schema, "PROTOBUF"), None)
    _, _, message = loaded.message(loaded.at((0,)))
    texts = [text_format.MessageToString(message.FromString(serde.serialize("", row) or b"")) for row in rows]
    lines: list[dict[str, Any]] = [{"header": {"protoSchema": schema}}]
    return [*lines, *({"row": text} for text in texts), *([] if final is None else [final])]
