from __future__ import annotations

import pyarrow as pa
import pytest

from headrace.errors import ArgumentError
from headrace.spark import frames
from headrace.spark.session import existing_session

TABLE = pa.table(
    {
        "key": ["al", "bo", "cy"],
        "value": [{"n": 1, "tags": ["x"]}, {"n": 3, "tags": []}, {"n": 2, "tags": None}],
        "partition": pa.array([0, 1, 0], pa.int32()),
    }
)


def test_sql_over_a_table() -> None:
    before = existing_session()
    with frames._session():
        found = frames.query(TABLE, "select key, value.n as n from store where partition = 0 order by n desc", "store")
        with pytest.raises(ArgumentError, match=r"Spark cannot run the query: \[UNRESOLVED_COLUMN"):
            frames.query(TABLE, "select nope from store", "store")

    assert found.to_pylist() == [{"key": "cy", "n": 2}, {"key": "al", "n": 1}]
    # A session that was not there before does not stay.
    assert existing_session() is before
