"""Functions of rows, generated for the expressions of a step."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from hashlib import blake2b
from types import CodeType
from typing import Any

from headrace.sql.analysis import bound as b
from headrace.sql.analysis.binding import Scope, scope_of_row
from headrace.sql.analysis.typing import bound_in
from headrace.sql.compile.expressions import write, write_condition
from headrace.sql.compile.knowing import can_fail
from headrace.sql.compile.recipes import Recipe
from headrace.sql.compile.writer import Module, Writer
from headrace.sql.errors import SqlError
from headrace.sql.functions.registry import Registry
from headrace.sql.schema import Column
from headrace.sql.text.format import shown
from headrace.sql.tree.expressions import Call, Expression
from headrace.sql.tree.types import BOOLEAN

_PARAMETERS = "row, log"


class RowFunction:
    """A function of a row and a log, generated as source. It can be pickled, and is compiled where it is first called.

    ``source`` is what was generated. The log is told of what fails: ``log.failed(what, error, row)``.
    """

    __slots__ = ("_function", "_names", "source")

    def __init__(self, source: str, names: dict[str, Recipe]) -> None:
        self.source = source
        self._names = names
        self._function: Callable[[Any, Any], Any] | None = None

    def __call__(self, row: Sequence[Any], log: Any) -> Any:
        return (self._function or self.compiled)(row, log)

    @property
    def compiled(self) -> Callable[[Any, Any], Any]:
        """The generated function itself, for this process."""
        if self._function is not None:
            return self._function
        namespace: dict[str, Any] = {name: recipe.make() for name, recipe in self._names.items()}
        # Tracebacks ask the loader of a module for its lines.
        namespace |= {"__name__": "headrace.sql.generated", "__loader__": self}
        exec(_code(self.source), namespace)
        function: Callable[[Any, Any], Any] = namespace["evaluate"]
        self._function = function
        return function

    def get_source(self, _name: str) -> str:
        """What was generated, for who shows lines of it."""
        return self.source

    def __reduce__(self) -> tuple[Any, ...]:
        return RowFunction, (self.source, self._names)


@lru_cache(maxsize=1024)
def _code(source: str) -> CodeType:
    """Compiled once in a process. Another text has another name, so that tracebacks do not mix them up."""
    name = f"generated-{blake2b(source.encode('utf-8', 'surrogatepass'), digest_size=6).hexdigest()}.sql"
    return compile(source, name, "exec")


def projection(expressions: Sequence[Expression], columns: Sequence[Column], functions: Registry) -> RowFunction:
    """The values of all expressions as a list; one that fails is null, and logged."""
    scope = _scope(columns, functions)
    found = [bound_in(scope, expression) for expression in expressions]
    w = Writer(Module())
    values = [
        f"row[{node.index}]" if isinstance(node, b.ColumnAt) else write(w, b.Guarded(node, shown(tree), node.type))
        for node, tree in zip(found, expressions, strict=True)
    ]
    w.line(f"return [{', '.join(values)}]")
    return _finished(w)


def predicate(expression: Expression, columns: Sequence[Column], functions: Registry) -> RowFunction:
    """Whether a condition holds; it does not where it fails, which is logged, or is null."""
    node = _bound(expression, columns, functions)
    if node.type != BOOLEAN:
        message = f"{shown(expression)} is {node.type or 'NULL'}, and not a condition"
        raise SqlError("type.boolean", message, offset=expression.at)
    w = Writer(Module())
    if isinstance(node, b.ColumnAt | b.Guarded | b.Choosing | b.CallOf | b.FieldOf | b.ItemAt | b.ValueAt):
        w.line(f"return {write(w, b.Guarded(node, shown(expression), BOOLEAN))} is True")
    elif can_fail(node):
        with w.block("try:"):
            w.line(f"return {write_condition(w, node)}")
        with w.block("except Exception as error:"):
            w.line(f"log.failed({shown(expression)!r}, error, row)")
            w.line("return False")
    else:
        w.line(f"return {write(w, node)}")
    return _finished(w)


def value(expression: Expression, columns: Sequence[Column], functions: Registry) -> RowFunction:
    """The value of one expression; null where it fails, which is logged."""
    node = _bound(expression, columns, functions)
    w = Writer(Module())
    w.line(f"return {write(w, b.Guarded(node, shown(expression), node.type))}")
    return _finished(w)


def table_function(call: Call, columns: Sequence[Column], functions: Registry) -> RowFunction:
    """The list of a table function's results; empty where it is null or fails, which is logged."""
    w = Writer(Module())
    node = _bound(call, columns, functions)
    w.line(f"return {write(w, b.Guarded(node, shown(call), node.type))} or []")
    return _finished(w)


def _scope(columns: Sequence[Column], functions: Registry) -> Scope:
    return scope_of_row({column.name: column.type for column in columns}, functions)


def _bound(expression: Expression, columns: Sequence[Column], functions: Registry) -> b.Bound:
    return bound_in(_scope(columns, functions), expression)


def _finished(w: Writer) -> RowFunction:
    source = "\n".join([*w.module.functions, w.text("evaluate", _PARAMETERS)])
    return RowFunction(source, w.module.names)
