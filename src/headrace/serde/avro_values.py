"""The serde of Avro, over fastavro. Loaded by ``serdes.avro()``; needs the extra ``headrace[avro]``."""

from __future__ import annotations

import io
import json
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import fastavro

from headrace.errors import ConfigError, SerializationError
from headrace.serde.contract import shorten, shorten_text
from headrace.serde.framing import frame, unframe
from headrace.serde.registered import RegisteredSerde
from headrace.serde.registry import RegistryGiven, Schema, SchemaRegistry, registry_of


@dataclass(frozen=True, slots=True)
class AvroSerde(RegisteredSerde):
    """Avro records as dicts, other Avro types as Python has them.

    With a registry, a value is written with ``schema`` and read with the schema it was written with, resolved to
    ``schema``; with ``schema`` None it comes as it was written, and nothing can be written. Without a registry
    writer and reader must use the same schema. ``auto_register`` off takes only schemas the registry has already.
    """

    schema: str | None
    _writers: dict[int, Any] = field(default_factory=dict, init=False, repr=False, compare=False)
    """Parsed schemas by id."""

    def serialize(self, topic: str, value: Any) -> bytes | None:
        if value is None:
            return None
        if self.schema is None:
            raise SerializationError("avro(None, registry) can only read", hint="Give it the schema to write with.")
        text, payload = self.schema, _write(self.schema, value)
        if self.registry is None:
            return payload
        return frame(self._id_of(self.registry, topic, lambda: (_record_name(text), Schema(text))), payload)

    def deserialize(self, topic: str, data: bytes | None) -> Any:
        if data is None:
            return None
        if self.registry is None:
            return _read(_parsed(self.schema), None, data)
        schema_id, payload = unframe(data)
        reader = None if self.schema is None else _parsed(self.schema)
        return _read(self._written_with(self.registry, schema_id), reader, payload)

    def _written_with(self, registry: SchemaRegistry, schema_id: int) -> Any:
        if schema_id not in self._writers:
            schema = registry.schema_by_id(schema_id)
            if schema.kind != "AVRO":
                message = f"expected a record with an Avro schema, found one with {schema.kind} (schema id {schema_id})"
                raise SerializationError(message, hint="Give the topic the serde it was written with.")
            self._writers[schema_id] = _parse_with_references(registry, schema, {})
        return self._writers[schema_id]


def _parse_with_references(registry: SchemaRegistry, schema: Schema, named: dict[str, Any]) -> Any:
    for reference in schema.references:
        _parse_with_references(registry, registry.schema_by_version(reference.subject, reference.version), named)
    return fastavro.parse_schema(_loaded(schema.text), named)


def avro_serde(schema: Any, registry: RegistryGiven = None, **options: Any) -> AvroSerde:
    """The serde of ``schema``, checked; ``options`` are the further fields of AvroSerde."""
    if schema is None and registry is None:
        raise ConfigError("avro() needs a schema or a registry", hint="serdes.avro({...}) or serdes.avro(None, url).")
    text = schema if schema is None or isinstance(schema, str) else json.dumps(schema)
    if text is not None:
        _check_schema(text)
    return AvroSerde(text, registry=registry_of(registry), **options)


def _check_schema(text: str) -> None:
    try:
        _parsed(text)
    except Exception as error:
        message = f"this is no Avro schema: {type(error).__name__}: {error}"
        raise ConfigError(message, detail=f"schema {shorten(text, 200)}") from error


@lru_cache(maxsize=1024)
def _parsed(text: str | None) -> Any:
    assert text is not None, "a serde without a schema has a registry"
    return fastavro.parse_schema(_loaded(text))


def _loaded(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        # Registries hand out primitive schemas also bare: string instead of "string".
        return text.strip()


def _record_name(text: str) -> str:
    schema = _parsed(text)
    return str(schema.get("name", schema.get("type"))) if isinstance(schema, dict) else str(schema)


def _write(schema: str, value: Any) -> bytes:
    out = io.BytesIO()
    try:
        fastavro.schemaless_writer(out, _parsed(schema), value, strict_allow_default=True)
    except Exception as error:
        message = (
            f"avro() expected a value of its schema, found {type(value).__name__}: {_reason(schema, value, error)}"
        )
        raise SerializationError(message, detail=f"found {shorten(value)}", hint=_FIELDS_HINT) from error
    return out.getvalue()


_FIELDS_HINT = "A record is a dict with exactly the schema's fields; those with a default may be missing."


def _reason(schema: str, value: Any, error: Exception) -> str:
    """Fastavro's writer says little about a value that does not fit; its validator says more."""
    try:
        fastavro.validation.validate(value, _parsed(schema), raise_errors=True)
    except fastavro.validation.ValidationError as found:
        return shorten_text("; ".join(map(str, found.errors)))
    return f"{type(error).__name__}: {error}"


def _read(writer: Any, reader: Any, data: bytes) -> Any:
    source = io.BytesIO(data)
    try:
        value = fastavro.schemaless_reader(source, writer, reader)
    except Exception as error:
        message = f"avro() cannot read the bytes with its schema: {type(error).__name__}: {error}"
        raise SerializationError(message, detail=f"bytes {shorten(bytes(data))}", hint=_READ_HINT) from error
    if source.tell() != len(data):
        message = f"avro() read {source.tell()} of {len(data)} bytes: they were not written with its schema"
        raise SerializationError(message, detail=f"bytes {shorten(bytes(data))}", hint=_READ_HINT)
    return value


_READ_HINT = "Was the topic written with another schema, or with a schema registry? Then give the registry."
