"""The functions of SQL, and how to declare one's own."""

from __future__ import annotations

from functools import cache
from types import ModuleType

from headrace.sql.functions import (
    arrays,
    bytes,
    conditional,
    dates,
    geo,
    json_text,
    lambdas,
    maps,
    masks,
    math,
    regular,
    strings,
    tables,
    urls,
)
from headrace.sql.functions.aggregates import (
    attr,
    averages,
    collecting,
    correlation,
    count,
    count_distinct,
    deviation,
    extremes,
    histogram,
    offsets,
    sums,
    top,
)
from headrace.sql.functions.declare import aggregate, scalar, table
from headrace.sql.functions.registry import Registry, declared_by

_MODULES: tuple[ModuleType, ...] = (
    arrays,
    bytes,
    conditional,
    dates,
    geo,
    json_text,
    lambdas,
    maps,
    masks,
    math,
    regular,
    strings,
    tables,
    urls,
    attr,
    averages,
    collecting,
    correlation,
    count,
    count_distinct,
    deviation,
    extremes,
    histogram,
    offsets,
    sums,
    top,
)
"""Where the functions are that every engine has; each module is one family."""


@cache
def builtin() -> Registry:
    """The functions that every engine has."""
    return Registry(declared_by(*_MODULES))


__all__ = ["Registry", "aggregate", "builtin", "scalar", "table"]
