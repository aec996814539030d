"""Names that people try because Java has them, or because they are nearly right, and what they are called here.

A class of the public face inherits from ``Face``: a missing attribute is then an AttributeError that names ours, and
completion shows no internals. What is there is found as ever; only a miss comes here.
"""

from __future__ import annotations

import dis
import re
from collections.abc import Iterable
from types import FrameType
from typing import TYPE_CHECKING, ClassVar

from headrace.java_names import IN_CLASSES, IN_MODULES
from headrace.near_names import did_you_mean

_BOUNDARY = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_PREFIXES = ("get_", "set_", "with_", "is_", "to_")


def snake_case(name: str) -> str:
    """A name as Python writes it.

    >>> snake_case("mapValues"), snake_case("KStream"), snake_case("as_")
    ('map_values', 'k_stream', 'as')
    """
    return _BOUNDARY.sub("_", name).lower().rstrip("_")


def suggestion(owners: Iterable[str], name: str, known: Iterable[str]) -> str | None:
    """A sentence with what ``name`` is called here, looked for in the tables of ``owners`` first, then in ``known``."""
    spelled, names = snake_case(name), list(known)
    for owner in owners:
        ours = IN_CLASSES.get(owner, {}).get(spelled)
        if ours is not None:
            return f"Here it is {ours}."
    bare = [spelled, *(spelled.removeprefix(prefix) for prefix in _PREFIXES if spelled.startswith(prefix))]
    exact = next((candidate for candidate in bare if candidate in names), None)
    if exact is not None:
        return f"Here it is {exact}."
    return did_you_mean(spelled, names, cutoff=0.7, shown=str)


def missing_name(module: str, name: str, known: Iterable[str], caller: FrameType) -> Exception:
    """What a module raises that has no ``name``: an ImportError where ``caller`` imports it, else an AttributeError.

    For ``from module import name`` Python would put a bare message of its own in the place of an AttributeError.
    """
    message = f"module {module!r} has no attribute {name!r}"
    if name.startswith("_"):
        return AttributeError(message)
    table = IN_MODULES.get(module, {})
    ours = table.get(name) or table.get(snake_case(name))
    hint = f"Here it is {ours}." if ours is not None else _near(name, list(known))
    text = message if hint is None else f"{message}. {hint}"
    return ImportError(text, name=module) if _is_import(caller) else AttributeError(text)


def _is_import(frame: FrameType) -> bool:
    return dis.opname[frame.f_code.co_code[frame.f_lasti]] == "IMPORT_FROM"


def _near(name: str, names: list[str]) -> str | None:
    folded = {known.lower().replace("_", ""): known for known in names}
    exact = folded.get(name.lower().replace("_", ""))
    if exact is not None:
        return f"Here it is {exact}."
    return did_you_mean(name, names, cutoff=0.7, shown=str)


def _missing(cls: type, name: str) -> AttributeError:
    message = f"{cls.__name__} has no attribute {name!r}"
    if name.startswith("_"):
        return AttributeError(message)
    known = [known for known in _names_of(cls) if not known.startswith("_")]
    hint = suggestion([each.__name__ for each in cls.__mro__], name, known)
    return AttributeError(message if hint is None else f"{message}. {hint}")


def _names_of(cls: type) -> set[str]:
    internal: frozenset[str] = getattr(cls, "_internal", frozenset())
    return {name for each in cls.__mro__ if each is not object for name in vars(each)} - internal


class FaceType(type):
    """The class of classes that know guessed names, such as ``TimeWindows.of_size_and_grace``."""

    if not TYPE_CHECKING:  # A type checker should miss what is not there.

        def __getattr__(cls, name: str) -> None:
            raise _missing(cls, name)


class Face(metaclass=FaceType):
    """The base of public classes. ``_internal`` names the attributes that only Headrace uses: they are not shown."""

    __slots__ = ()

    _internal: ClassVar[frozenset[str]] = frozenset()

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> None:
            raise _missing(type(self), name)

    def __dir__(self) -> list[str]:
        return sorted(name for name in object.__dir__(self) if not name.startswith("_") and name not in self._internal)
