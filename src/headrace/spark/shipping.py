"""How a program that no worker can import gets to the workers."""

from __future__ import annotations

import dataclasses
import functools
import io
import sys
from collections import ChainMap
from collections.abc import Callable
from types import ModuleType
from typing import Any

import msgspec
from pyspark import cloudpickle

from headrace.spark.struct_travel import reduce_meta, reduce_struct

# msgspec notes on a class how to read it, in an object that cannot be pickled. It makes the note again when needed.
_NOTE = "__msgspec_cache__"
_MAIN = "__main__"
_Cached = functools._lru_cache_wrapper


def ship_by_value(module: ModuleType) -> None:
    """Send the functions and classes of ``module`` themselves, not their names, as it is done with ``__main__``."""
    cloudpickle.register_pickle_by_value(module)  # type: ignore[no-untyped-call]


def packed(thing: Any) -> bytes:
    """What is sent to the workers for ``thing``."""
    target = io.BytesIO()
    ProgramPickler(target).dump(thing)  # type: ignore[no-untyped-call]
    return target.getvalue()


def _cached(function: Callable[..., Any], maxsize: int | None, typed: bool) -> _Cached[Any]:
    return functools.lru_cache(maxsize, typed)(function)


def _reduce_cached(cached: _Cached[Any]) -> str | tuple[Any, ...]:
    """The name of a cached function where a worker can import it, else the function with an empty cache."""
    if _can_be_imported(cached):
        return cached.__qualname__
    parameters = cached.cache_parameters()
    return _cached, (cached.__wrapped__, parameters["maxsize"], parameters["typed"])


def _can_be_imported(thing: Any) -> bool:
    by_value = (_MAIN, *cloudpickle.list_registry_pickle_by_value())  # type: ignore[no-untyped-call]
    if any(f"{thing.__module__}.".startswith(f"{name}.") for name in by_value):
        return False
    found: Any = sys.modules.get(thing.__module__)
    for name in thing.__qualname__.split("."):
        found = getattr(found, name, None)
    return found is thing


_REDUCERS: ChainMap[Any, Any] = ChainMap(
    {
        # A field has no default where its default is this one object: a copy of it would be taken for a default.
        type(dataclasses.MISSING): lambda _: "MISSING",
        _Cached: _reduce_cached,
        msgspec.Meta: reduce_meta,
    },
    cloudpickle.Pickler.dispatch_table,
)


class ProgramPickler(cloudpickle.Pickler):
    """Cloudpickle, and what it leaves out when the classes and functions of a program are sent by value."""

    dispatch_table = _REDUCERS

    def reducer_override(self, obj: Any) -> Any:
        """Called for each object; classes travel without what msgspec has noted on them."""
        if isinstance(obj, type) and _NOTE in vars(obj):
            delattr(obj, _NOTE)
        reduced = super().reducer_override(obj)  # type: ignore[no-untyped-call]
        is_by_value = isinstance(reduced, tuple)
        return reduce_struct(obj, reduced[2][0]) if is_by_value and isinstance(obj, msgspec.StructMeta) else reduced
