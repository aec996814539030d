"""Values to bytes and back, byte for byte as Kafka's own serdes.

Users know this package as ``serdes``: ``from headrace import serdes``, then ``serdes.string()``, ``serdes.json()``.
Anything with ``serialize(topic, value)`` and ``deserialize(topic, data)`` is a serde.
"""

from __future__ import annotations

import builtins
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, overload
from uuid import UUID

from headrace.durations import Duration, to_ms
from headrace.errors import OperatorTypeError, user_line
from headrace.functions import check_function
from headrace.guesses import missing_name
from headrace.optional import extra_for
from headrace.serde.contract import Serde
from headrace.serde.json_values import FunctionSerde, JsonSerde
from headrace.serde.lists import ListSerde
from headrace.serde.primitives import (
    BooleanSerde,
    BytesSerde,
    FloatingSerde,
    IntegerSerde,
    StringSerde,
    UuidSerde,
    VoidSerde,
)
from headrace.serde.typed_json import typed_json
from headrace.serde.windowed import SessionWindowedSerde, TimeWindowedSerde
from headrace.type_variables import T

if TYPE_CHECKING:
    from headrace.serde.registry import RegistryGiven

__all__ = [
    "Serde",
    "avro",
    "boolean",
    "bytes",
    "double",
    "float",
    "integer",
    "json",
    "json_schema",
    "list",
    "long",
    "of",
    "protobuf",
    "session_windowed",
    "short",
    "string",
    "uuid",
    "void",
    "windowed",
]

_STRING = StringSerde()
_LONG = IntegerSerde("long()", 8)
_INTEGER = IntegerSerde("integer()", 4)
_SHORT = IntegerSerde("short()", 2)
_DOUBLE = FloatingSerde("double()", 8)
_FLOAT = FloatingSerde("float()", 4)
_BYTES = BytesSerde()
_BOOLEAN = BooleanSerde()
_UUID = UuidSerde()
_VOID = VoidSerde()
_JSON = JsonSerde()


def string() -> Serde[str]:
    r"""Text, as UTF-8. Bytes that are no UTF-8 are read as U+FFFD, as in Kafka. The default for keys and values.

    >>> string().serialize("topic", "grün")
    b'gr\xc3\xbcn'
    """
    return _STRING


def long() -> Serde[int]:
    r"""Whole numbers in 8 bytes. A number that does not fit or other than 8 bytes is a SerializationError.

    >>> long().serialize("topic", 1)
    b'\x00\x00\x00\x00\x00\x00\x00\x01'
    """
    return _LONG


def integer() -> Serde[int]:
    r"""Whole numbers in 4 bytes.

    >>> integer().serialize("topic", -1)
    b'\xff\xff\xff\xff'
    """
    return _INTEGER


def short() -> Serde[int]:
    r"""Whole numbers in 2 bytes.

    >>> short().deserialize("topic", b"\x01\x00")
    256
    """
    return _SHORT


def double() -> Serde[builtins.float]:
    r"""Floating-point numbers in 8 bytes.

    >>> double().serialize("topic", 1.0)
    b'?\xf0\x00\x00\x00\x00\x00\x00'
    """
    return _DOUBLE


def float() -> Serde[builtins.float]:
    """Floating-point numbers in 4 bytes: a value is rounded to single precision.

    >>> float().deserialize("topic", float().serialize("topic", 0.1))
    0.10000000149011612
    """
    return _FLOAT


def bytes() -> Serde[builtins.bytes]:
    """Bytes as they are.

    >>> bytes().serialize("topic", b"raw")
    b'raw'
    """
    return _BYTES


def boolean() -> Serde[bool]:
    r"""True and False in one byte. Any other byte is a SerializationError.

    >>> boolean().serialize("topic", True)
    b'\x01'
    """
    return _BOOLEAN


def uuid() -> Serde[UUID]:
    """``uuid.UUID`` as text of 36 characters.

    >>> uuid().serialize("topic", UUID(int=1))
    b'00000000-0000-0000-0000-000000000001'
    """
    return _UUID


def void() -> Serde[None]:
    """For keys or values that are always None; anything else is an error.

    >>> void().serialize("topic", None) is None
    True
    """
    return _VOID


@overload
def json() -> Serde[Any]: ...
@overload
def json(type: builtins.type[T]) -> Serde[T]: ...
def json(type: Any = None) -> Serde[Any]:
    """Dicts, lists, text, numbers and booleans as JSON. What JSON cannot say is a SerializationError.

    Dataclasses, dates and UUIDs can be written, and come back as dicts and text. With a ``type`` they come back as
    objects of it: a dataclass, a ``msgspec.Struct``, a ``TypedDict`` or a pydantic model. What does not fit the type
    is a SerializationError that names the field by its path.

    >>> json().serialize("topic", {"ms": 12})
    b'{"ms":12}'
    >>> from dataclasses import dataclass
    >>> @dataclass
    ... class Purchase:
    ...     item: str
    ...     cents: int
    >>> json(Purchase).deserialize("topic", b'{"item":"tea","cents":450}')
    Purchase(item='tea', cents=450)
    """
    return _JSON if type is None else typed_json(type)


def list(inner: Serde[T] | None = None) -> Serde[builtins.list[T]]:
    """Lists of what ``inner`` writes; None takes the inner serde from ``default.list.value.serde.inner``.

    >>> words = list(string())
    >>> words.deserialize("topic", words.serialize("topic", ["to", "be"]))
    ['to', 'be']
    """
    return ListSerde(_checked(inner, "list"))


def windowed(inner: Serde[T] | None, size: Duration) -> TimeWindowedSerde[T]:
    """Keys of windows of ``size``, which the bytes do not hold; with ``inner`` None the default serde is inside.

    Give it to read a windowed topic; a table that was aggregated in windows writes with its own.

    >>> keys = windowed(string(), 10)
    >>> str(keys.deserialize("topic", b"alice" + long().serialize("topic", 20)))
    '[alice@20/30]'
    """
    return TimeWindowedSerde(_checked(inner, "windowed"), to_ms(size, "size"))


def session_windowed(inner: Serde[T] | None = None) -> SessionWindowedSerde[T]:
    """Keys of session windows, with both their ends; with ``inner`` None the default serde is inside.

    >>> keys, time = session_windowed(string()), long()
    >>> str(keys.deserialize("topic", b"alice" + time.serialize("topic", 25) + time.serialize("topic", 20)))
    '[alice@20/25]'
    """
    return SessionWindowedSerde(_checked(inner, "session_windowed"))


def _checked(inner: Serde[T] | None, outer: str) -> Serde[T] | None:
    if inner is None or isinstance(inner, Serde):
        return inner
    message = f"serdes.{outer}() takes a serde, found {inner!r}"
    raise OperatorTypeError(message, hint=f"Give an object, such as serdes.{outer}(serdes.string()).", at=user_line())


def of(dumps: Callable[[T], builtins.bytes], loads: Callable[[builtins.bytes], T]) -> Serde[T]:
    """A serde of two functions: ``dumps`` gives the bytes of a value, ``loads`` the value of bytes.

    None never reaches them. What they raise becomes a SerializationError.

    >>> hexadecimal = of(lambda number: b"%x" % number, lambda data: int(data, 16))
    >>> hexadecimal.deserialize("topic", hexadecimal.serialize("topic", 255))
    255
    """
    for name, function in (("dumps", dumps), ("loads", loads)):
        check_function(f"serdes.of(): {name}", function, 1, user_line())
    return FunctionSerde(dumps, loads)


def avro(schema: Any, registry: RegistryGiven = None, **options: Any) -> Serde[Any]:
    """Avro records as dicts, with the extra ``headrace[avro]``; see ``headrace.serde.avro_values.AvroSerde``.

    ``schema`` is Avro's JSON, as text or as dict. Without a registry the bytes are Avro alone; with one (an
    object, its URL, or the settings of confluent-kafka's client) they begin with Confluent's five bytes, and are read
    with the schema they were written with.
    Without the extra this is an UnsupportedError that says what to install.

    >>> view = avro({"type": "record", "name": "View", "fields": [{"name": "page", "type": "string"}]})
    >>> view.deserialize("topic", view.serialize("topic", {"page": "home"}))
    {'page': 'home'}
    """
    with extra_for("serdes.avro()"):
        from headrace.serde.avro_values import avro_serde  # noqa: PLC0415
    return avro_serde(schema, registry, **options)


def protobuf(type: builtins.type[T], registry: RegistryGiven = None, **options: Any) -> Serde[T]:
    """Messages of a generated class, with the extra ``headrace[protobuf]``; see ``headrace.serde.protobuf_values``.

    Without a registry the bytes are the message alone; with one (an object, its URL, or the settings of
    confluent-kafka's client) Confluent's prefix comes first.
    """
    with extra_for("serdes.protobuf()"):
        from headrace.serde.protobuf_values import protobuf_serde  # noqa: PLC0415
    return protobuf_serde(type, registry, **options)


def json_schema(schema: Any, registry: RegistryGiven, **options: Any) -> Serde[Any]:
    r"""JSON behind the id of its JSON Schema; see ``headrace.serde.json_schema_values.JsonSchemaSerde``.

    ``schema`` is the schema, as text or as dict; ``registry`` an object, a URL, or the settings of confluent-kafka's
    client. Values are not held against the schema.

    >>> from headrace.serde.registry import InMemorySchemaRegistry
    >>> view = json_schema({"title": "View", "type": "object"}, InMemorySchemaRegistry())
    >>> view.serialize("topic", {"page": "home"})
    b'\x00\x00\x00\x00\x01{"page":"home"}'
    """
    from headrace.serde.json_schema_values import json_schema_serde  # noqa: PLC0415

    return json_schema_serde(schema, registry, **options)


if not TYPE_CHECKING:  # A type checker should miss what is not there.

    def __getattr__(name: str) -> Any:
        raise missing_name(__name__, name, __all__, sys._getframe(1))


def __dir__() -> builtins.list[str]:
    return __all__
