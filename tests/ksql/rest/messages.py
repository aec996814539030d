"""Answers as messages, written as text to be compared."""

from __future__ import annotations

from typing import Any

from google.protobuf import text_format

from headrace.serde.registry import Schema
from headrace.sql.formats.protobuf_files import load_schema
from headrace.sql.message_answers import MessageAnswers
from headrace.sql.schema import Column


def as_messages(
    columns: tuple[Column, ...], rows: list[list[Any]], final: dict[str, Any] | None
) -> list[dict[str, Any]]:
    """The lines of a response: the schema, a message for each row, and the last word if there is one."""
    answers = MessageAnswers(columns)
    loaded = load_schema(Schema(answers.schema, "PROTOBUF"), None)
    _, _, message = loaded.message(loaded.at((0,)))
    texts = [text_format.MessageToString(message.FromString(answers.message(row))) for row in rows]
    lines: list[dict[str, Any]] = [{"header": {"protoSchema": answers.schema}}]
    return [*lines, *({"row": text} for text in texts), *([] if final is None else [final])]
