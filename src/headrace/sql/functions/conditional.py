"""Functions that choose between their arguments."""

from __future__ import annotations

from typing import Any

from headrace.sql.functions.declare import scalar
from headrace.sql.functions.natural import same


@scalar("COALESCE", "(T first, T... others) -> T", description="The first value that is not null.")
@scalar("IFNULL", "(T value, T otherwise) -> T", description="The value, or another one where it is null.")
def first_not_null(*values: Any) -> Any:
    return next((value for value in values if value is not None), None)


@scalar("NULLIF", "(T value, T unwanted) -> T", description="The value, or null where it equals the other one.")
def null_if(value: Any, unwanted: Any) -> Any:
    return None if same(value, unwanted) else value


@scalar("AS_VALUE", "(T key) -> T", description="A key column, copied into the value.")
def as_value(key: Any) -> Any:
    return key
