"""A schema registry in a directory."""

from __future__ import annotations

import pickle
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import pytest

from headrace.errors import SerializationError
from headrace.serde.directory_registry import DirectorySchemaRegistry
from headrace.serde.registry import RegisteredSchema, Schema, SchemaReference

LONG, TEXT = Schema('"long"'), Schema('"string"')
REFERRING = Schema("message", "PROTOBUF", (SchemaReference("other.proto", "other", 1),))


def test_schemas_are_registered_found_and_read_back(tmp_path: Path) -> None:
    registry = DirectorySchemaRegistry(tmp_path / "schemas")
    assert [registry.register("a", LONG), registry.register("b", TEXT), registry.register("b", LONG)] == [1, 2, 1]
    assert registry.register("b", TEXT) == 2
    assert registry.register("c", REFERRING) == 3
    assert registry.lookup("b", LONG) == RegisteredSchema(1, "b", 2)
    assert registry.schema_by_id(3) == REFERRING
    assert registry.schema_by_version("b", 1) == TEXT
    assert registry.latest("b") == (1, LONG)
    assert registry.latest("nothing") is None
    assert registry.subjects == ("a", "b", "c")


def test_what_is_not_there_is_an_error(tmp_path: Path) -> None:
    registry = DirectorySchemaRegistry(tmp_path)
    registry.register("a", LONG)
    with pytest.raises(SerializationError, match="not registered under subject a"):
        registry.lookup("a", TEXT)
    with pytest.raises(SerializationError, match="no schema with id 9"):
        registry.schema_by_id(9)
    with pytest.raises(SerializationError, match="no version 2 of subject a"):
        registry.schema_by_version("a", 2)


def test_a_registry_travels_and_is_the_same_for_all(tmp_path: Path) -> None:
    registry = DirectorySchemaRegistry(tmp_path)
    copy = pickle.loads(pickle.dumps(registry))
    assert copy.register("a", LONG) == 1
    assert registry.schema_by_id(1) == LONG


def _register(directory: Path, first: int) -> list[int]:
    registry = DirectorySchemaRegistry(directory)
    return [registry.register("s", Schema(f'"{first + at}"')) for at in range(20)]


def test_processes_that_register_at_once_agree_on_ids(tmp_path: Path) -> None:
    with ProcessPoolExecutor(3, mp_context=get_context("spawn")) as pool:
        found = list(pool.map(_register, [tmp_path] * 3, [0, 10, 20]))
    registry = DirectorySchemaRegistry(tmp_path)
    ids = {f'"{first + at}"': id_ for first, ids in zip((0, 10, 20), found, strict=True) for at, id_ in enumerate(ids)}
    assert all(registry.schema_by_id(id_).text == text for text, id_ in ids.items())
    assert sorted(registry.lookup("s", Schema(text)).version for text in ids) == list(range(1, 41))


def test_a_directory_that_cannot_be_used_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no directory")
    with pytest.raises(SerializationError, match="cannot be read or written"):
        DirectorySchemaRegistry(tmp_path / "file").latest("a")
    (tmp_path / "schemas.sqlite").write_text("no database")
    with pytest.raises(SerializationError, match="cannot be read or written"):
        DirectorySchemaRegistry(tmp_path).latest("a")
