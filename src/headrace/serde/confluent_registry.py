"""A schema registry behind confluent-kafka's client: whatever that can do (TLS, OAuth, retries) works here.

Loaded where the settings of a client are given for a registry; needs the extra ``headrace[registry]``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any, TypeVar

from confluent_kafka.schema_registry import Schema as ClientSchema
from confluent_kafka.schema_registry import SchemaReference as ClientReference
from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.error import SchemaRegistryError

from headrace.errors import ConfigError, SerializationError
from headrace.serde.registry import HINTS, RegisteredSchema, Schema, SchemaReference

T = TypeVar("T")
_NOT_FOUND = 404


class ConfluentSchemaRegistry:
    """Asks the registry that ``settings`` name as confluent-kafka does: ``url``, ``basic.auth.user.info``, ``ssl.*``.

    The client is made where it is first used: other processes get the settings and make their own.
    """

    def __init__(self, settings: Mapping[str, Any]) -> None:
        self._settings = dict(settings)
        self.url = str(self._settings.get("url", ""))
        try:
            self._client  # noqa: B018
        except (ValueError, TypeError) as error:
            # Its text may quote what was given, passwords among it.
            message = "these are no settings of a schema registry's client"
            detail = f"names {', '.join(sorted(self._settings))}"
            raise ConfigError(message, detail=detail, hint="url is needed: see confluent-kafka.") from error

    def __repr__(self) -> str:
        return f"ConfluentSchemaRegistry({self.url!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self._settings,)

    @cached_property
    def _client(self) -> SchemaRegistryClient:
        return SchemaRegistryClient(self._settings)

    def register(self, subject: str, schema: Schema) -> int:
        """The id of ``schema``, registered under ``subject`` unless it is already."""
        return int(
            self._asked(f"to register {subject}", lambda: self._client.register_schema(subject, _theirs(schema)))
        )

    def lookup(self, subject: str, schema: Schema) -> RegisteredSchema:
        """Where ``schema`` stands under ``subject``."""
        found = self._asked(f"for {subject}", lambda: self._client.lookup_schema(subject, _theirs(schema)))
        return RegisteredSchema(int(found.schema_id), subject, int(found.version))

    def schema_by_id(self, schema_id: int) -> Schema:
        """The schema with that id; the client remembers it."""
        return _ours(self._asked(f"for schema id {schema_id}", lambda: self._client.get_schema(schema_id)))

    def schema_by_version(self, subject: str, version: int) -> Schema:
        """One version of ``subject``."""
        what = f"for version {version} of {subject}"
        return _ours(self._asked(what, lambda: self._client.get_version(subject, version)).schema)

    def latest(self, subject: str) -> tuple[int, Schema] | None:
        """The id and the text of the latest version of ``subject``."""
        try:
            found = self._asked(f"for {subject}", lambda: self._client.get_latest_version(subject))
        except SerializationError as error:
            if isinstance(error.__cause__, SchemaRegistryError) and error.__cause__.http_status_code == _NOT_FOUND:
                return None
            raise
        return int(found.schema_id), _ours(found.schema)

    def _asked(self, what: str, ask: Callable[[], T]) -> T:
        try:
            return ask()
        except SchemaRegistryError as error:
            message = f"the schema registry at {self.url} answered {error.http_status_code} when asked {what}"
            reason = str(error.error_message)[:500] or None
            raise SerializationError(message, detail=reason, hint=HINTS.get(error.http_status_code)) from error
        except Exception as error:
            message = f"the schema registry at {self.url} cannot be reached: {type(error).__name__}: {error}"
            raise SerializationError(message, hint="Check its address and that it runs.") from error


def _theirs(schema: Schema) -> ClientSchema:
    references = [ClientReference(each.name, each.subject, each.version) for each in schema.references]
    return ClientSchema(schema.text, schema.kind, references)


def _ours(schema: ClientSchema) -> Schema:
    references = tuple(
        SchemaReference(str(each.name), str(each.subject), int(each.version or 0)) for each in schema.references or ()
    )
    return Schema(schema.schema_str or "", schema.schema_type or "AVRO", references)
