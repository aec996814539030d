"""What cannot travel to a worker, found before anything starts: which function, and what it has captured."""

from __future__ import annotations

import functools
import io
import sys
import textwrap
import types
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from headrace.errors import ConfigError, HeadraceError, OperatorTypeError
from headrace.spark.shipping import ProgramPickler

if TYPE_CHECKING:
    from headrace.topology import Topology

_DEEPEST = 20
_REASON = 100
_HINT = (
    "Functions run in workers, which are other processes. Open it there: in init() of a Processor, or inside the "
    "function that uses it. Spark itself cannot be used there."
)


class _Nowhere(io.RawIOBase):
    """Takes bytes and forgets them."""

    def write(self, data: Any) -> int:
        return len(data)


def check_travel(topology: Topology, settings: Mapping[str, Any]) -> HeadraceError | None:
    """What is wrong with the first thing of the topology or the settings that cannot be sent; None where all can be."""
    graph = topology.graph
    if _travels((graph, dict(settings))):
        return None
    for name, value in settings.items():
        if not _travels(value):
            blame, _ = _blame(value)
            message = f"the setting {name} cannot be sent to the workers: {blame}"
            return ConfigError(message, hint=_HINT)
    for node in graph.nodes.values():
        for each in fields(node):
            error = _refused(f"node {node.name}", getattr(node, each.name), node.built_at)
            if error is not None:
                return error
    built = {user: node.built_at for user, node in graph.nodes.items()}
    for name, builder in (*graph.stores.items(), *graph.global_stores.items()):
        user = next(iter(graph.users_of.get(name, ())), "")
        error = _refused(f"store {name}", builder, built.get(user))
        if error is not None:
            return error
    return _refused("the topology", graph, None)


def _refused(where: str, thing: Any, built_at: str | None) -> OperatorTypeError | None:
    if _travels(thing):
        return None
    blame, line = _blame(thing)
    places = dict.fromkeys(place for place in (line, built_at, where) if place is not None)
    message = f"a function cannot be sent to the workers: {blame}"
    return OperatorTypeError(message, hint=_HINT, at=", ".join(places))


def _travels(thing: Any) -> bool:
    return _refusal(thing) is None


def _refusal(thing: Any) -> Exception | None:
    try:
        ProgramPickler(_Nowhere()).dump(thing)  # type: ignore[no-untyped-call]
    except Exception as error:
        return error
    return None


def _blame(thing: Any) -> tuple[str, str | None]:
    """Who captures what, in words, and the line of the user's function."""
    owner: Any = None
    path = ""
    for _ in range(_DEEPEST):
        if owner is None and _is_users(thing):
            owner = thing
        found = next(((name, part) for name, part in _parts(thing) if not _travels(part)), None)
        if found is None:
            break
        name, thing = found
        path += name if owner is not None else ""
    reason = textwrap.shorten(str(_refusal(thing)), _REASON, placeholder=" …")
    what = f"{_article(type(thing).__name__)} ({reason})"
    if owner is None or owner is thing:
        return f"it is {what}", None
    return f"{_named(owner)} uses {path.lstrip('.')}, which is {what}", _line(owner)


def _is_users(thing: Any) -> bool:
    return not _is_of_a_library(thing) and _package(thing) != "headrace"


def _is_of_a_library(thing: Any) -> bool:
    """Whether ``thing`` comes from a package that the user installed; Headrace, though one, holds what users give."""
    package = _package(thing)
    if package == "headrace":
        return False
    file = getattr(sys.modules.get(package), "__file__", None) or ""
    return package in sys.stdlib_module_names or "site-packages" in file


def _package(thing: Any) -> str:
    kind = thing if isinstance(thing, (types.FunctionType, type)) else type(thing)
    return (getattr(kind, "__module__", None) or "").partition(".")[0]


def _parts(thing: Any) -> Iterator[tuple[str, Any]]:
    """What ``thing`` takes along, each with how one writes it."""
    if isinstance(thing, types.MethodType):
        yield "", thing.__self__
        yield "", thing.__func__
    elif isinstance(thing, functools.partial):
        yield from (("", part) for part in (thing.func, *thing.args))
        yield from ((f".{name}", part) for name, part in thing.keywords.items())
    elif isinstance(thing, functools._lru_cache_wrapper):
        yield "", thing.__wrapped__
    elif isinstance(thing, types.FunctionType):
        yield from _captured(thing)
    elif isinstance(thing, Mapping):
        yield from ((f"[{key!r}]", part) for key, part in thing.items())
    elif isinstance(thing, (list, tuple, set, frozenset)):
        yield from ((f"[{number}]", part) for number, part in enumerate(thing))
    elif not _is_of_a_library(thing):
        yield from ((f".{name}", part) for name, part in _attributes(thing))


def _captured(function: types.FunctionType) -> Iterator[tuple[str, Any]]:
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=False):
        try:
            yield f".{name}", cell.cell_contents
        except ValueError:
            continue  # Not assigned yet.
    known = function.__globals__
    yield from ((f".{name}", known[name]) for name in _names(function.__code__) if name in known)
    yield from ((f".{name}", part) for name, part in (function.__kwdefaults__ or {}).items())
    positional = function.__code__.co_varnames[: function.__code__.co_argcount]
    defaults = function.__defaults__ or ()
    yield from ((f".{name}", part) for name, part in zip(reversed(positional), reversed(defaults), strict=False))


def _names(code: types.CodeType) -> Iterable[str]:
    """The global names that a function uses, and the functions inside it."""
    inner = (name for each in code.co_consts if isinstance(each, types.CodeType) for name in _names(each))
    return dict.fromkeys((*code.co_names, *inner))


def _attributes(thing: Any) -> Iterator[tuple[str, Any]]:
    slots = (name for kind in type(thing).__mro__ for name in getattr(kind, "__slots__", ()))
    own = getattr(thing, "__dict__", {})
    yield from ((name, part) for name, part in own.items() if isinstance(own, dict) or not name.startswith("__"))
    yield from ((name, getattr(thing, name)) for name in slots if hasattr(thing, name) and name != "__dict__")
    if not isinstance(thing, type) and _is_users(thing):
        yield "", type(thing)


def _named(owner: Any) -> str:
    if isinstance(owner, types.FunctionType):
        return "a lambda" if owner.__name__ == "<lambda>" else f"{owner.__name__}()"
    return f"the class {owner.__name__}" if isinstance(owner, type) else _article(type(owner).__name__)


def _article(name: str) -> str:
    return f"an {name}" if name[:1].lower() in "aeiou" else f"a {name}"


def _line(owner: Any) -> str | None:
    code = getattr(owner, "__code__", None)
    return None if code is None else f"{code.co_filename}:{code.co_firstlineno}"
