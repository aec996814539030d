"""How a ``msgspec.Struct`` of the program's own file travels: it is declared again, as msgspec makes structs whole."""

from __future__ import annotations

import inspect
import types
from typing import Any, cast

import msgspec
from pyspark.cloudpickle import cloudpickle

# What msgspec makes itself when a struct is declared. Its own note of how to read one cannot be pickled.
_MADE = ("__struct_", "__match_args__", "__slots__", "__msgspec_cache__")
_OPTIONS = (
    "frozen",
    "eq",
    "order",
    "array_like",
    "gc",
    "weakref",
    "dict",
    "cache_hash",
    "omit_defaults",
    "repr_omit_defaults",
    "forbid_unknown_fields",
    "tag_field",
)
_LATER = "__post_init__"


def reduce_struct(kind: msgspec.StructMeta, state: dict[str, Any]) -> tuple[Any, ...]:
    """What ``kind`` is pickled as. ``state`` is what cloudpickle found in the class: methods, class variables.

    Fields come first, methods and types after the class is known: they may speak of the class.
    """
    infos = {field.name: field for field in msgspec.structs.fields(cast(type[msgspec.Struct], kind))}
    own = [infos[name] for name in inspect.get_annotations(kind) if name in infos]
    options = {name: getattr(kind.__struct_config__, name) for name in _OPTIONS}
    # None would mean: as the base says. Where the base has a tag and this one has not, that is not the same.
    options["tag"] = False if kind.__struct_config__.tag is None else kind.__struct_config__.tag
    options["kw_only"] = any(field.name not in kind.__match_args__ for field in own)
    fields = {field.name: _declared(field) for field in own}
    kept = {name: value for name, value in state.items() if not name.startswith(_MADE) and name not in fields}
    kept["__annotations__"] = {field.name: field.type for field in own}
    places = kind.__name__, cloudpickle._get_bases(kind), kind.__module__  # type: ignore[no-untyped-call]
    tracked = cloudpickle._get_or_create_tracker_id(kind)  # type: ignore[no-untyped-call]
    made = (*places, fields, options, hasattr(kind, _LATER), tracked)
    return _make, made, (kept, {}), None, None, cloudpickle._class_setstate


def reduce_meta(meta: msgspec.Meta) -> tuple[Any, ...]:
    """The constraints in an ``Annotated``, which msgspec does not pickle."""
    given = {name: getattr(meta, name) for name in inspect.signature(msgspec.Meta).parameters}
    return _meta, ({name: value for name, value in given.items() if value is not None},)


def _meta(given: dict[str, Any]) -> msgspec.Meta:
    return msgspec.Meta(**given)


def _declared(field: msgspec.structs.FieldInfo) -> tuple[Any, Any, str]:
    """What ``msgspec.field`` takes."""
    return field.default, field.default_factory, field.encode_name


def _make(
    name: str,
    bases: tuple[Any, ...],
    module: str,
    fields: dict[str, tuple[Any, Any, str]],
    options: dict[str, Any],
    is_followed: bool,
    tracked: str,
) -> type:
    """The class with its fields, and without all that is set afterwards."""

    def fill(namespace: dict[str, Any]) -> None:
        namespace["__module__"] = module
        namespace["__annotations__"] = dict.fromkeys(fields, Any)
        for field, (default, factory, encoded) in fields.items():
            namespace[field] = msgspec.field(default=default, default_factory=factory, name=encoded)  # type: ignore[call-overload]
        if is_followed:
            namespace[_LATER] = _call_later

    made = types.new_class(name, bases, options, fill)
    return cloudpickle._lookup_class_or_track(tracked, made)  # type: ignore[no-untyped-call, no-any-return]


def _call_later(struct: msgspec.Struct) -> None:
    """Stands for a method that msgspec looks up when a class is declared, and that comes later here."""
    getattr(type(struct), _LATER)(struct)
