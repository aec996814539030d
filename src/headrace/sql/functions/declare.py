"""The decorators that declare functions of SQL. They return what they decorate unchanged."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Enum
from typing import Any, TypeAlias, TypeVar

from headrace.errors import OperatorTypeError, user_line
from headrace.sql.errors import SqlError
from headrace.sql.functions.hints import aggregate_signature_of, signature_of, table_signature_of
from headrace.sql.functions.patterns import Pattern
from headrace.sql.functions.signatures import Signature, pattern, signature
from headrace.sql.tree.types import SqlType

TypeRule: TypeAlias = Callable[[tuple[SqlType | None, ...]], SqlType]
"""A type computed from those of the arguments; the type of NULL is None."""
F = TypeVar("F", bound=Callable[..., Any])


def type_of_first(given: tuple[SqlType | None, ...]) -> SqlType:
    """The rule by which a result has the type of the first argument."""
    assert given[0] is not None
    return given[0]


_DECLARED = "__sql_functions__"
_SAID = {
    "scalar": '@scalar("NAME", "(STRING text, DECIMAL(10, 2) price) -> BOOLEAN")',
    "table": '@table("NAME", "(STRING text, DECIMAL(10, 2) price) -> BOOLEAN"), with the type of one row',
    "aggregate": '@aggregate("NAME", "(DECIMAL(10, 2) price) -> DOUBLE", stored_as="DOUBLE")',
}
"""A signature in SQL, by the kind of the function."""


class Kind(Enum):
    """What a function makes of rows."""

    SCALAR = "scalar"
    TABLE = "table"
    AGGREGATE = "aggregate"


@dataclass(frozen=True, slots=True)
class Overload:
    """One way to call a function.

    ``body`` is the function itself; for an aggregate the class. If it ``is_typed``, it is called once with the types of
    the arguments and returns the function (an aggregate gets them as ``types=``). An aggregate that ``is_configured``
    gets its settings as ``settings=``, by their names behind ``ksql.functions.<name>.``.
    """

    kind: Kind
    name: str
    signature: Signature
    body: Callable[..., Any]
    returns: TypeRule | None = None
    stored_as: Pattern | TypeRule | None = None
    is_typed: bool = False
    is_configured: bool = False
    description: str = ""
    is_plain: bool = False
    """Whether it sees structs as dicts, as functions of users do that are not typed."""


def scalar(
    name: str, *signatures: str, returns: TypeRule | None = None, typed: bool = False, description: str = ""
) -> Callable[[F], F]:
    """Declare a function of one row under ``name``, with one signature for each way to call it.

    Without a signature the type hints say it: int is BIGINT, float DOUBLE, ``list[str]`` ARRAY<STRING>. Values are
    Python's, NULL is None, lambdas are callables. ``returns`` computes the type of the result where the signature
    cannot say it. With ``typed`` the function is called once with the tuple of the arguments' types, and
    returns the function of values.

    >>> @scalar("GREETING", "(STRING name) -> STRING")
    ... def greeting(name: str) -> str:
    ...     return f"hello {name}"
    >>> greeting("you")
    'hello you'
    """
    return _declare(Kind.SCALAR, name, signatures, returns=returns, is_typed=typed, description=description)


def table(
    name: str, *signatures: str, returns: TypeRule | None = None, typed: bool = False, description: str = ""
) -> Callable[[F], F]:
    """Declare a function that makes several rows of one: it returns a list. Its result type is that of one row."""
    return _declare(Kind.TABLE, name, signatures, returns=returns, is_typed=typed, description=description)


def aggregate(
    name: str,
    *signatures: str,
    stored_as: str | TypeRule | None = None,
    returns: TypeRule | None = None,
    typed: bool = False,
    configured: bool = False,
    description: str = "",
) -> Callable[[F], F]:
    """Declare a class as an aggregate.

    It is made with the values of ``const`` parameters. It has ``initial()``, ``add(value, state)`` and
    ``merge(left, right)``; ``undo(value, state)`` if it can be used on tables; ``result(state)`` if that is not the
    state itself. ``value`` is a tuple if there are several columns. ``stored_as`` is the type of the state, which is
    not changed in place. Without signatures the type hints of the methods say all of it.

    >>> @aggregate("SUM_OF_SQUARES")
    ... class SumOfSquares:
    ...     def initial(self) -> int:
    ...         return 0
    ...     def add(self, value: int, total: int) -> int:
    ...         return total + value * value
    ...     def merge(self, left: int, right: int) -> int:
    ...         return left + right
    >>> [str(overload.signature) for overload in declared_in({"": SumOfSquares})]
    ['(BIGINT) -> BIGINT']
    """
    _check_name(Kind.AGGREGATE, name)
    options: dict[str, Any] = {
        "returns": returns,
        "is_typed": typed,
        "is_configured": configured,
        "description": description,
    }

    def declared(body: F) -> F:
        read, stored = [signature(text) for text in signatures], stored_as
        if not read:
            with _said_in_sql(Kind.AGGREGATE):
                found, state = aggregate_signature_of(body)
            read, stored = [found], stored or str(state)
        if stored is None:
            raise SqlError("function.signature", f"the aggregate {name} does not say what it is stored as")
        kept = pattern(stored) if isinstance(stored, str) else stored
        return _noted(
            body, (Overload(Kind.AGGREGATE, name.upper(), each, body, stored_as=kept, **options) for each in read)
        )

    return declared


def _declare(kind: Kind, name: str, signatures: tuple[str, ...], **options: Any) -> Callable[[F], F]:
    _check_name(kind, name)
    hinted = table_signature_of if kind is Kind.TABLE else signature_of

    def declared(body: F) -> F:
        with _said_in_sql(kind):
            read = [signature(text) for text in signatures] or [hinted(body)]
        return _noted(body, (Overload(kind, name.upper(), each, body, **options) for each in read))

    return declared


def _check_name(kind: Kind, name: object) -> None:
    if not isinstance(name, str):
        message = f"@{kind.value} is given the name of the function, found {name!r}"
        raise OperatorTypeError(message, hint=f'Write @{kind.value}("NAME").', at=user_line())


@contextmanager
def _said_in_sql(kind: Kind) -> Iterator[None]:
    """Let an error about type hints show what says the same in SQL."""
    try:
        yield
    except SqlError as error:
        error.hint = error.hint or f"Say it in SQL: {_SAID[kind.value]}."
        raise


def _noted(body: F, overloads: Iterable[Overload]) -> F:
    # A class inherits what its base declared; its own declarations are its own.
    setattr(body, _DECLARED, (*vars(body).get(_DECLARED, ()), *overloads))
    return body


def declared_in(namespace: dict[str, Any]) -> Iterator[Overload]:
    """What the functions and classes of a namespace declare, each once."""
    seen: set[int] = set()
    for value in namespace.values():
        found = getattr(value, "__dict__", {}).get(_DECLARED, ())
        if found and id(value) not in seen:
            seen.add(id(value))
            yield from found
