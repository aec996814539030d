"""Rows of answers as protobuf messages."""

from __future__ import annotations

from headrace.sql.message_answers import MessageAnswers
from headrace.sql.schema import Column, Part
from headrace.sql.tree.types import BIGINT, INTEGER, STRING, Map


def test_a_schema_says_what_the_messages_are() -> None:
    answers = MessageAnswers((Column("ID", BIGINT, Part.KEY), Column("M", Map(STRING, INTEGER))))
    assert "message ConnectDefault1 {\n  int64 ID = 1;\n  repeated ConnectDefault2Entry M = 2;" in answers.schema
    # Field 1 is the number 7; field 2 is an entry with the key "a" and the value 1.
    assert answers.message([7, {"a": 1}]) == b"\x08\x07\x12\x05\n\x01a\x10\x01"
    assert answers.message([None, None]) == b""
