"""The ksqlDB dialect: statements to trees, plans, topologies and answers. `headrace.database` runs them on a broker."""

from headrace.sql.errors import SqlError
from headrace.sql.text.parser import parse, parse_expression

__all__ = ["SqlError", "parse", "parse_expression"]
