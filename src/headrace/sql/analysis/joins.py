"""Joins: what each ON compares, in which order sources are joined, and which columns are the key of the result."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from headrace.sql.analysis.scope import Aliased, Scope
from headrace.sql.catalog.sources import WindowedKeys
from headrace.sql.errors import NOWHERE, SqlError
from headrace.sql.text.format import shown
from headrace.sql.tree import queries as q
from headrace.sql.tree.expressions import Binary, Column, Expression
from headrace.sql.tree.queries import JoinKind, WindowKind, Within
from headrace.sql.tree.types import SqlType
from headrace.sql.types.casts import CastError, cast_of


@dataclass(frozen=True, slots=True)
class JoinOn:
    """One ON: an expression over each of two sources. ``condition`` is the text, sides as they were written."""

    kind: JoinKind
    left: Aliased
    left_expression: Expression
    right: Aliased
    right_expression: Expression
    within: Within | None
    condition: str
    at: int = field(default=NOWHERE, compare=False, repr=False)

    def flipped(self) -> JoinOn:
        """With the sides of the condition changed; what the join keeps is said by the order of sources, not by it."""
        return replace(
            self,
            left=self.right,
            left_expression=self.right_expression,
            right=self.left,
            right_expression=self.left_expression,
        )

    @property
    def between(self) -> str:
        """What is joined, for messages."""
        return f"{self.left.source.name} {self.kind.value} JOIN {self.right.source.name}"

    def with_cast(self, ours: SqlType, theirs: SqlType) -> str | None:
        """A hint for sides of different types: the condition with the left one cast, if there is such a cast."""
        try:
            cast_of(ours, theirs)
        except CastError:
            return None
        return f"Write ON CAST({shown(self.left_expression)} AS {theirs}) = {shown(self.right_expression)}."


@dataclass(frozen=True, slots=True)
class Joined:
    """What was joined so far (or the first source), with one more source."""

    left: Joined | Aliased
    right: Aliased
    on: JoinOn

    def contains(self, aliased: Aliased) -> bool:
        """Whether that source takes part."""
        return aliased == self.right or _contains(self.left, aliased)

    def same_as_key(self) -> frozenset[Expression]:
        """The expressions that equal the key of the result: those of this ON, and of a join whose key it is."""
        if self.on.kind is JoinKind.FULL:
            return frozenset()
        own = frozenset({self.on.left_expression, self.on.right_expression})
        before = self.left.same_as_key() if isinstance(self.left, Joined) else frozenset()
        return own | before if own & before else own

    def viable_keys(self) -> tuple[Column, ...]:
        """The columns that may name the key, in the order of the ON clauses."""
        if self.on.kind is JoinKind.FULL:
            return ()
        before = self.left.viable_keys() if isinstance(self.left, Joined) else ()
        same = self.same_as_key()
        sides = (*before, self.on.left_expression, self.on.right_expression)
        columns = dict.fromkeys(each for each in sides if isinstance(each, Column) and each.source is not None)
        return tuple(column for column in columns if column in same)


def join_tree(scope: Scope, joins: tuple[q.Join, ...]) -> Joined:
    """The joins of a query, from left to right, as a tree that grows to the left."""
    tree: Joined | Aliased = scope.sources[0]
    seen = [scope.sources[0]]
    for join, added in zip(joins, scope.sources[1:], strict=True):
        _check_new(added, seen, join.source.at)
        seen.append(added)
        on = _join_on(replace(scope, sources=tuple(seen)), join, added)
        if _contains(tree, on.left) and not _contains(tree, on.right):
            tree = Joined(tree, on.right, on)
        elif _contains(tree, on.right) and not _contains(tree, on.left):
            tree = Joined(tree, on.left, on.flipped())
        else:
            message = f"the condition {on.condition} does not join {added.alias} to the sources before it"
            raise SqlError("join.condition", message, offset=on.at)
    assert isinstance(tree, Joined)
    return tree


def _contains(tree: Joined | Aliased, aliased: Aliased) -> bool:
    return tree.contains(aliased) if isinstance(tree, Joined) else tree == aliased


def _check_new(added: Aliased, seen: list[Aliased], at: int) -> None:
    if any(each.source.name == added.source.name for each in seen):
        what = "a join has each source once" if len(seen) > 1 else "a source cannot be joined to itself"
        raise SqlError("join.sources", f"{added.source.name} is joined twice, and {what}", offset=at)


def _join_on(scope: Scope, join: q.Join, added: Aliased) -> JoinOn:
    left_expression, right_expression = _sides(join.condition)
    condition = f"{shown(left_expression)} = {shown(right_expression)}"
    left = scope.aliased(_only_source(scope, left_expression, condition))
    right = scope.aliased(_only_source(scope, right_expression, condition))
    if left == right:
        message = f"both sides of {condition} are of {left.alias}: each side must be of another source"
        raise SqlError("join.condition", message, offset=join.condition.at)
    _check_windows(left, right, join.source.at)
    if added not in (left, right):
        message = f"the condition {condition} joins {left.alias} and {right.alias}, but {added.alias} must be in it"
        raise SqlError("join.condition", message, offset=join.condition.at)
    return JoinOn(
        join.kind, left, left_expression, right, right_expression, join.within, condition, at=join.condition.at
    )


def _sides(condition: Expression) -> tuple[Expression, Expression]:
    match condition:
        case Binary("=", left, right):
            return left, right
        case Binary("AND" | "OR", Binary("="), Binary("=")):
            message = f"{shown(condition)} has several conditions, and a join has one equality"
        case _:
            message = f"{shown(condition)} is no condition of a join: that is one equality, such as A.ID = B.ID"
    raise SqlError("join.condition", message, offset=condition.at)


def _only_source(scope: Scope, side: Expression, condition: str) -> str:
    found = scope.sources_of(side, "JOIN ON")
    if len(found) != 1:
        message = f"{shown(side)} in {condition} must read exactly one source, and it reads {len(found)}"
        raise SqlError("join.condition", message, offset=side.at)
    (alias,) = found
    return alias


def _check_windows(left: Aliased, right: Aliased, at: int) -> None:
    ours, theirs = left.source.windows, right.source.windows
    if (ours is None) != (theirs is None):
        with_windows, without = (right, left) if ours is None else (left, right)
        message = f"{with_windows.alias} is a windowed source and {without.alias} is not, so they cannot be joined"
        raise SqlError("join.windows", message, offset=at)
    if ours is not None and theirs is not None and _is_session(ours) != _is_session(theirs):
        message = (
            f"{left.alias} is a windowed source of {ours.kind.value} windows and {right.alias} of {theirs.kind.value}:"
            " sessions are joined with sessions only"
        )
        raise SqlError("join.windows", message, offset=at)


def _is_session(windows: WindowedKeys) -> bool:
    return windows.kind is WindowKind.SESSION
