"""ARRAY[...], MAP(...), STRUCT(...) and IN (...) to bound expressions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.sql.analysis import bound as b
from headrace.sql.analysis.lists import LITERALS, common_type
from headrace.sql.errors import SqlError
from headrace.sql.text.format import shown
from headrace.sql.tree import expressions as e
from headrace.sql.tree.types import Array, Field, Map, SqlType, Struct
from headrace.sql.types.casts import CastError, cast_of
from headrace.sql.types.literals import literal_as

if TYPE_CHECKING:
    from headrace.sql.analysis.binding import Scope


def bind_array(scope: Scope, tree: e.ArrayOf) -> b.Bound:
    """An array of the common type of its items."""
    if not tree.items:
        raise SqlError("type.constructor", "ARRAY[] needs at least one item: it has no type without", offset=tree.at)
    type_ = _known(common_type(tree.items, scope.type_of), "the items of an ARRAY", tree.at)
    items = [_guarded(_as(scope, item, type_), "an item of an ARRAY") for item in tree.items]
    return b.MakeArray(tuple(items), Array(type_))


def bind_map(scope: Scope, tree: e.MapOf) -> b.Bound:
    """A map of the common types of its keys and values."""
    if not tree.entries:
        raise SqlError("type.constructor", "MAP() needs at least one entry: it has no type without", offset=tree.at)
    keys, values = [key for key, _ in tree.entries], [value for _, value in tree.entries]
    key_type = _known(common_type(keys, scope.type_of), "the keys of a MAP", tree.at)
    value_type = _known(common_type(values, scope.type_of), "the values of a MAP", tree.at)
    entries = [
        (
            _guarded(_as(scope, key, key_type), "a key of a MAP"),
            _guarded(_as(scope, value, value_type), "a value of a MAP"),
        )
        for key, value in tree.entries
    ]
    return b.MakeMap(tuple(entries), Map(key_type, value_type))


def bind_struct(scope: Scope, tree: e.StructOf) -> b.Bound:
    """A struct of these fields."""
    names = [name for name, _ in tree.fields]
    if len(set(names)) < len(names):
        raise SqlError("name.duplicate", f"two fields of this STRUCT have one name: {shown(tree)}", offset=tree.at)
    values = [scope.bind(value) for _, value in tree.fields]
    fields = [
        Field(name, _known(value.type, f"the field `{name}`", given.at))
        for (name, given), value in zip(tree.fields, values, strict=True)
    ]
    return b.MakeStruct(tuple(_guarded(value, "a field of a STRUCT") for value in values), Struct(tuple(fields)))


def bind_in(scope: Scope, tree: e.In) -> b.Bound:
    """IN: all become their common type; NULL is never found."""
    items = [item for item in tree.items if not isinstance(item, e.NullLiteral)]
    type_ = common_type([tree.value, *items], scope.type_of)
    value, *others = [scope.bind(item) if type_ is None else _as(scope, item, type_) for item in (tree.value, *items)]
    return b.Membership(value, tuple(others))


def _known(type_: SqlType | None, what: str, at: int) -> SqlType:
    if type_ is None:
        hint = "CAST the NULL to the type that is meant."
        raise SqlError("type.constructor", f"the type of {what} is not known: there is only NULL", hint=hint, offset=at)
    return type_


def _as(scope: Scope, tree: e.Expression, type_: SqlType) -> b.Bound:
    """The value as the common type: a literal at once, others when they are evaluated."""
    value = scope.bind(tree)
    if value.type is None or value.type == type_:
        return value
    try:
        if isinstance(tree, LITERALS) and isinstance(value, b.Constant):
            return b.Constant(literal_as(value.value, value.type, type_), type_)
        cast_of(value.type, type_)
    except (CastError, ValueError, ArithmeticError) as error:
        message = f"{shown(tree)} does not become {type_}"
        raise SqlError("type.list", message, detail=str(error), offset=tree.at) from error
    return b.Guarded(b.CastTo(value, type_), f"CAST AS {type_}", type_)


def _guarded(value: b.Bound, what: str) -> b.Bound:
    """Columns and constants cannot fail."""
    return value if isinstance(value, b.Constant | b.ColumnAt | b.Guarded) else b.Guarded(value, what, value.type)
