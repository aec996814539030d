from __future__ import annotations

from datetime import date, datetime, timezone
from typing import Any

import pyarrow as pa
import pytest

from headrace.query.plain import json_text
from headrace.query.replicas import Replicas
from headrace.query.shapes import Shape
from headrace.query.tables import store_table
from tests.unit.query.conftest import Scene


def type_of(*values: Any) -> pa.DataType | None:
    shape = Shape()
    for value in values:
        shape.see(value)
    return shape.type


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([], pa.string()),
        ([None], pa.string()),
        ([1, None], pa.int64()),
        ([1, 2.5], pa.float64()),
        ([True], pa.bool_()),
        (["x"], pa.string()),
        ([b"x"], pa.binary()),
        ([date(2026, 7, 1)], pa.date32()),
        ([datetime(2026, 7, 1, tzinfo=timezone.utc)], pa.timestamp("us", "UTC")),
        ([[1], [], [None, 2]], pa.list_(pa.int64())),
        ([{"a": 1, "b": None}, {"a": 2, "b": "x"}], pa.struct([("a", pa.int64()), ("b", pa.string())])),
        ([{"a": {"b": [1.5]}}], pa.struct([("a", pa.struct([("b", pa.list_(pa.float64()))]))])),
        ([1, "one"], None),
        ([True, 1], None),
        ([{"a": 1}, {"b": 1}], None),
        ([{"a": 1}, {"a": "x"}], None),
        ([{"a": 1}, [1]], None),
        ([[1, "x"]], None),
        ([{}], None),
        ([{1: 2}], None),
        ([2**70], None),
        ([object()], None),
    ],
)
def test_values_share_a_type_or_become_text(values: list[Any], expected: pa.DataType | None) -> None:
    assert type_of(*values) == expected
    assert type_of(*reversed(values)) == expected


def test_a_store_becomes_a_table(scene: Scene, replicas: Replicas) -> None:
    scene.append("views", ("al", "x"), ("al", "x"), at=12)
    scene.run()

    table = store_table(replicas, "windows")
    (row,) = table.to_pylist()
    assert table.column_names == ["key", "value", "timestamp", "window_start", "window_end", "partition"]
    assert [row[name] for name in table.column_names[:5]] == ["al", 2, 12, 10, 20]
    assert table.schema.field("value").type == pa.int64()


def test_an_empty_store_is_a_table_without_rows(replicas: Replicas) -> None:
    table = store_table(replicas, "sessions")
    assert table.num_rows == 0
    assert table.column_names == ["key", "value", "window_start", "window_end", "partition"]


def test_anything_can_be_json_text() -> None:
    assert json_text({"at": (1, b"raw"), 3: float("nan"), "on": date(2026, 7, 1)}) == (
        '{"at":[1,"cmF3"],"3":"nan","on":"2026-07-01"}'
    )
