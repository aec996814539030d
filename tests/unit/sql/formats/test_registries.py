"""The registry that settings name."""

from __future__ import annotations

from pathlib import Path

import pytest

from headrace.errors import ConfigError
from headrace.serde.directory_registry import DirectorySchemaRegistry
from headrace.serde.registry import HttpSchemaRegistry, Schema
from headrace.sql.formats.registries import registry_from
from tests.unit.serde.registry_server import registry_server


def test_without_an_address_it_is_a_directory_or_nothing(tmp_path: Path) -> None:
    assert registry_from({}) is None
    assert registry_from({"ksql.schema.registry.url": ""}, tmp_path) == DirectorySchemaRegistry(tmp_path)


def test_of_several_addresses_the_first_counts(tmp_path: Path) -> None:
    found = registry_from({"ksql.schema.registry.url": "http://a:1, http://b:2"}, tmp_path)
    assert isinstance(found, HttpSchemaRegistry)
    assert found.url == "http://a:1"
    with pytest.raises(ConfigError, match="must be http"):
        registry_from({"ksql.schema.registry.url": "a:1"})


@pytest.mark.parametrize(
    ("name", "value", "sent"),
    [
        ("ksql.schema.registry.basic.auth.user.info", "user:pass", "Basic dXNlcjpwYXNz"),
        ("ksql.schema.registry.bearer.auth.token", "token", "Bearer token"),
    ],
)
def test_credentials_are_sent(name: str, value: str, sent: str) -> None:
    with registry_server() as server:
        registry = registry_from({"ksql.schema.registry.url": server.url, name: value})
        assert registry is not None
        registry.register("t-value", Schema('"long"'))
        assert server.requests[-1][2] == sent
