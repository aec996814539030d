"""What is inside expressions, and expressions with parts replaced."""

from __future__ import annotations

import pytest

from headrace.sql.text.format import shown
from headrace.sql.text.parser import parse_expression
from headrace.sql.tree.expressions import Call, Column, Expression
from headrace.sql.tree.walking import columns_of, rewritten


@pytest.mark.parametrize(
    ("text", "columns"),
    [
        ("a + f(b, c) * a", "A B C A"),
        ("CASE WHEN a THEN b WHEN c THEN d ELSE e END", "A B C D E"),
        ("a IN (b, c) AND d BETWEEN e AND f", "A B C D E F"),
        ("MAP(a := b, c := d)[e]", "A B C D E"),
        ("STRUCT(x := a, y := ARRAY[b])->y", "A B"),
        ("CAST(a AS STRING) LIKE b OR NOT c IS NULL", "A B C"),
        ("TRANSFORM(a, x => x + b)", "A B"),
    ],
)
def test_columns_come_in_the_order_in_which_they_are_written(text: str, columns: str) -> None:
    assert " ".join(column.name for column in columns_of(parse_expression(text))) == columns


def test_parts_are_replaced_wherever_they_are() -> None:
    def change(part: Expression) -> Expression | None:
        return Column(f"{part.name}2") if isinstance(part, Column) else None

    text = "CASE WHEN A THEN F(B) END + MAP(C := D)[E] + STRUCT(X := G)->X"
    expected = "CASE WHEN A2 THEN F(B2) END + MAP(C2 := D2)[E2] + STRUCT(X := G2)->X"
    assert rewritten(parse_expression(text), change) == parse_expression(expected)


def test_what_is_replaced_is_not_looked_into() -> None:
    found = rewritten(parse_expression("F(F(a))"), lambda part: Column("B") if isinstance(part, Call) else None)
    assert shown(found) == "B"


def test_an_expression_without_changes_is_itself() -> None:
    tree = parse_expression("a + ARRAY[b, CASE WHEN c THEN d END]")
    assert rewritten(tree, lambda part: None) is tree
