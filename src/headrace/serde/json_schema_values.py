"""The serde of JSON under a registered JSON Schema. Loaded by ``serdes.json_schema()``."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from headrace.errors import ConfigError, SerializationError
from headrace.serde.framing import frame, unframe
from headrace.serde.json_values import JsonSerde
from headrace.serde.registered import RegisteredSerde
from headrace.serde.registry import RegistryGiven, Schema, registry_of

_KIND = "JSON"
_JSON = JsonSerde()


@dataclass(frozen=True, slots=True)
class JsonSchemaSerde(RegisteredSerde):
    """JSON behind the id of its schema. Values are not held against the schema: the registry only knows it.

    With ``schema`` None it can only read. ``auto_register`` off takes only schemas the registry has already.
    """

    schema: str | None
    _known: set[int] = field(default_factory=set, init=False, repr=False, compare=False)
    """Ids that are those of JSON Schemas."""

    def serialize(self, topic: str, value: Any) -> bytes | None:
        """``value`` as JSON."""
        if value is None:
            return None
        if self.schema is None:
            raise SerializationError(
                "json_schema(None, registry) can only read", hint="Give it a schema to write with."
            )
        text = self.schema
        assert self.registry is not None, "json_schema() is made with one"
        schema_id = self._id_of(self.registry, topic, lambda: (_title(text), Schema(text, _KIND)))
        return frame(schema_id, _JSON.serialize(topic, value) or b"")

    def deserialize(self, topic: str, data: bytes | None) -> Any:
        """What was written, as Python has it."""
        if data is None:
            return None
        schema_id, payload = unframe(data)
        if schema_id not in self._known:
            assert self.registry is not None, "json_schema() is made with one"
            kind = self.registry.schema_by_id(schema_id).kind
            if kind != _KIND:
                message = f"expected a record with a JSON Schema, found one with {kind} (schema id {schema_id})"
                raise SerializationError(message, hint="Give the topic the serde it was written with.")
            self._known.add(schema_id)
        return _JSON.deserialize(topic, payload)


def json_schema_serde(schema: Any, registry: RegistryGiven, **options: Any) -> JsonSchemaSerde:
    """The serde of ``schema``, checked; ``options`` are the further fields of JsonSchemaSerde."""
    found = registry_of(registry)
    if found is None:
        raise ConfigError("json_schema() needs a registry", hint="Without one JSON has no schema: serdes.json().")
    text = schema if schema is None or isinstance(schema, str) else json.dumps(schema)
    if text is not None:
        _check(text)
    return JsonSchemaSerde(text, registry=found, **options)


def _check(text: str) -> None:
    try:
        is_right = isinstance(json.loads(text), dict)
    except ValueError:
        is_right = False
    if not is_right:
        raise ConfigError("this is no JSON Schema: it must be a JSON object", detail=f"schema {text[:200]}")


def _title(text: str) -> str:
    return str(json.loads(text).get("title", ""))
