"""Fusion: a tree of stateless operators as one generated function.

Node by node, a record costs a guarded call, a forward and a new ``Record`` at each step. The generated function makes
the same calls of the user's functions in the same order, with key and value in local variables. Each operator keeps an
``except`` clause of its own, so that the processing exception handler hears of the same node and the same record.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from types import CodeType
from typing import Any, NamedTuple

from headrace.errors import (
    BrokerError,
    ProcessingError,
    StateDirectoryError,
    TaskCorruptedError,
    TaskMigratedError,
    UnreadableStateError,
)
from headrace.processors.filter import has_key
from headrace.processors.peek import nothing
from headrace.processors.results import as_many, as_pair
from headrace.processors.stateless import Fusible
from headrace.records import Record
from headrace.task.context import Take
from headrace.task.failures import QUITTING

MAX_DEPTH = 6
"""Operators that are nested in one function. Python allows twenty nested blocks; a flat map needs two of them."""

DECIDED = (
    ProcessingError,
    TaskCorruptedError,
    TaskMigratedError,
    StateDirectoryError,
    UnreadableStateError,
    BrokerError,
)
"""Errors that the node where they happened has handled, and errors that no record caused."""


CAUGHT = (Exception, *QUITTING)
"""What the node hears of where a function raised it."""


class Operator(NamedTuple):
    """An operator to be fused: what it does, what hears of its errors, and what follows."""

    does: Fusible | None
    """None for a source, which does nothing and guards nothing."""
    on_error: Callable[[Record[Any, Any], BaseException], None] | None
    children: tuple[Operator | Take, ...] = ()

    @property
    def what(self) -> Fusible:
        """What it does, where it is not a source."""
        assert self.does is not None
        return self.does


def call(processor: Any) -> Fusible:
    """What an operator does that cannot be taken apart: it is called from here, with the parts if it can take them."""
    take = getattr(processor, "take", None)
    return Fusible("process", processor.process) if take is None else Fusible("take", take)


def fuse(root: Operator) -> Take:
    """One function of a record's parts that does what ``root`` and all operators below it do."""
    return _written(root, "def fused(key, value, timestamp, headers):")  # type: ignore[no-any-return]


def fuse_record(root: Operator) -> Callable[[Record[Any, Any]], None]:
    """The same as a function of a record."""
    return _written(  # type: ignore[no-any-return]
        root,
        "def fused(record):",
        "key, value, timestamp, headers = record.key, record.value, record.timestamp, record.headers",
    )


def _written(root: Operator, definition: str, *first: str) -> Any:
    writer = _Writer()
    writer.line(0, definition)
    for text in first:
        writer.line(1, text)
    writer.operator(root, "key", "value", 1)
    exec(_compiled("\n".join(writer.lines)), writer.names)
    return writer.names["fused"]


@lru_cache(maxsize=512)
def _compiled(text: str) -> CodeType:
    # A file name inside this package, so that the search for the user's line skips it.
    return compile(text, f"{__file__}:fused", "exec")


class _Writer:
    """Writes the text of the function, and keeps what its names stand for."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.names: dict[str, Any] = {
            "Record": Record,
            "DECIDED": DECIDED,
            "CAUGHT": CAUGHT,
            "as_many": as_many,
            "as_pair": as_pair,
        }
        self._variables = 0

    def line(self, depth: int, text: str) -> None:
        self.lines.append("    " * depth + text)

    def operator(self, operator: Operator, key: str, value: str, depth: int) -> None:
        """The code of one operator and of all below it; ``key`` and ``value`` are the variables of its input."""
        if operator.does is None:
            self._children(operator, key, value, depth)
            return
        self.line(depth, "try:")
        getattr(self, "_" + operator.does.kind)(operator, key, value, depth + 1)
        self.line(depth, "except DECIDED:")
        self.line(depth + 1, "raise")
        self.line(depth, "except CAUGHT as error:")
        self.line(
            depth + 1, f"{self._name(operator.on_error, 'failed')}(Record({key}, {value}, timestamp, headers), error)"
        )

    def _children(self, operator: Operator, key: str, value: str, depth: int) -> None:
        if not operator.children:
            self.line(depth, "pass")
        for child in operator.children:
            if isinstance(child, Operator):
                self.operator(child, key, value, depth)
            else:
                self.line(depth, f"{self._name(child, 'child')}({key}, {value}, timestamp, headers)")

    def _filter(self, operator: Operator, key: str, value: str, depth: int) -> None:
        # One function of ours is called for every record that is repartitioned.
        is_key_asked = operator.what.function is has_key
        self.line(depth, f"if {key} is not None:" if is_key_asked else f"if {self._call(operator, key, value)}:")
        self._children(operator, key, value, depth + 1)

    def _filter_not(self, operator: Operator, key: str, value: str, depth: int) -> None:
        self.line(depth, f"if not {self._call(operator, key, value)}:")
        self._children(operator, key, value, depth + 1)

    def _map_values(self, operator: Operator, key: str, value: str, depth: int) -> None:
        new = self._variable()
        self.line(depth, f"{new} = {self._call(operator, key, value)}")
        self._children(operator, key, new, depth)

    def _select_key(self, operator: Operator, key: str, value: str, depth: int) -> None:
        new = self._variable()
        self.line(depth, f"{new} = {self._call(operator, key, value)}")
        self._children(operator, new, value, depth)

    def _map(self, operator: Operator, key: str, value: str, depth: int) -> None:
        pair = self._variable()
        self.line(depth, f"{pair} = {self._call(operator, key, value)}")
        self._children(operator, *self._unpacked(pair, operator, depth), depth)

    def _flat_map(self, operator: Operator, key: str, value: str, depth: int) -> None:
        pair = self._variable()
        self._each(pair, "pairs", operator, key, value, depth)
        self._children(operator, *self._unpacked(pair, operator, depth + 1), depth + 1)

    def _flat_map_values(self, operator: Operator, key: str, value: str, depth: int) -> None:
        new = self._variable()
        self._each(new, "values", operator, key, value, depth)
        self._children(operator, key, new, depth + 1)

    def _peek(self, operator: Operator, key: str, value: str, depth: int) -> None:
        if operator.what.function is not nothing:
            self.line(depth, self._call(operator, key, value))
        self._children(operator, key, value, depth)

    def _take(self, operator: Operator, key: str, value: str, depth: int) -> None:
        self.line(depth, f"{self._name(operator.what.function, 'function')}({key}, {value}, timestamp, headers)")

    def _process(self, operator: Operator, key: str, value: str, depth: int) -> None:
        function = self._name(operator.what.function, "function")
        self.line(depth, f"{function}(Record({key}, {value}, timestamp, headers))")

    def _pass(self, operator: Operator, key: str, value: str, depth: int) -> None:
        self._children(operator, key, value, depth)

    def _new_value(self, operator: Operator, key: str, value: str, depth: int) -> None:
        new = self._variable()
        self.line(depth, f"{new} = {value}.new")
        self._children(operator, key, new, depth)

    def _each(self, one: str, what: str, operator: Operator, key: str, value: str, depth: int) -> None:
        """The head of a loop over what the operator's function returns; a plain list needs no closer look."""
        many = self._variable()
        self.line(depth, f"{many} = {self._call(operator, key, value)}")
        checked = f"as_many({many}, {operator.what.kind!r}, {what!r}, {self._function(operator)})"
        self.line(depth, f"for {one} in {many} if type({many}) is list else {checked}:")

    def _unpacked(self, pair: str, operator: Operator, depth: int) -> tuple[str, str]:
        key, value = self._variable(), self._variable()
        checked = f"as_pair({pair}, {operator.what.kind!r}, {self._function(operator)})"
        is_pair = f"type({pair}) is tuple and len({pair}) == 2"
        self.line(depth, f"{key}, {value} = {pair} if {is_pair} else {checked}")
        return key, value

    def _function(self, operator: Operator) -> str:
        return self._name(operator.what.function, "function")

    def _call(self, operator: Operator, key: str, value: str) -> str:
        function = self._function(operator)
        return f"{function}({key}, {value})" if operator.what.with_key else f"{function}({value})"

    def _variable(self) -> str:
        self._variables += 1
        return f"x{self._variables}"

    def _name(self, thing: Any, kind: str) -> str:
        name = f"{kind}{len(self.names)}"
        self.names[name] = thing
        return name
