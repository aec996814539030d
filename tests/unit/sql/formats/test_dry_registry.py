"""A registry for trying statements."""

from __future__ import annotations

import pytest

from headrace.errors import SerializationError
from headrace.serde.registry import InMemorySchemaRegistry, Schema
from headrace.sql.formats.dry_registry import DrySchemaRegistry

LONG, TEXT = Schema('"long"'), Schema('"string"')


def test_what_is_tried_is_known_here_only() -> None:
    real = InMemorySchemaRegistry()
    real.register("a", LONG)
    tried = DrySchemaRegistry(real)
    assert tried.latest("a") == (1, LONG)
    assert tried.register("a", LONG) == 1
    new = tried.register("b", TEXT)
    assert tried.register("c", TEXT) == new
    assert (tried.schema_by_id(new), tried.latest("b"), tried.schema_by_version("b", 1)) == (TEXT, (new, TEXT), TEXT)
    assert (tried.schema_by_id(1), tried.schema_by_version("a", 1)) == (LONG, LONG)
    assert tried.lookup("b", TEXT).version == 1
    assert real.subjects == ("a",)
    with pytest.raises(SerializationError):
        tried.schema_by_id(9)


def test_a_schema_that_was_asked_for_by_its_id_keeps_it() -> None:
    real = InMemorySchemaRegistry()
    real.register("other", LONG)
    tried = DrySchemaRegistry(real)
    assert tried.register("a", tried.schema_by_id(1)) == 1
    assert tried.latest("a") == (1, LONG)
    assert tried.lookup("a", LONG).schema_id == 1
