"""Push queries: all columns are in the answer, in the order of the projection."""

from __future__ import annotations

import pytest

from headrace.sql import parse
from headrace.sql.push.plan import PushPlan, planned_push
from headrace.sql.tree.statements import Select
from tests.unit.sql.planning.session import Session, outline


def pushed(text: str) -> PushPlan:
    session = Session()
    (parsed,) = parse(text)
    assert isinstance(parsed.statement, Select)
    return planned_push(parsed.statement.query, session.catalog, session.environment)


@pytest.mark.parametrize(
    ("query", "columns", "is_table"),
    [
        ("name, id FROM r", "`NAME` STRING, `ID` INTEGER", False),
        ("* FROM t", "`ID` INTEGER, `NAME` STRING, `OTHER` INTEGER", True),
        ("length FROM r", "`LENGTH` INTEGER", False),
        ("rowtime, id FROM r", "`ROWTIME` BIGINT, `ID` INTEGER", False),
        ("COUNT(*) AS n FROM r", "`N` BIGINT", True),
        ("COUNT(*) AS n, id FROM r GROUP BY id", "`N` BIGINT, `ID` INTEGER", True),
        (
            "id, windowstart, COUNT(*) AS n FROM r WINDOW SESSION (1 HOUR) GROUP BY id",
            "`ID` INTEGER, `WINDOWSTART` BIGINT, `N` BIGINT",
            True,
        ),
    ],
)
def test_keys_are_columns_as_others_are(query: str, columns: str, is_table: bool) -> None:
    plan = pushed(f"SELECT {query} EMIT CHANGES;")
    assert (str(plan.columns), plan.is_table) == (columns, is_table)


def test_a_push_query_ends_without_a_sink() -> None:
    plan = pushed("SELECT id FROM r WHERE length > 1 EMIT CHANGES LIMIT 3;")
    assert outline(plan.step) == [
        "StreamSelect Project",
        "StreamFilter WhereFilter",
        "StreamSource KsqlTopic/Source",
    ]
    assert (plan.sources, plan.limit) == (("R",), 3)
