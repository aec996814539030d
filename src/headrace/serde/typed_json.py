"""JSON that is read into a type of the user's: dataclasses, msgspec structs, TypedDicts, pydantic models."""

from __future__ import annotations

import inspect
import typing
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Generic, NamedTuple, is_typeddict

import msgspec

from headrace.errors import ArgumentError, SerializationError, user_line
from headrace.serde.contract import shorten, wrong_type
from headrace.type_variables import T

_OTHER_SERDE = "Was the topic written with another serde, or by an older version of the program?"


class _Codec(NamedTuple):
    dumps: Callable[[Any], bytes]
    loads: Callable[[bytes], Any]
    errors: tuple[type[Exception], ...]


@dataclass(frozen=True, slots=True)
class TypedJsonSerde(Generic[T]):
    """Objects of the type ``kind`` as compact JSON; what does not fit is a SerializationError with the field's path."""

    kind: Any

    def __repr__(self) -> str:
        return f"serdes.json({_name(self.kind)})"

    def __reduce__(self) -> tuple[Any, ...]:
        return _travelled, (self.kind, tuple(_annotations(self.kind)))

    def serialize(self, topic: str, value: T | None) -> bytes | None:
        if value is None:
            return None
        if isinstance(self.kind, type) and not is_typeddict(self.kind) and not _is_one(value, self.kind):
            raise wrong_type(repr(self), _name(self.kind), value)
        codec = _codec(self.kind)
        try:
            return codec.dumps(value)
        except codec.errors as error:
            raise self._failed("write", error, f"found {shorten(value)}") from error

    def deserialize(self, topic: str, data: bytes | None) -> T | None:
        if data is None:
            return None
        codec = _codec(self.kind)
        try:
            return codec.loads(data)  # type: ignore[no-any-return]
        except codec.errors as error:
            raise self._failed("read", error, f"bytes {shorten(bytes(data))}", hint=_OTHER_SERDE) from error

    def _failed(self, verb: str, error: Exception, detail: str, hint: str | None = None) -> SerializationError:
        message = f"json({_name(self.kind)}) cannot {verb} the record: {_why(error)}"
        return SerializationError(message, detail=detail, hint=hint)


def typed_json(kind: Any) -> TypedJsonSerde[Any]:
    """The serde of ``kind``; an ArgumentError where it is nothing that JSON can be read into."""
    try:
        _codec(kind)
    except TypeError as error:
        message = f"json() cannot read into {_name(kind)}: {error}"
        hint = "Give a dataclass, a msgspec.Struct, a TypedDict or a pydantic model; json() alone gives dicts."
        raise ArgumentError(message, hint=hint, at=user_line()) from error
    return TypedJsonSerde(kind)


@lru_cache(maxsize=256)
def _codec(kind: Any) -> _Codec:
    # Made where it is used: decoders do not travel to other processes, types do.
    if hasattr(kind, "model_validate_json"):
        return _Codec(lambda value: value.model_dump_json().encode(), kind.model_validate_json, (ValueError, TypeError))
    if isinstance(msgspec.inspect.type_info(kind), msgspec.inspect.CustomType):
        message = "it is a plain class" if isinstance(kind, type) else "it is an object, not a type"
        raise TypeError(message)
    encode, decode = msgspec.json.Encoder().encode, msgspec.json.Decoder(kind).decode

    def checked(value: Any) -> bytes:
        # Python lets a field hold what its type does not allow: that would be found when it is read, and too late.
        data = encode(value)
        decode(data)
        return data

    return _Codec(checked, decode, (msgspec.MsgspecError, TypeError))


def _annotations(kind: Any, seen: frozenset[Any] = frozenset()) -> Iterator[tuple[Any, dict[str, Any]]]:
    """The classes that ``kind`` is made of, each with the types of its fields: their names mean nothing elsewhere."""
    if kind in seen or hasattr(kind, "model_validate_json"):
        return
    own = inspect.get_annotations(kind) if isinstance(kind, type) else {}
    types = typing.get_type_hints(kind, include_extras=True) if own else {}
    if own:
        yield kind, {name: types[name] for name in own}
    for part in (*types.values(), *typing.get_args(kind)):
        yield from _annotations(part, seen | {kind})


def _travelled(kind: Any, annotations: tuple[tuple[Any, dict[str, Any]], ...]) -> TypedJsonSerde[Any]:
    """The serde in another process. A class that came along has lost the module that its annotations speak of."""
    for owner, types in annotations:
        owner.__annotations__ = types
    return TypedJsonSerde(kind)


def _is_one(value: Any, kind: type) -> bool:
    # A class of the program's main file may be another object in a worker, with the same name.
    return isinstance(value, kind) or (type(value).__module__, type(value).__qualname__) == (
        kind.__module__,
        kind.__qualname__,
    )


def _why(error: Exception) -> str:
    """What is wrong, and where: ``$`` is the whole record."""
    found = getattr(error, "errors", None)
    if not callable(found):
        return str(error).replace(" - at ", " at ")
    places = [(_path(each["loc"]), each["msg"]) for each in found()]
    return "; ".join(f"{text} at `{path}`" for path, text in places)


def _path(parts: tuple[str | int, ...]) -> str:
    return "$" + "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in parts)


def _name(kind: Any) -> str:
    return getattr(kind, "__qualname__", None) or str(kind)
