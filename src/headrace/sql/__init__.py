"""The ksqlDB dialect: text to trees today; plans, topologies and results follow."""

from headrace.sql.errors import SqlError
from headrace.sql.text.parser import parse, parse_expression

__all__ = ["SqlError", "parse", "parse_expression"]
