"""What the parts of a case mean in Headrace's words: serdes, extractors, stores, windows, keywords."""

from __future__ import annotations

import base64
import re
from collections.abc import Callable
from datetime import timedelta
from typing import Any

from headrace import (
    BufferConfig,
    JoinWindows,
    SessionWindows,
    SlidingWindows,
    TimeWindows,
    UnlimitedWindows,
    serdes,
    stores,
    timestamps,
)
from headrace.errors import SerializationError
from tests.conformance import functions as fn
from tests.conformance.functions import text

Json = Any

STORE_KINDS = {"rocks_db": stores.ROCKSDB, "in_memory": stores.IN_MEMORY}


class PickySerde:
    """A string serde with one text it cannot write and one it cannot read."""

    def serialize(self, topic: str, value: str | None) -> bytes | None:
        """Refuse ``unserializable``."""
        if value == "unserializable":
            raise SerializationError("cannot serialize")
        return serdes.string().serialize(topic, value)

    def deserialize(self, topic: str, data: bytes | None) -> str | None:
        """Refuse ``undeserializable``."""
        if data == b"undeserializable":
            raise SerializationError("cannot deserialize")
        return serdes.string().deserialize(topic, data)


def serde(spec: Json) -> Any:
    """The serde that a case names; None stays None."""
    if spec is None:
        return None
    if isinstance(spec, str):
        return PickySerde() if spec == "picky" else getattr(serdes, spec)()
    if "list" in spec:
        return serdes.list(serde(spec["list"]))
    if "time_windowed" in spec:
        return serdes.windowed(serde(spec["time_windowed"]), spec["size"])
    return serdes.session_windowed(serde(spec["session_windowed"]))


def raw(x: Json) -> bytes | None:
    """The raw bytes of an input, if it is given so."""
    return base64.b64decode(x["b64"]) if isinstance(x, dict) and set(x) == {"b64"} else None


def extractor(spec: Json) -> Any:
    """A timestamp extractor."""
    if spec is None:
        return None
    if isinstance(spec, str):
        spec = {"fn": spec}
    arg = spec.get("arg")

    def from_value(record: Any, missing: int) -> int:
        x = fn.field(record.value, arg)
        return missing if x is None else fn.num(x)

    table: dict[str, Callable[[Any, int], int]] = {
        "fail_on_invalid": timestamps.fail_on_invalid_timestamp,
        "log_and_skip": timestamps.log_and_skip_on_invalid_timestamp,
        "use_partition_time": timestamps.use_partition_time_on_invalid_timestamp,
        "wallclock": timestamps.wallclock_timestamp,
        "from_value": lambda record, time: from_value(record, -1),
        "from_value_else_partition_time": from_value,
        "const": lambda record, time: arg,
        "record_plus": lambda record, time: record.timestamp + arg,
        "skip_if_value": lambda record, time: -1 if text(record.value) == arg else record.timestamp,
    }
    return table[spec["fn"]]


def reset(spec: str | None) -> Any:
    """An offset reset policy: a name, or a duration."""
    if spec is None or spec in ("earliest", "latest", "none"):
        return spec
    match = re.fullmatch(r"P(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+(?:\.\d+)?)S)?)?", spec)
    assert match, spec
    days, hours, minutes, seconds = (float(part or 0) for part in match.groups())
    return timedelta(days=days, hours=hours, minutes=minutes, seconds=seconds)


def store_supplier(spec: Json) -> Any:
    """A supplier from ``stores``."""
    name, kind, where = spec["name"], spec.get("type", "kv"), spec.get("supplier", "persistent")
    memory = where == "in_memory"
    if where == "lru":
        return stores.lru(name, spec["max_entries"])
    if kind in ("kv", "timestamped_kv"):
        if memory:
            return stores.in_memory(name)
        return stores.persistent(name) if kind == "kv" else stores.persistent_timestamped(name)
    if kind == "versioned":
        return stores.versioned(name, spec["history"], spec.get("segment_interval"))
    if kind == "session":
        return (stores.in_memory_session if memory else stores.persistent_session)(name, spec["retention"])
    make = stores.in_memory_window if memory else stores.persistent_window
    if kind == "timestamped_window" and not memory:
        make = stores.persistent_timestamped_window
    return make(name, spec["retention"], spec["window_size"], spec.get("retain_duplicates", False))


_BUILDERS: dict[str, Callable[..., Any]] = {
    "kv": stores.key_value,
    "timestamped_kv": stores.timestamped_key_value,
    "versioned": stores.versioned_key_value,
    "window": stores.window,
    "timestamped_window": stores.timestamped_window,
    "session": stores.session,
}


def store_builder(spec: Json) -> Any:
    """A store builder."""
    make = _BUILDERS[spec.get("type", "kv")]
    builder = make(
        store_supplier(spec),
        key_serde=serde(spec.get("key_serde", "string")),
        value_serde=serde(spec.get("value_serde", "string")),
    )
    if spec.get("caching"):
        builder.with_caching_enabled()
    logging = spec.get("logging")
    if logging is False:
        builder.with_logging_disabled()
    elif isinstance(logging, dict):
        builder.with_logging_enabled(logging)
    return builder


def windows(spec: Json) -> Any:
    """The windows of ``windowed_by``."""
    kind, grace = spec["type"], spec.get("grace")
    if kind == "time":
        return TimeWindows(spec["size"], advance=spec.get("advance"), grace=grace)
    if kind == "sliding":
        return SlidingWindows(spec["difference"], grace=grace)
    if kind == "session":
        return SessionWindows(spec["gap"], grace=grace)
    return UnlimitedWindows(spec.get("start", 0))


def join_windows(spec: Json) -> JoinWindows:
    """The windows of a join."""
    return JoinWindows(spec["difference"], before=spec.get("before"), after=spec.get("after"), grace=spec.get("grace"))


def materialized(spec: Json | None) -> dict[str, Any]:
    """The keywords of ``Materialized``."""
    if spec is None:
        return {}
    keywords: dict[str, Any] = {"store": True}
    kind = STORE_KINDS[spec["store_type"]] if spec.get("store_type") else None
    if "supplier" in spec:
        keywords["store"] = store_supplier(spec["supplier"])
    elif kind is not None:
        keywords["store"] = kind(spec["name"]) if "name" in spec else kind
    elif "name" in spec:
        keywords["store"] = spec["name"]
    for name in ("key_serde", "value_serde"):
        if name in spec:
            keywords[name] = serde(spec[name])
    keywords.update({name: spec[name] for name in ("caching", "logging", "retention") if name in spec})
    return keywords


def with_serdes(spec: Json | None, *others: str) -> dict[str, Any]:
    """Serdes by their names, and other keywords as they are."""
    keywords: dict[str, Any] = {}
    for name, value in (spec or {}).items():
        if name.endswith("_serde"):
            keywords[name] = serde(value)
        elif name in others:
            keywords[name] = value
    return keywords


def consumed(spec: Json | None) -> dict[str, Any]:
    """The keywords of ``Consumed``."""
    keywords = with_serdes(spec, "name")
    if spec and "timestamp_extractor" in spec:
        keywords["timestamp_extractor"] = extractor(spec["timestamp_extractor"])
    if spec and "reset" in spec:
        keywords["offset_reset"] = reset(spec["reset"])
    return keywords


def partitioned(spec: Json | None, *names: str) -> dict[str, Any]:
    """The partitioners among ``names``."""
    return {name: fn.partitioner(spec[name]) for name in names if spec and spec.get(name)}


def suppression_buffer(spec: Json, *, strict: bool) -> BufferConfig:
    """The buffer of ``suppress``; a strict one shuts down when it is full, unless the case says otherwise."""
    buffer = BufferConfig.unbounded()
    if not spec.get("unbounded"):
        limits = [(name, spec[name]) for name in spec if name in ("max_records", "max_bytes")]
        (first, limit), *more = limits
        buffer = getattr(BufferConfig, first)(limit)
        for name, limit in more:
            buffer = getattr(buffer, f"with_{name}")(limit)
    when = spec.get("when_full")
    if when == "shut_down" or (when is None and strict):
        buffer = buffer.shut_down_when_full()
    elif when == "emit_early":
        buffer = buffer.emit_early_when_full()
    logging = spec.get("logging")
    if logging is False:
        return buffer.with_logging_disabled()
    return buffer.with_logging_enabled(logging) if isinstance(logging, dict) else buffer
