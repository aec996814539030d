"""Rows of answers as JSON has them."""

from __future__ import annotations

import json
from math import inf, nan

from headrace.sql.answers import plain_row
from headrace.sql.schema import Column
from headrace.sql.tree import types as t


def test_numbers_that_json_has_not_are_texts() -> None:
    row = [1.5, [inf, -inf], {"a": nan}]
    columns = [Column("A", t.DOUBLE), Column("B", t.Array(t.DOUBLE)), Column("C", t.Map(t.STRING, t.DOUBLE))]

    plain = json.dumps(plain_row(row, columns), allow_nan=False)

    assert plain == '[1.5, ["Infinity", "-Infinity"], {"a": "NaN"}]'
