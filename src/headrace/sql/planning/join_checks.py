"""What can be joined with what, on which columns."""

from __future__ import annotations

from headrace.sql.analysis.joins import Joined
from headrace.sql.analysis.scope import Aliased
from headrace.sql.errors import SqlError
from headrace.sql.planning.flow import Environment
from headrace.sql.planning.schemas import row_schema, typed
from headrace.sql.planning.windows import check_within
from headrace.sql.tree.expressions import Column, Expression
from headrace.sql.tree.queries import JoinKind
from headrace.sql.tree.statements import SourceKind
from headrace.sql.tree.types import SqlType
from headrace.sql.tree.walking import rewritten


def check_join(tree: Joined, left_is_table: bool, environment: Environment) -> Expression | None:
    """The foreign key, if it is a join by one; an error for what cannot be joined."""
    on = tree.on
    right_is_table = tree.right.source.kind is SourceKind.TABLE
    if left_is_table and not right_is_table:
        message = f"{on.between}: a table cannot be joined to a stream, only a stream to a table"
        raise SqlError("join.key", message, offset=on.at)
    if not right_is_table:
        if on.within is None:
            hint = "Write WITHIN 1 HOUR before ON."
            raise SqlError("join.within", f"{on.between}: streams are joined WITHIN some time", hint=hint, offset=on.at)
        check_within(on.within)
        return None
    if on.within is not None:
        message = f"{on.between}: WITHIN is for two streams, and {tree.right.alias} is a table"
        raise SqlError("join.within", message, offset=on.at)
    if not left_is_table and on.kind in {JoinKind.FULL, JoinKind.RIGHT}:
        message = f"{on.between}: a stream is joined to a table with JOIN or LEFT JOIN only"
        raise SqlError("join.kind", message, offset=on.at)
    if _is_no_key(on.right_expression, tree.right):
        what = "the table's primary key" if not left_is_table else "the primary key of the right table"
        raise SqlError("join.key", f"{on.between} ON {on.condition}: a join must be on {what}", offset=on.at)
    if not left_is_table:
        return None
    if _is_no_key(on.left_expression, on.left):
        return _foreign_key(tree, environment)
    ours, theirs = on.left.source.schema.key[0].type, tree.right.source.schema.key[0].type
    _check_types(tree, ours, theirs)
    return None


def _is_no_key(expression: Expression, aliased: Aliased) -> bool:
    keys = aliased.source.schema.key
    return not isinstance(expression, Column) or len(keys) != 1 or keys[0].name != expression.name


def _foreign_key(tree: Joined, environment: Environment) -> Expression:
    on = tree.on
    if on.kind in {JoinKind.FULL, JoinKind.RIGHT}:
        message = f"{on.between} ON {on.condition}: a join by a foreign key is JOIN or LEFT JOIN"
        raise SqlError("join.key", message, offset=on.at)
    if isinstance(tree.left, Joined):
        message = f"{on.between} ON {on.condition}: only the first join of several can be by a foreign key"
        raise SqlError("join.key", message, offset=on.at)
    plain = rewritten(on.left_expression, lambda part: Column(part.name) if isinstance(part, Column) else None)
    type_ = typed(plain, row_schema(tree.left.source.schema), environment.functions)
    _check_types(tree, type_, tree.right.source.schema.key[0].type)
    if tree.right.source.windows is not None or tree.left.source.windows is not None:
        message = f"{on.between}: a windowed source cannot be joined by a foreign key"
        raise SqlError("join.windows", message, offset=on.at)
    return on.left_expression


def _check_types(tree: Joined, ours: SqlType, theirs: SqlType) -> None:
    if ours != theirs:
        message = f"{tree.on.between} ON {tree.on.condition}: the types differ, {ours} and {theirs}"
        raise SqlError("join.key", message, hint=tree.on.with_cast(ours, theirs), offset=tree.on.at)
