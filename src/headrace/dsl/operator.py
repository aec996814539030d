"""What all operators share: arguments are checked where they are given, at the user's line."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, TypeVar, cast

from headrace import functions
from headrace.dsl.keywords import with_keywords
from headrace.dsl.view import View
from headrace.errors import OperatorTypeError, user_line
from headrace.near_names import did_you_mean
from headrace.serde.given import given_serde, is_serde

if TYPE_CHECKING:
    from headrace.serde.contract import Serde

Method = TypeVar("Method", bound=Callable[..., Any])
R = TypeVar("R")


def operator(method: Method) -> Method:
    """Give a public method of the DSL an error that helps when it is called with the wrong arguments."""
    return _checked(method, inspect.signature(method))


def operator_with(keywords: type) -> Callable[[Method], Method]:
    """The same for a method whose ``**keywords`` are those of the class."""
    return lambda method: _checked(method, with_keywords(inspect.signature(method), keywords))


def _checked(method: Method, signature: inspect.Signature) -> Method:
    parameters = [each for name, each in signature.parameters.items() if name != "self"]

    @functools.wraps(method)
    def checked(*args: Any, **kwargs: Any) -> Any:
        try:
            bound = signature.bind(*args, **kwargs)
        except TypeError as error:
            # The class that the user has in hand, not one that it inherits the method from.
            name = f"{type(args[0]).__name__}.{method.__name__}" if args else method.__qualname__
            raise _argument_error(name, parameters, args[1:], kwargs, error) from None
        _take_serdes(bound.arguments)
        _check_callbacks(method.__name__, bound.arguments)
        _check_builders(method.__name__, bound.arguments.values())
        return method(*bound.args, **bound.kwargs)

    checked.__signature__ = signature  # type: ignore[attr-defined]
    return cast(Method, checked)


def _take_serdes(arguments: dict[str, Any]) -> None:
    """Put the serdes that names and classes stand for in their place."""
    for name in [name for name in arguments if name.endswith("serde")]:
        arguments[name] = given_serde(name, arguments[name])


def taken(*serdes: object) -> tuple[Serde[Any] | None, ...]:
    """Serde arguments as ``operator`` has left them, for type checkers: names and classes have been replaced."""
    return cast("tuple[Serde[Any] | None, ...]", serdes)


def _check_callbacks(operator: str, arguments: dict[str, Any]) -> None:
    for name in _CALLBACKS.keys() & arguments.keys():
        if arguments[name] is not None:
            check_function(arguments[name], _CALLBACKS[name], operator=operator, argument=name)


def _check_builders(operator: str, given: Iterable[object]) -> None:
    """Refuse streams and tables of another builder: their nodes are in another topology."""
    views = [each for each in given if isinstance(each, View)]
    if any(each.builder is not views[0].builder for each in views):
        message = f"{operator}() is given a stream or table of another StreamsBuilder"
        raise OperatorTypeError(message, hint="Make all streams and tables with one builder.", at=user_line())


def call_as(name: str, function: Callable[..., R], fixed: tuple[Any, ...], /, *args: Any, **kwargs: Any) -> R:
    """Call a function that stands behind the method ``name``; ``fixed`` are arguments the user did not give."""
    signature = inspect.signature(function)
    try:
        signature.bind(*fixed, *args, **kwargs)
    except TypeError as error:
        parameters = list(signature.parameters.values())[len(fixed) :]
        raise _argument_error(name, parameters, args, kwargs, error) from None
    _take_serdes(kwargs)
    _check_builders(name, fixed)
    return function(*fixed, *args, **kwargs)


def _argument_error(
    name: str, parameters: list[inspect.Parameter], args: tuple[Any, ...], kwargs: dict[str, Any], error: TypeError
) -> OperatorTypeError:
    names = [each.name for each in parameters]
    unknown = next((given for given in kwargs if given not in names), None)
    if unknown is None:
        method = name.rpartition(".")[2]
        hint = _right_call(method, parameters, args) or f"It takes {', '.join(names)}."
        if method.endswith("join") and "windows" in names[len(args) :] and "windows" not in kwargs:
            hint = f"Say how far apart the records may be: {method}(other, joiner, JoinWindows(timedelta(minutes=5)))."
        return OperatorTypeError(f"{name}(): {error}", hint=hint, at=user_line())
    hint = did_you_mean(unknown, names, shown="{}=".format) or f"It takes {', '.join(names)}."
    return OperatorTypeError(f"{name}() has no argument {unknown!r}", hint=hint, at=user_line())


def _right_call(method: str, parameters: list[inspect.Parameter], args: tuple[Any, ...]) -> str | None:
    """What to write where more is given by position than there is; serdes are what people give so."""
    placed = [each.name for each in parameters if each.kind is inspect.Parameter.POSITIONAL_OR_KEYWORD]
    named = [each.name for each in parameters if each.kind is inspect.Parameter.KEYWORD_ONLY]
    serdes = [f"{name}=..." for name in named if name.endswith("serde")]
    if serdes and any(is_serde(each) for each in args):
        return f"Serdes are given by their names: {method}({', '.join([*placed, *serdes])})."
    if len(args) > len(placed) and named:
        return f"Without a name it takes {', '.join(placed) or 'nothing'}; by their names {', '.join(named)}."
    return None


def check_function(function: Any, arity: int, *, operator: str, argument: str, with_key: bool = True) -> None:
    """Refuse async functions and what cannot take ``arity`` positional arguments; builtins without a signature pass.

    ``with_key`` says whether an operator of that name has this switch here.
    """
    signature = functions.signature_of(function)
    takes_key = with_key and operator in _WITH_KEY and signature is not None and functions.takes(signature, arity + 1)
    hint = _KEY_TOO if takes_key else None
    functions.check_function(f"{operator}(): {argument}", function, arity, user_line(), hint)


_CALLBACKS = {"partitioner": 4, "other_partitioner": 4, "timestamp_extractor": 2, "function": 1, "consumer": 1}
_WITH_KEY = frozenset({"map_values", "flat_map_values", "join", "left_join", "outer_join"})
_KEY_TOO = "with_key=True gives the function the key as well."
