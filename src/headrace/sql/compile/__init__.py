"""Expressions to functions of rows: one generated Python function for each step."""

from headrace.sql.compile.rows import RowFunction, predicate, projection, table_function, value

__all__ = ["RowFunction", "predicate", "projection", "table_function", "value"]
