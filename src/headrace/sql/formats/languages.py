"""The languages of schemas: what formats with messages do alike, each in a module that may need an extra."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from headrace.optional import extra_for
from headrace.serde.registry import Schema, SchemaRegistry
from headrace.sql.formats.connect import ConnectSchema
from headrace.sql.formats.contract import Codec
from headrace.sql.formats.format_info import ColumnsFormat
from headrace.sql.schema import Column


class Language(Protocol):
    """A module for one language of schemas."""

    def codec(
        self, columns: Sequence[Column], format_: ColumnsFormat, registry: SchemaRegistry | None, is_key: bool
    ) -> Codec:
        """Rows to bytes and back."""

    def own_schema(self, columns: Sequence[Column], format_: ColumnsFormat) -> Schema:
        """The schema that ksqlDB registers for columns."""

    def names_of(self, schema: Schema) -> list[str]:
        """The full names of the messages that a schema defines; none where it has no name."""

    def connect_schema_of(
        self, schema: Schema, registry: SchemaRegistry | None, format_: ColumnsFormat
    ) -> ConnectSchema:
        """What Connect makes of a registered schema."""


def language(name: str) -> Language:
    """The language of a format; an error that says what to install where its extra is missing."""
    with extra_for(f"the format {name}"):
        if name == "AVRO":
            from headrace.sql.formats import avro  # noqa: PLC0415

            return avro
        if name == "JSON_SR":
            from headrace.sql.formats import json_sr  # noqa: PLC0415

            return json_sr
        from headrace.sql.formats import protobuf  # noqa: PLC0415

        return protobuf


def schema_names(schema: Schema) -> list[str]:
    """The full names of the messages that a registered schema defines, in their order."""
    return language({"JSON": "JSON_SR"}.get(schema.kind, schema.kind)).names_of(schema)
