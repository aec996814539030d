"""WHERE of a pull query: which keys must be looked up, or that all rows must be looked at."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NoReturn, TypeAlias

from headrace.sql.analysis.timestamps import with_times
from headrace.sql.errors import SqlError, mistakes_at
from headrace.sql.functions.registry import Registry
from headrace.sql.pull.constants import constant
from headrace.sql.pull.windows import WindowBounds, flipped
from headrace.sql.schema import WINDOW_BOUNDS, Column, Schema
from headrace.sql.text.format import shown
from headrace.sql.tree import expressions as e
from headrace.sql.tree.types import BIGINT, BYTES, INTEGER, STRING, SqlType
from headrace.sql.tree.walking import columns_of, rewritten

TABLE_SCAN = "ksql.query.pull.table.scan.enabled"
RANGE_SCAN = "ksql.query.pull.range.scan.enabled"
_COMPARED = frozenset({"=", "<>", "<", "<=", ">", ">=", "IS DISTINCT FROM"})
_ORDERED = frozenset({"=", "<", "<=", ">", ">="})
_LITERALS: Mapping[SqlType | None, tuple[type, ...]] = {
    STRING: (e.StringLiteral,),
    INTEGER: (e.IntegerLiteral,),
    BIGINT: (e.IntegerLiteral, e.LongLiteral),
}
_MOST_ALTERNATIVES = 1000
"""More of them than this are a scan."""


@dataclass(frozen=True, slots=True)
class KeyLookup:
    """The rows of one key, in certain windows."""

    key: tuple[Any, ...]
    windows: WindowBounds | None = None


@dataclass(frozen=True, slots=True)
class RangeScan:
    """The rows of keys on one side of a value."""

    operator: str
    value: Any


Lookup: TypeAlias = tuple[KeyLookup, ...] | RangeScan | None
"""What must be read; None is everything."""


@dataclass(frozen=True, slots=True)
class Where:
    """Reads conditions on the rows of a source."""

    key: Sequence[Column]
    row: Schema
    is_windowed: bool
    functions: Registry
    settings: Mapping[str, Any]

    def lookup(self, condition: e.Expression | None) -> Lookup:
        """What must be read to find all rows for which the condition holds; an error where that is not allowed."""
        if condition is None:
            self._scan_or("there is no WHERE")
            return None
        found: list[KeyLookup | RangeScan] = []
        for alternative in alternatives(condition):
            lookup = self._of(list(_terms(alternative)), alternative)
            if lookup is None:
                return None
            found.append(lookup)
        return self._together(found)

    def _together(self, found: list[KeyLookup | RangeScan]) -> Lookup:
        keys = [each for each in found if isinstance(each, KeyLookup)]
        if len(keys) == len(found):
            # A key may be of values that have no hash; their texts tell them apart as well.
            return tuple({repr(each): each for each in keys}.values())
        if len(found) == 1 and self._is_on(RANGE_SCAN) and not self.is_windowed:
            assert isinstance(found[0], RangeScan)
            return found[0]
        self._scan_or("the query needs a table scan")
        return None

    def _of(self, terms: list[e.Expression], whole: e.Expression) -> KeyLookup | RangeScan | None:
        """What one alternative needs: all its terms hold together."""
        bounds = WindowBounds()
        keys: dict[str, tuple[str, e.Expression]] = {}
        needs_scan = False
        for term in terms:
            with mistakes_at(term.at):
                needs_scan |= self._takes_scan(term, keys, bounds)
        if needs_scan:
            return None
        with mistakes_at(whole.at):
            return self._found(keys, bounds, whole)

    def _takes_scan(self, term: e.Expression, keys: dict[str, tuple[str, e.Expression]], bounds: WindowBounds) -> bool:
        """Note what one term says about keys and windows; whether a scan is needed for it."""
        if isinstance(term, e.Like) and self._is_like_column(term):
            return False
        match self._compared(term):
            case None:
                return True
            case (name, operator, other) if name in WINDOW_BOUNDS:
                bounds.narrow(name, operator, constant(other, BIGINT, self.functions))
                return False
            case (name, operator, other):
                return self._add_key(keys, name, operator, other)

    def _add_key(
        self, keys: dict[str, tuple[str, e.Expression]], name: str, operator: str, other: e.Expression
    ) -> bool:
        """Note a comparison with a key column; whether a scan is needed for it."""
        if name not in [column.name for column in self.key]:
            return False
        if operator not in _ORDERED:
            self._scan_or(f"a condition on the key column `{name}` must currently be '='")
            return True
        if name in keys and not self._is_on(TABLE_SCAN):
            self._refuse(f"the key column `{name}` is in several comparisons")
        if name not in keys or (operator == "=" and keys[name][0] != "="):
            keys[name] = (operator, other)
        return False

    def _found(
        self, keys: dict[str, tuple[str, e.Expression]], bounds: WindowBounds, whole: e.Expression
    ) -> KeyLookup | RangeScan | None:
        if not keys:
            self._scan_or(f"the key column is missing in {shown(whole)}")
            return None
        if len(keys) < len(self.key):
            self._scan_or(f"WHERE must have every key column: {', '.join(column.name for column in self.key)}")
            return None
        values = tuple(constant(keys[column.name][1], column.type, self.functions, column) for column in self.key)
        operators = {operator for operator, _ in keys.values()}
        if operators == {"="}:
            return KeyLookup(values, bounds if self.is_windowed else None)
        if len(self.key) == 1 and self.key[0].type in (STRING, BYTES):
            return RangeScan(operators.pop(), values[0])
        self._scan_or("the query needs a table scan to be enabled")
        return None

    def _compared(self, term: e.Expression) -> tuple[str, str, e.Expression] | None:
        """A column, how it is compared, and with what; None where only a scan can tell."""
        if not isinstance(term, e.Binary) or term.operator not in _COMPARED:
            self._scan_or(f"{shown(term)} is no comparison with a key column")
            return None
        column, other, operator = term.left, term.right, term.operator
        if isinstance(other, e.Column):
            column, other, operator = other, column, flipped(operator)
        if not isinstance(column, e.Column):
            self._scan_or(f"{shown(term)}: a comparison must be with a key column")
            return None
        if any(columns_of(other)):
            self._scan_or(f"{shown(term)}: a key column must be compared with a resolvable expression")
            return None
        return column.name, operator, other

    def _is_like_column(self, term: e.Like) -> bool:
        """Whether it is about a column, which then must be text; it says nothing about where rows are."""
        if not isinstance(term.value, e.Column):
            if not self._is_on(TABLE_SCAN):
                raise SqlError("type.like", f"{shown(term)}: LIKE must be between a column and a text", offset=term.at)
            return False
        type_ = next((column.type for column in self.row.value if column.name == term.value.name), None)
        if type_ != STRING or not isinstance(term.pattern, e.StringLiteral | e.NullLiteral):
            message = (
                f"{shown(term)}: LIKE compares a STRING with a pattern in quotes, and {shown(term.value)} is {type_}"
            )
            raise SqlError("type.like", message, offset=term.at)
        return True

    def _is_on(self, setting: str) -> bool:
        return str(self.settings.get(setting, True)).lower() == "true"

    def _scan_or(self, problem: str) -> None:
        if not self._is_on(TABLE_SCAN):
            self._refuse(problem)

    def _refuse(self, problem: str) -> NoReturn:
        hint = f"Look up keys: WHERE <key> = ... Or allow all rows to be read: SET '{TABLE_SCAN}'='true'."
        raise SqlError("pull.where", f"{problem}, and reading all rows is not enabled", hint=hint)


def simplified(condition: e.Expression) -> e.Expression:
    """The condition with nothing but AND, OR and comparisons, as far as it can be: BETWEEN and IN are taken apart."""
    return rewritten(with_times(condition), _taken_apart)


def evaluated(condition: e.Expression, types: Mapping[str, SqlType]) -> e.Expression:
    """As simplified, but with the lists that a row is looked up in at once: of literals of the type of a column."""
    return rewritten(with_times(condition), lambda part: part if _is_plain_list(part, types) else _taken_apart(part))


def _is_plain_list(part: e.Expression, types: Mapping[str, SqlType]) -> bool:
    if not isinstance(part, e.In) or not isinstance(part.value, e.Column):
        return False
    literals = _LITERALS.get(types.get(part.value.name), ())
    return all(isinstance(item, literals) for item in part.items)


def _taken_apart(part: e.Expression) -> e.Expression | None:
    match part:
        case e.Between(value, low, high):
            above, below = e.Binary(">=", value, low, at=part.at), e.Binary("<=", value, high, at=part.at)
            return e.Binary("AND", above, below, at=part.at)
        case e.In(value, items):
            return _any_of([e.Binary("=", value, item, at=part.at) for item in items])
    return None


def _any_of(terms: Sequence[e.Expression]) -> e.Expression:
    """The terms with OR between them, as flat as can be: what goes through a tree is recursive, and lists are long."""
    if len(terms) == 1:
        return terms[0]
    middle = len(terms) // 2
    return e.Binary("OR", _any_of(terms[:middle]), _any_of(terms[middle:]), at=terms[0].at)


def alternatives(condition: e.Expression) -> list[e.Expression]:
    """The condition as alternatives without OR, of which one must hold; itself where there are too many."""
    found = _alternatives(simplified(condition))
    return [condition] if found is None else found


def _alternatives(condition: e.Expression) -> list[e.Expression] | None:
    match condition:
        case e.Binary("OR" | "AND", left, right):
            ours, theirs = _alternatives(left), _alternatives(right)
            if ours is None or theirs is None:
                return None
            if condition.operator == "OR":
                return [*ours, *theirs]
            if len(ours) * len(theirs) > _MOST_ALTERNATIVES:
                return None
            return [replace(condition, left=one, right=other) for one in ours for other in theirs]
        case _:
            return [condition]


def _terms(condition: e.Expression) -> Iterator[e.Expression]:
    if isinstance(condition, e.Binary) and condition.operator == "AND":
        yield from _terms(condition.left)
        yield from _terms(condition.right)
    else:
        yield condition
