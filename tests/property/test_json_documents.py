"""Documents that are decoded straight into values give what the plain reader gives: the same rows, the same errors."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.sql.formats.json_documents import Documents
from headrace.sql.formats.json_reading import object_reader
from headrace.sql.tree import types as sql
from headrace.sql.tree.types import Field, SqlType, Struct
from tests.property.test_sql_formats import any_types


def _object(pairs: list[tuple[str, str]]) -> str:
    return "{" + ", ".join(f"{json.dumps(name)}: {value}" for name, value in pairs) + "}"


column_names = st.sampled_from(["A", "B", "C", "a", "Ab", "É"])
names = st.sampled_from(["A", "a", "B", "b", "c", "X", "aB", "é", 'q"'])
types: st.SearchStrategy[SqlType] = st.sampled_from([sql.BOOLEAN, sql.INTEGER, sql.BIGINT, sql.DOUBLE, sql.STRING])
structs: st.SearchStrategy[Struct] = st.lists(
    st.tuples(column_names, types | types | any_types), min_size=1, max_size=3, unique_by=lambda each: each[0]
).map(lambda fields: Struct(tuple(Field(*each) for each in fields)))
NUMBERS = [
    *("0", "-0", "-0.0", "1", "-1", "1.0", "1.5", "1e2", "0.1", "1E-400", "1e400", "9007199254740993.0"),
    *("2147483647", "2147483648", "-2147483649", "9223372036854775807", "9223372036854775808"),
    *("-9223372036854775809", "123456789012345678901234567890", "01", "1.", "+1", "NaN"),
]
numbers = st.sampled_from(NUMBERS)
texts = st.sampled_from(
    ["", "a", "12", "1.5", "true", "2020-01-01", "AQID", "\u00e9", "\U0001f600", "\ud800", "\u0000"]
)
quoted = texts.map(json.dumps) | texts.map(lambda text: json.dumps(text, ensure_ascii=False))
words = st.sampled_from(["null", "true", "false", "tru", '"\\x"', '"\n"', ""])
values: st.SearchStrategy[str] = st.recursive(
    numbers | quoted | words,
    lambda inner: (
        st.lists(inner, max_size=3).map(lambda items: f"[{','.join(items)}]")
        | st.lists(st.tuples(names, inner), max_size=3).map(_object)
    ),
    max_leaves=4,
)


def _documents(struct: Struct) -> st.SearchStrategy[list[str]]:
    """The first has the columns, and so has every other but for its values; some have other fields, too."""
    spelled = st.tuples(*(st.sampled_from([field.name, field.name.lower()]) for field in struct.fields))
    others: st.SearchStrategy[list[tuple[str, str]]] = st.just([]) | st.lists(st.tuples(names, values), max_size=2)
    return spelled.flatmap(
        lambda keys: st.lists(
            st.tuples(st.tuples(*(st.tuples(st.just(key), numbers | values) for key in keys)), others), max_size=6
        ).map(lambda found: [_object([(key, "null") for key in keys]), *(_object([*one, *two]) for one, two in found)])
    )


def _outcome(read: Any, data: bytes) -> str:
    try:
        return repr(read(data))
    except Exception as error:
        return f"{type(error).__name__}: {error}"


@given(structs.flatmap(lambda struct: st.tuples(st.just(struct), _documents(struct))), st.data())
def test_known_documents_are_read_as_any_document(found: tuple[Struct, list[str]], data: st.DataObject) -> None:
    struct, texts = found
    documents, plain = Documents(struct), object_reader(struct)
    for text in texts:
        raw = bytearray(text.encode("utf-8", "surrogatepass"))
        if data.draw(st.integers(0, 9)) == 9:
            raw[data.draw(st.integers(0, len(raw) - 1))] = data.draw(st.sampled_from(b'"\xff\xe9 0{'))
        assert _outcome(documents.read, bytes(raw)) == _outcome(plain, bytes(raw))


@pytest.mark.parametrize("type_", [sql.BOOLEAN, sql.INTEGER, sql.BIGINT, sql.DATE, sql.TIME, sql.DOUBLE, sql.STRING])
@pytest.mark.parametrize("value", [*NUMBERS, "true", '"12"', "{}", "[]", "-2147483648", "-9223372036854775808"])
def test_a_known_field_is_read_as_in_any_document(type_: SqlType, value: str) -> None:
    struct = Struct((Field("A", type_),))
    documents, raw = Documents(struct), f'{{"a": {value}}}'.encode()
    documents.read(b'{"a": null}')
    assert _outcome(documents.read, raw) == _outcome(object_reader(struct), raw)


def test_a_column_with_two_names_is_read_as_in_any_document() -> None:
    documents = Documents(Struct((Field("ID", sql.INTEGER), Field("N", sql.INTEGER))))
    rows = ['{"id": 1, "n": 2}', '{"id": 3, "ID": 4}', '{"Id": 5, "iD": 6}', '{"id": 7, "n": 8}', "{}"]
    assert [documents.read(row.encode()) for row in rows] == [[1, 2], [4, None], [6, None], [7, 8], [None, None]]


def test_a_name_of_two_columns_is_read_as_in_any_document() -> None:
    documents = Documents(Struct((Field("ID", sql.INTEGER), Field("id", sql.INTEGER))))
    assert [documents.read(b'{"id": 1}'), documents.read(b'{"id": 2}')] == [[1, 1], [2, 2]]


def test_documents_with_ever_new_fields_are_read_too() -> None:
    documents = Documents(Struct((Field("ID", sql.INTEGER),)))
    for number in range(300):
        assert documents.read(b'{"id": %d, "x%d": 1}' % (number, number)) == [number]
