"""The client of schema registries, against real HTTP."""

from __future__ import annotations

import pickle
from collections.abc import Iterator

import pytest

from headrace.errors import ConfigError, SerializationError
from headrace.serde.registry import (
    HttpSchemaRegistry,
    InMemorySchemaRegistry,
    RegisteredSchema,
    Schema,
    SchemaReference,
)
from tests.unit.serde.registry_server import RegistryServer, registry_server


@pytest.fixture
def server() -> Iterator[RegistryServer]:
    with registry_server() as running:
        yield running


REFERRING = Schema("message", "PROTOBUF", (SchemaReference("other.proto", "other/subject", 1),))


def test_schemas_are_registered_found_and_read_back(server: RegistryServer) -> None:
    registry = HttpSchemaRegistry(server.url + "/")

    first = registry.register("t-value", Schema('"long"'))
    second = registry.register("other/subject", REFERRING)

    assert registry.lookup("other/subject", REFERRING) == RegisteredSchema(second, "other/subject", 1)
    assert registry.schema_by_id(first) == Schema('"long"')
    assert registry.schema_by_id(second) == REFERRING
    assert registry.schema_by_version("other/subject", 1) == REFERRING


def test_the_latest_version_of_a_subject_is_found(server: RegistryServer) -> None:
    registry = HttpSchemaRegistry(server.url)
    assert registry.latest("t-value") is None
    registry.register("t-value", Schema('"long"'))
    assert registry.latest("t-value") == (1, Schema('"long"'))
    registry.register("t-value", Schema('"string"'))
    assert registry.latest("t-value") == (2, Schema('"string"'))
    server.answer = (500, b"broken")
    with pytest.raises(SerializationError, match="answered 500"):
        registry.latest("t-value")


def test_a_schema_is_fetched_once(server: RegistryServer) -> None:
    registry = HttpSchemaRegistry(server.url)
    schema_id = registry.register("t-value", Schema('"long"'))

    registry.schema_by_id(schema_id)
    registry.schema_by_id(schema_id)

    assert [path for method, path, _ in server.requests if method == "GET"] == [f"/schemas/ids/{schema_id}"]


@pytest.mark.parametrize(
    ("auth", "header"),
    [(None, None), (("user", "pass"), "Basic dXNlcjpwYXNz"), ("token", "Bearer token")],
)
def test_credentials_are_sent_and_not_shown(
    server: RegistryServer, auth: tuple[str, str] | str | None, header: str | None
) -> None:
    registry = HttpSchemaRegistry(server.url, auth=auth)
    registry.register("t-value", Schema('"long"'))

    assert server.requests[0][2] == header
    assert "pass" not in repr(registry)
    assert "token" not in repr(registry)


def test_what_the_registry_refuses_is_an_error_with_its_words(server: RegistryServer) -> None:
    with pytest.raises(SerializationError, match="answered 404 to GET /schemas/ids/99") as raised:
        HttpSchemaRegistry(server.url).schema_by_id(99)
    assert "no schema with id 99" in str(raised.value.detail)


def test_an_incompatible_schema_gets_a_hint(server: RegistryServer) -> None:
    server.answer = (409, b"")
    with pytest.raises(SerializationError, match="answered 409") as raised:
        HttpSchemaRegistry(server.url).register("t-value", Schema('"long"'))
    assert "incompatible" in str(raised.value.hint)


def test_redirects_are_not_followed(server: RegistryServer) -> None:
    server.answer = (302, b"")
    with pytest.raises(SerializationError, match="answered 302"):
        HttpSchemaRegistry(server.url, auth="token").schema_by_id(1)
    assert len(server.requests) == 1


@pytest.mark.parametrize("answer", [b"<html>", b"[]", b"{}"])
def test_an_answer_that_is_not_a_registrys_is_an_error(server: RegistryServer, answer: bytes) -> None:
    server.answer = (200, answer)
    with pytest.raises(SerializationError, match="the schema registry's answer"):
        HttpSchemaRegistry(server.url).register("t-value", Schema('"long"'))


def test_a_registry_that_does_not_run_is_an_error() -> None:
    with registry_server() as stopped:
        url = stopped.url
    with pytest.raises(SerializationError, match="cannot be reached"):
        HttpSchemaRegistry(url, timeout=1).schema_by_id(1)


@pytest.mark.parametrize("url", ["file:///etc/passwd", "registry:8081", "http://", "ftp://host"])
def test_only_web_addresses_are_registries(url: str) -> None:
    with pytest.raises(ConfigError, match="must be http"):
        HttpSchemaRegistry(url)


def test_credentials_do_not_belong_into_the_address() -> None:
    with pytest.raises(ConfigError, match="must not hold a user or password"):
        HttpSchemaRegistry("http://user:pass@host:8081")


def test_a_client_travels_without_what_it_remembers(server: RegistryServer) -> None:
    registry = HttpSchemaRegistry(server.url, auth="token")
    schema_id = registry.register("t-value", Schema('"long"'))

    copy = pickle.loads(pickle.dumps(registry))

    assert copy.schema_by_id(schema_id) == Schema('"long"')
    assert server.requests[-1][2] == "Bearer token"


def test_in_memory_equal_schemas_have_one_id_and_a_version_per_subject() -> None:
    registry = InMemorySchemaRegistry()
    one, two = Schema('"long"'), Schema('"string"')

    assert [registry.register("a", one), registry.register("b", two), registry.register("b", one)] == [1, 2, 1]
    assert registry.lookup("b", one) == RegisteredSchema(1, "b", 2)
    assert registry.schema_by_version("b", 1) == two
    assert registry.subjects == ("a", "b")
    for wrong in (
        lambda: registry.lookup("a", two),
        lambda: registry.schema_by_id(3),
        lambda: registry.schema_by_version("a", 2),
    ):
        with pytest.raises(SerializationError):
            wrong()


def test_in_memory_ids_may_be_chosen_elsewhere() -> None:
    registry = InMemorySchemaRegistry()
    registry.register_as("a", Schema('"long"'), 100)
    assert registry.latest("a") == (100, Schema('"long"'))
    assert registry.register("b", Schema('"long"')) == 100
    assert registry.register("b", Schema('"string"')) == 101
    registry.register_as("c", Schema('"long"'), 101)
    assert (registry.latest("c"), registry.register("c", Schema('"long"'))) == ((101, Schema('"long"')), 101)
    assert registry.schema_by_id(100) == registry.schema_by_id(101) == Schema('"long"')
    assert registry.latest("d") is None
