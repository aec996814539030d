"""Schema registries: who keeps the schemas that framed Avro and Protobuf records point to.

``HttpSchemaRegistry`` talks to a registry with Confluent's interface and needs no package; with the settings of
confluent-kafka's client it is that client which does. ``InMemorySchemaRegistry`` is for tests.
Anything with the methods of ``SchemaRegistry`` will do.
"""

from __future__ import annotations

import base64
import json
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeAlias

from headrace.errors import ConfigError, SerializationError
from headrace.optional import extra_for

_CONTENT_TYPE = "application/vnd.schemaregistry.v1+json"
_NOT_FOUND = 404
_MAX_ANSWER_BYTES = 16 * 1024 * 1024

SubjectName = Callable[[str, bool, str], str]
"""``(topic, is_key, record_name)``: the subject under which a schema is registered."""


@dataclass(frozen=True, slots=True)
class SchemaReference:
    """A schema that another one imports: its name there, and where it is registered."""

    name: str
    subject: str
    version: int


@dataclass(frozen=True, slots=True)
class Schema:
    """The text of a schema, and what language it is in."""

    text: str
    kind: str = "AVRO"
    references: tuple[SchemaReference, ...] = ()


@dataclass(frozen=True, slots=True)
class RegisteredSchema:
    """Where a schema stands in the registry."""

    schema_id: int
    subject: str
    version: int


class SchemaRegistry(Protocol):
    """What serdes ask of a registry. Every method raises SerializationError when it cannot answer."""

    def register(self, subject: str, schema: Schema) -> int:
        """The id of ``schema``, which becomes the latest version of ``subject`` unless it is there already."""

    def lookup(self, subject: str, schema: Schema) -> RegisteredSchema:
        """Where ``schema`` stands under ``subject``; an error when it is not there."""

    def schema_by_id(self, schema_id: int) -> Schema: ...

    def schema_by_version(self, subject: str, version: int) -> Schema:
        """One version of ``subject``: what a reference points to."""

    def latest(self, subject: str) -> tuple[int, Schema] | None:
        """The id and the text of the latest version of ``subject``; None where there is no such subject."""


RegistryGiven: TypeAlias = "SchemaRegistry | str | Mapping[str, Any] | None"
"""An object, a URL, or the settings of confluent-kafka's client."""


def topic_subject(topic: str, is_key: bool, record_name: str) -> str:
    """``topic-key`` or ``topic-value``: Confluent's default."""
    return f"{topic}-{'key' if is_key else 'value'}"


def record_subject(topic: str, is_key: bool, record_name: str) -> str:
    """The full name of the record, whatever the topic."""
    return record_name


def topic_record_subject(topic: str, is_key: bool, record_name: str) -> str:
    """Topic and full name of the record: several kinds of record may share a topic."""
    return f"{topic}-{record_name}"


def registry_of(registry: RegistryGiven) -> SchemaRegistry | None:
    """``registry``, or the one behind a URL or behind the settings of confluent-kafka's client."""
    if isinstance(registry, str):
        return HttpSchemaRegistry(registry)
    if isinstance(registry, Mapping):
        with extra_for("a schema registry with the settings of a client"):
            from headrace.serde.confluent_registry import ConfluentSchemaRegistry  # noqa: PLC0415
        return ConfluentSchemaRegistry(registry)
    return registry


@dataclass(slots=True)
class InMemorySchemaRegistry:
    """A registry in this process, for tests."""

    _ids: dict[Schema, int] = field(default_factory=dict)
    _subjects: dict[str, list[Schema]] = field(default_factory=dict)
    _chosen: dict[tuple[str, Schema], int] = field(default_factory=dict)
    """Ids that were chosen elsewhere, where one schema may have several."""

    def register(self, subject: str, schema: Schema) -> int:
        versions = self._subjects.setdefault(subject, [])
        if schema not in versions:
            versions.append(schema)
        if schema not in self._ids:
            self._ids[schema] = max((*self._ids.values(), *self._chosen.values()), default=0) + 1
        return self._id(subject, schema)

    def _id(self, subject: str, schema: Schema) -> int:
        return self._chosen.get((subject, schema), self._ids[schema])

    def lookup(self, subject: str, schema: Schema) -> RegisteredSchema:
        versions = self._subjects.get(subject, [])
        if schema not in versions:
            message = f"the schema is not registered under subject {subject}"
            raise SerializationError(message, hint="Register it, or leave auto_register on.")
        return RegisteredSchema(self._id(subject, schema), subject, versions.index(schema) + 1)

    def schema_by_id(self, schema_id: int) -> Schema:
        chosen = ((schema, known_id) for (_, schema), known_id in self._chosen.items())
        for schema, known_id in (*chosen, *self._ids.items()):
            if known_id == schema_id:
                return schema
        message = f"the registry has no schema with id {schema_id}"
        raise SerializationError(message)

    def schema_by_version(self, subject: str, version: int) -> Schema:
        versions = self._subjects.get(subject, [])
        if not 1 <= version <= len(versions):
            message = f"the registry has no version {version} of subject {subject}"
            raise SerializationError(message)
        return versions[version - 1]

    def latest(self, subject: str) -> tuple[int, Schema] | None:
        versions = self._subjects.get(subject)
        return (self._id(subject, versions[-1]), versions[-1]) if versions else None

    def register_as(self, subject: str, schema: Schema, schema_id: int) -> None:
        """Register a schema under an id that was chosen elsewhere."""
        self._ids.setdefault(schema, schema_id)
        self._chosen[subject, schema] = schema_id
        self.register(subject, schema)

    @property
    def subjects(self) -> tuple[str, ...]:
        return tuple(self._subjects)


class HttpSchemaRegistry:
    """A registry with Confluent's HTTP interface. Schemas are remembered by id, which always means the same one.

    ``auth`` is ``(user, password)`` for basic authentication or a bearer token; ``timeout`` is in seconds.
    Redirects are not followed.
    """

    def __init__(self, url: str, *, auth: tuple[str, str] | str | None = None, timeout: float = 10.0) -> None:
        parts = urllib.parse.urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            message = f"the address of a schema registry must be http://... or https://..., found {url!r}"
            raise ConfigError(message)
        if parts.username is not None:
            raise ConfigError(
                "the address of a schema registry must not hold a user or password",
                hint="Give them apart: HttpSchemaRegistry(url, auth=(user, password)).",
            )
        self.url = url.rstrip("/")
        self.timeout = timeout
        self._authorization = _authorization(auth)
        self._schemas: dict[int, Schema] = {}

    def __repr__(self) -> str:
        return f"HttpSchemaRegistry({self.url!r})"

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_schemas": {}}

    def register(self, subject: str, schema: Schema) -> int:
        return _whole(self._call("POST", f"/subjects/{_quoted(subject)}/versions", _schema_body(schema)), "id")

    def lookup(self, subject: str, schema: Schema) -> RegisteredSchema:
        answer = self._call("POST", f"/subjects/{_quoted(subject)}", _schema_body(schema))
        return RegisteredSchema(_whole(answer, "id"), subject, _whole(answer, "version"))

    def schema_by_id(self, schema_id: int) -> Schema:
        if schema_id not in self._schemas:
            answer = self._call("GET", f"/schemas/ids/{schema_id}")
            self._schemas[schema_id] = _schema_of(answer)
        return self._schemas[schema_id]

    def schema_by_version(self, subject: str, version: int) -> Schema:
        return _schema_of(self._call("GET", f"/subjects/{_quoted(subject)}/versions/{version}"))

    def latest(self, subject: str) -> tuple[int, Schema] | None:
        try:
            answer = self._call("GET", f"/subjects/{_quoted(subject)}/versions/latest")
        except SerializationError as error:
            if isinstance(error.__cause__, urllib.error.HTTPError) and error.__cause__.code == _NOT_FOUND:
                return None
            raise
        return _whole(answer, "id"), _schema_of(answer)

    def _call(self, method: str, path: str, body: dict[str, Any] | None = None) -> dict[str, Any]:
        request = urllib.request.Request(
            self.url + path,
            data=None if body is None else json.dumps(body).encode(),
            method=method,
            headers={"Accept": _CONTENT_TYPE, "Content-Type": _CONTENT_TYPE, **self._authorization},
        )
        try:
            with _OPENER.open(request, timeout=self.timeout) as answer:
                return _json_object(answer.read(_MAX_ANSWER_BYTES + 1))
        except urllib.error.HTTPError as error:
            with error:
                raise self._refused(request, error) from error
        except OSError as error:
            message = f"the schema registry at {self.url} cannot be reached: {error}"
            raise SerializationError(message, hint="Check its address and that it runs.") from error

    def _refused(self, request: urllib.request.Request, error: urllib.error.HTTPError) -> SerializationError:
        message = f"the schema registry at {self.url} answered {error.code} to {request.method} {request.selector}"
        reason = error.read(_MAX_ANSWER_BYTES).decode("utf-8", "replace")
        return SerializationError(message, detail=reason[:500] or None, hint=HINTS.get(error.code))


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    # A registry that redirects could lead requests, with their credentials, anywhere.
    def redirect_request(self, *_: Any) -> None:
        return None


_OPENER = urllib.request.build_opener(_NoRedirects)

HINTS = {
    401: "Give the registry credentials: HttpSchemaRegistry(url, auth=(user, password)).",
    403: "These credentials may not do that.",
    409: "The schema is incompatible with the versions registered before.",
}


def _authorization(auth: tuple[str, str] | str | None) -> dict[str, str]:
    if auth is None:
        return {}
    if isinstance(auth, str):
        return {"Authorization": f"Bearer {auth}"}
    return {"Authorization": "Basic " + base64.b64encode(":".join(auth).encode()).decode()}


def _quoted(subject: str) -> str:
    return urllib.parse.quote(subject, safe="")


def _schema_body(schema: Schema) -> dict[str, Any]:
    body: dict[str, Any] = {"schema": schema.text}
    # Older registries know no other kind than Avro and refuse the field.
    if schema.kind != "AVRO":
        body["schemaType"] = schema.kind
    if schema.references:
        body["references"] = [
            {"name": reference.name, "subject": reference.subject, "version": reference.version}
            for reference in schema.references
        ]
    return body


def _schema_of(answer: dict[str, Any]) -> Schema:
    references = tuple(
        SchemaReference(reference["name"], reference["subject"], reference["version"])
        for reference in answer.get("references") or ()
    )
    return Schema(str(answer.get("schema", "")), str(answer.get("schemaType") or "AVRO"), references)


def _json_object(data: bytes) -> dict[str, Any]:
    if len(data) > _MAX_ANSWER_BYTES:
        message = f"the schema registry's answer is larger than {_MAX_ANSWER_BYTES} bytes"
        raise SerializationError(message)
    try:
        answer = json.loads(data)
    except ValueError as error:
        message = f"the schema registry's answer is no JSON: {error}"
        raise SerializationError(message, hint="Is the address that of a schema registry?") from error
    if not isinstance(answer, dict):
        raise SerializationError("the schema registry's answer is no JSON object")
    return answer


def _whole(answer: dict[str, Any], name: str) -> int:
    value = answer.get(name)
    if not isinstance(value, int):
        message = f"the schema registry's answer has no {name}"
        raise SerializationError(message, detail=f"fields {sorted(answer)}")
    return value
