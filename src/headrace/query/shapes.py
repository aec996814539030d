"""Which Arrow type the values of a column share, if any.

Scalars of one type keep it; integers and floats together are floats. Dicts with the same names, whose values share a
type name by name, are structs, and lists whose entries share a type are lists. All else (dicts with differing names,
text beside numbers, objects, integers beyond 64 bits) is JSON text. None fits everywhere.
"""

from __future__ import annotations

import datetime
from typing import Any

import pyarrow as pa

_JSON: Any = object()
_NOTHING: Any = None
_INT64 = range(-(2**63), 2**63)
_SCALARS: dict[type, Any] = {
    bool: pa.bool_(),
    float: pa.float64(),
    str: pa.string(),
    bytes: pa.binary(),
    datetime.datetime: pa.timestamp("us"),
    datetime.date: pa.date32(),
}


class Shape:
    """What the values seen so far have in common.

    >>> numbers = Shape()
    >>> for value in (1, None, 2.5):
    ...     numbers.see(value)
    >>> numbers.type
    DataType(double)
    """

    def __init__(self) -> None:
        self._shape = _NOTHING

    def see(self, value: Any) -> None:
        """Take one more value into account."""
        if self._shape is not _JSON:
            self._shape = _merged(self._shape, _shape_of(value))

    @property
    def type(self) -> pa.DataType | None:
        """The type that fits all values; None where only JSON text does. Without any value it is text."""
        return None if self._shape is _JSON else _settled(self._shape)


def _shape_of(value: Any) -> Any:
    """What is known of a column that holds this value: an Arrow type, a dict or a one-entry list of shapes."""
    if value is None:
        return _NOTHING
    kind = type(value)
    if kind is int:
        return pa.int64() if value in _INT64 else _JSON
    if kind is datetime.datetime and value.tzinfo is not None:
        return pa.timestamp("us", "UTC")
    if kind is dict:
        return _dict_shape(value)
    if kind is list:
        inner = _NOTHING
        for entry in value:
            inner = _merged(inner, _shape_of(entry))
        return _JSON if inner is _JSON else [inner]
    return _SCALARS.get(kind, _JSON)


def _merged(one: Any, other: Any) -> Any:
    """What fits both."""
    if one is _NOTHING or other is _NOTHING or one is _JSON:
        return other if one is _NOTHING else one
    if isinstance(one, dict) and isinstance(other, dict) and one.keys() == other.keys():
        fields = {name: _merged(one[name], other[name]) for name in one}
        return _JSON if any(field is _JSON for field in fields.values()) else fields
    if isinstance(one, list) and isinstance(other, list):
        inner = _merged(one[0], other[0])
        return _JSON if inner is _JSON else [inner]
    if isinstance(one, dict | list) or isinstance(other, dict | list) or other is _JSON:
        return _JSON
    if {one, other} == {pa.int64(), pa.float64()}:
        return pa.float64()
    return one if one == other else _JSON


def _settled(shape: Any) -> pa.DataType:
    """The Arrow type of a shape; what nothing is known of is text."""
    if shape is _NOTHING:
        return pa.string()
    if isinstance(shape, dict):
        return pa.struct([(name, _settled(inner)) for name, inner in shape.items()])
    if isinstance(shape, list):
        return pa.list_(_settled(shape[0]))
    return shape


def _dict_shape(value: dict[Any, Any]) -> Any:
    if not value or any(type(name) is not str for name in value):
        return _JSON
    fields = {name: _shape_of(inner) for name, inner in value.items()}
    return _JSON if any(field is _JSON for field in fields.values()) else fields
