"""Stores as tables from what their application noted, without its program: the same as with it."""

from __future__ import annotations

from pathlib import Path

import pytest

import headrace
from headrace import Topics
from headrace.errors import ArgumentError, SerializationError, UnknownStoreError, UnsupportedError
from headrace.query.tables import store_table
from tests.unit.query.conftest import Scene, scene

__all__ = ["scene"]


@pytest.fixture
def topics(scene: Scene) -> Topics:
    for topic, key in (("views", "al"), ("views", "bo"), ("views", "al"), ("prices", "tea"), ("users", "al")):
        scene.append(topic, (key, "x"), at=12)
    scene.append("views", ("al", "x"), at=40)
    scene.append("users", ("bo", "y"), ("bo", None), at=41)
    scene.append("prices", ("tea", "2"), at=42)
    scene.run()
    # The application has not read these yet: they are no part of its table.
    scene.append("users", ("new", "z"), at=50)
    return headrace.topics(scene.broker.address)


STORES = {
    "counts": ("long", 2),
    "in-memory": ("long", 2),
    "recent": ("long", 2),
    "windows": ("long", 3),
    "sessions": ("long", 3),
    "users": ("string", 1),
    "prices": ("string", 1),
}


def test_every_kind_is_as_its_program_sees_it(
    scene: Scene, topics: Topics, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))
    with topics, scene.replicas() as replicas:
        for store, (value_serde, rows) in STORES.items():
            table = topics.store_arrow("app", store, value_serde=value_serde)
            assert table.equals(store_table(replicas, store)), store
            assert table.num_rows == rows, store
        assert len(topics.store_pandas("app", "counts", value_serde="long")) == 2
    assert list((tmp_path / "temporary").iterdir()) == []


def test_what_cannot_be_read_says_why(topics: Topics) -> None:
    with pytest.raises(UnknownStoreError, match="the application app has no store called 'count'") as unknown:
        topics.store_arrow("app", "count")
    assert unknown.value.hint == "Did you mean 'counts'?"
    with pytest.raises(UnsupportedError, match="has no changelog"):
        topics.store_arrow("app", "secret")
    with pytest.raises(UnsupportedError, match="is a global store") as of_all:
        topics.store_arrow("app", "regions")
    assert of_all.value.hint == "Read the topic: topics.to_arrow('regions')."
    with pytest.raises(ArgumentError, match="the application 'ap' has committed nothing") as other:
        topics.store_arrow("ap", "counts")
    assert other.value.hint == "Did you mean 'app'?"


@pytest.mark.parametrize("store", ["counts", "windows", "sessions"])
def test_the_wrong_serde_is_told_with_the_argument_that_takes_the_right_one(topics: Topics, store: str) -> None:
    with pytest.raises(SerializationError, match=f"a value of the store '{store}' cannot be read: json") as value:
        topics.store_pandas("app", store, value_serde="json")
    assert value.value.hint == "Give value_serde= the serde that the application app writes it with."
    with pytest.raises(SerializationError, match=f"a key of the store '{store}' cannot be read: long") as key:
        topics.store_pandas("app", store, key_serde="long", value_serde="long")
    assert key.value.hint == "Give key_serde= the serde that the application app writes it with."
