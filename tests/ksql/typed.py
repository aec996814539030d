"""What cases say and find as values of SQL's types."""

from __future__ import annotations

from decimal import Context, Decimal
from typing import Any

from headrace.sql.tree import types as t
from headrace.sql.tree.types import SqlType
from tests.ksql.json_text import json_text


def as_type(said: Any, type_: SqlType) -> Any:
    """What a case says as a value of a type: texts are texts, decimals have their scale."""
    if said is None:
        return None
    match type_:
        case t.Array(item) if isinstance(said, list):
            return [as_type(each, item) for each in said]
        case t.Map(_, value) if isinstance(said, dict):
            return {key: as_type(each, value) for key, each in said.items()}
        case t.Struct(fields) if isinstance(said, dict):
            types = {field.name.upper(): field.type for field in fields}
            return {name: as_type(each, types[name.upper()]) for name, each in said.items() if name.upper() in types}
        case t.Decimal(_, scale) if isinstance(said, (int, Decimal, str)):
            return Decimal(str(said)).quantize(Decimal(1).scaleb(-scale), context=Context(prec=200))
        case _ if type_ == t.STRING and not isinstance(said, str):
            return json_text(said)
        case _:
            return said


def maps_in(found: Any, type_: SqlType) -> Any:
    """The value, in which lists of no entries are maps where the type has maps."""
    match type_, found:
        case t.Map(), []:
            return {}
        case t.Map(_, value), dict():
            return {key: maps_in(each, value) for key, each in found.items()}
        case t.Array(item), list():
            return [maps_in(each, item) for each in found]
        case t.Struct(fields), dict():
            types = {field.name.upper(): field.type for field in fields}
            return {
                name: maps_in(each, types[name.upper()]) if name.upper() in types else each
                for name, each in found.items()
            }
        case _:
            return found
