"""Turns a case into a Headrace program: topology, configuration, serdes and stores."""

from __future__ import annotations

import base64
import contextlib
import io
import re
from collections.abc import Callable
from datetime import timedelta
from typing import Any

from headrace import (
    BufferConfig,
    EmitStrategy,
    JoinWindows,
    KTable,
    SessionWindows,
    SlidingWindows,
    StreamsBuilder,
    Suppressed,
    TimeWindows,
    Topology,
    UnlimitedWindows,
    handlers,
    serdes,
    stores,
    timestamps,
)
from headrace.dsl.global_table import GlobalKTable
from headrace.errors import SerializationError
from tests.conformance import functions as fn
from tests.conformance.errors import java_class
from tests.conformance.functions import SideLog, text
from tests.conformance.processors import supplier, transformer_supplier

Json = Any


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
    kind = {"rocks_db": stores.ROCKSDB, "in_memory": stores.IN_MEMORY, None: None}[spec.get("store_type")]
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


class Program:
    """A case as a topology. ``place`` is where the building has got to, as the answers name it."""

    def __init__(self, case: Json) -> None:
        self.case = case
        self.log: SideLog = []
        self.place = "build"
        self.results: dict[str, Any] = {}
        self.branches: dict[str, list[str]] = {}
        self.shared: dict[str, Any] = {}
        self.config = self._config()

    def _config(self) -> dict[str, Any]:
        config: dict[str, Any] = {"application.id": "app", "default.key.serde": None, "default.value.serde": None}
        for name, value in self.case["config"].items():
            config[name] = self._setting(name, value)
        return config

    def _setting(self, name: str, value: Json) -> Any:
        if name in ("default.key.serde", "default.value.serde"):
            return serde(value)
        if name == "default.timestamp.extractor":
            return extractor(value)
        if name.endswith("exception.handler"):
            return self._handler(name.split(".")[0], value)
        if name == "dsl.store.suppliers.class":
            return {"rocks_db": stores.ROCKSDB, "in_memory": stores.IN_MEMORY}[value]
        return value

    def _handler(self, kind: str, value: str) -> Any:
        if value in ("log_and_fail", "log_and_continue", "default"):
            return value
        log = self.log

        def processing(context: Any, record: Any, error: BaseException) -> Any:
            where = f"{text(context.topic)}-{context.partition}@{context.offset}"
            shown = "none" if record is None else f"{text(record.key)}={text(record.value)}@{record.timestamp}"
            what = f"{java_class(error)}: {error if isinstance(error, fn.TestError) else '*'}"
            log.append(["processing", context.node, context.task_id, where, str(context.timestamp), shown, what])
            return handlers.resume()

        def deserialization(context: Any, record: Any, error: BaseException) -> Any:
            where = f"{text(context.topic)}-{context.partition}@{context.offset}"
            log.append(["deserialization", where, context.node, str(context.timestamp), "SerializationException"])
            return handlers.resume()

        def production(context: Any, record: Any, error: BaseException, origin: str | None = None) -> Any:
            if origin is not None:
                log.append(["production", context.node, origin])
            return handlers.resume()

        return {"processing": processing, "deserialization": deserialization, "production": production}[kind]

    def build(self) -> Topology:
        """Run the steps and build."""
        papi = self.case.get("api") == "topology"
        config = self.config if self.case.get("topology_config") else None
        target: Any = Topology(config) if papi else StreamsBuilder(config)
        for number, step in enumerate(self.case["topology"]):
            self.place = step.get("id") or f"step {number}"
            result = (self._papi if papi else self._dsl)(target, step)
            if "id" in step:
                self.results[step["id"]] = result
        self.place = "build"
        if papi:
            return target  # type: ignore[no-any-return]
        config = self.config if self.case.get("build_with_config", True) else None
        return target.build(config)  # type: ignore[no-any-return]

    def queryable(self) -> dict[str, str | None]:
        """The queryable store name of each step that is a table."""
        return {
            name: view.queryable_store_name
            for name, view in self.results.items()
            if isinstance(view, (KTable, GlobalKTable))
        }

    def _builder(self, step: Json) -> Any:
        label = step.get("share")
        if label is None:
            return store_builder(step["store"])
        return self.shared.setdefault(label, store_builder(step["store"]))

    def _provided(self, step: Json) -> list[Any] | None:
        given = step.get("provided_stores")
        return None if given is None else [store_builder(spec) for spec in given]

    def _papi(self, topology: Topology, step: Json) -> None:
        op = step["op"]
        if op == "add_source":
            topology.add_source(
                step["name"],
                step.get("topics"),
                pattern=step.get("pattern"),
                timestamp_extractor=extractor(step.get("timestamp_extractor")),
                offset_reset=reset(step.get("reset")),
                **with_serdes(step),
            )
        elif op == "add_processor":
            made = supplier(step["processor"], self.log, self._provided(step))
            topology.add_processor(step["name"], made, step["parents"])
        elif op == "add_sink":
            target = step["topic"] if "topic" in step else fn.topic_extractor(step["extractor"])
            topology.add_sink(
                step["name"], target, step["parents"], **with_serdes(step), **partitioned(step, "partitioner")
            )
        elif op == "add_state_store":
            topology.add_state_store(self._builder(step), step.get("processors") or ())
        elif op == "connect_processor_and_state_stores":
            topology.connect_processor_and_state_stores(step["processor"], *step["stores"])
        else:
            add = topology.add_global_store if op == "add_global_store" else topology.add_read_only_state_store
            add(
                self._builder(step),
                step["source_name"],
                step["topic"],
                step["processor_name"],
                supplier(step["processor"], self.log),
                timestamp_extractor=extractor(step.get("timestamp_extractor")),
                key_serde=serde(step.get("key_serde", "string")),
                value_serde=serde(step.get("value_serde", "string")),
            )

    def _dsl(self, builder: StreamsBuilder, step: Json) -> Any:
        on = self.results.get(step.get("on"))
        other = self.results.get(step.get("other"))
        return getattr(self, "_" + step["op"])(builder if on is None else on, step, other)

    @staticmethod
    def _name(step: Json) -> dict[str, Any]:
        return {"name": step["named"]} if "named" in step else {}

    def _stream(self, builder: Any, step: Json, _: Any) -> Any:
        keywords = consumed(step.get("consumed"))
        if "pattern" in step:
            return builder.stream(re.compile(step["pattern"]), **keywords)
        return builder.stream(step["topics"] if "topics" in step else step["topic"], **keywords)

    def _table(self, builder: Any, step: Json, _: Any) -> Any:
        keywords = materialized(step.get("materialized"))
        if "consumed" in step:
            # As Java does: the serdes of Consumed win, even when there are none.
            keywords.pop("key_serde", None), keywords.pop("value_serde", None)
        keywords.update(consumed(step.get("consumed")))
        return getattr(builder, step["op"])(step["topic"], **keywords)

    _global_table = _table

    def _add_state_store(self, builder: Any, step: Json, _: Any) -> None:
        builder.add_state_store(self._builder(step))

    def _add_global_store(self, builder: Any, step: Json, _: Any) -> None:
        made = supplier(step["processor"], self.log)
        builder.add_global_store(self._builder(step), step["topic"], made, **consumed(step.get("consumed")))

    def _filter(self, view: Any, step: Json, _: Any) -> Any:
        test = fn.predicate(step["predicate"], self.log)
        return getattr(view, step["op"])(test, **self._name(step), **materialized(step.get("materialized")))

    _filter_not = _filter

    def _select_key(self, view: Any, step: Json, _: Any) -> Any:
        return view.select_key(fn.key_function(step["mapper"], self.log), **self._name(step))

    def _map(self, view: Any, step: Json, _: Any) -> Any:
        return view.map(fn.pair_function(step["mapper"], self.log), **self._name(step))

    def _flat_map(self, view: Any, step: Json, _: Any) -> Any:
        return view.flat_map(fn.pairs_function(step["mapper"], self.log), **self._name(step))

    def _mapped(self, view: Any, step: Json, function: Callable[[Any, Any], Any]) -> Any:
        keywords = {**self._name(step), **materialized(step.get("materialized"))}
        if step.get("with_key"):
            return getattr(view, step["op"])(function, with_key=True, **keywords)
        return getattr(view, step["op"])(lambda value: function(None, value), **keywords)

    def _map_values(self, view: Any, step: Json, _: Any) -> Any:
        return self._mapped(view, step, fn.value_function(step["mapper"], self.log))

    def _flat_map_values(self, view: Any, step: Json, _: Any) -> Any:
        return self._mapped(view, step, fn.values_function(step["mapper"], self.log))

    def _peek(self, view: Any, step: Json, _: Any) -> Any:
        def note(key: Any, value: Any) -> None:
            self.log.append([step["label"], text(key), text(value)])

        return getattr(view, step["op"])(note, **self._name(step))

    _foreach = _peek

    def _print(self, view: Any, step: Json, _: Any) -> None:
        keywords: dict[str, Any] = {name: step[name] for name in ("label", "name") if name in step}
        if "mapper" in step:
            function = fn.value_function(step["mapper"], self.log)
            keywords["mapper"] = lambda key, value: text(function(key, value))
        view.print(**keywords)

    def _split(self, view: Any, step: Json, _: Any) -> Any:
        return view.split(**self._name(step))

    def _branched(self, spec: Json | None) -> dict[str, Any]:
        keywords: dict[str, Any] = {}
        for name, value in (spec or {}).items():
            if name == "name":
                keywords["name"] = value
            elif name == "consumer_to":
                keywords["consumer"] = lambda stream, topic=value: stream.to(topic)
            elif value is None:
                keywords["function"] = lambda stream: None
            else:
                function = fn.value_function(value, self.log)
                keywords["function"] = lambda stream, f=function: stream.map_values(lambda v: f(None, v))
        return keywords

    def _branch(self, view: Any, step: Json, _: Any) -> Any:
        return view.branch(fn.predicate(step["predicate"], self.log), **self._branched(step.get("branched")))

    def _default_branch(self, view: Any, step: Json, _: Any) -> Any:
        if step["op"] == "no_default_branch":
            found = view.no_default_branch()
        else:
            found = view.default_branch(**self._branched(step.get("branched")))
        self.branches[step["id"]] = sorted(found)
        for result, name in step["outputs"].items():
            self.results[result] = found[name]
        return found

    _no_default_branch = _default_branch

    def _merge(self, view: Any, step: Json, other: Any) -> Any:
        return view.merge(other, **self._name(step))

    def _repartition(self, view: Any, step: Json, _: Any) -> Any:
        spec = step.get("repartitioned")
        keywords = with_serdes(spec, "name")
        if spec and "number_of_partitions" in spec:
            keywords["partitions"] = spec["number_of_partitions"]
        return view.repartition(**keywords, **partitioned(spec, "partitioner"))

    def _to(self, view: Any, step: Json, _: Any) -> None:
        spec = step.get("produced")
        target = step["topic"] if "topic" in step else fn.topic_extractor(step["extractor"])
        view.to(target, **with_serdes(spec, "name"), **partitioned(spec, "partitioner"))

    def _to_table(self, view: Any, step: Json, _: Any) -> Any:
        return view.to_table(**self._name(step), **materialized(step.get("materialized")))

    def _group_by_key(self, view: Any, step: Json, _: Any) -> Any:
        return view.group_by_key(**with_serdes(step.get("grouped"), "name"))

    def _group_by(self, view: Any, step: Json, _: Any) -> Any:
        make = fn.pair_function if isinstance(view, KTable) else fn.key_function
        return view.group_by(make(step["mapper"], self.log), **with_serdes(step.get("grouped"), "name"))

    def _count(self, view: Any, step: Json, _: Any) -> Any:
        return view.count(**self._name(step), **materialized(step.get("materialized")))

    def _reduce(self, view: Any, step: Json, _: Any) -> Any:
        names = ("adder", "subtractor") if "adder" in step else ("reducer",)
        functions = [fn.reducer(step[name], self.log) for name in names]
        return view.reduce(*functions, **self._name(step), **materialized(step.get("materialized")))

    def _aggregate(self, view: Any, step: Json, _: Any) -> Any:
        functions = [fn.initializer(step["initializer"], self.log)]
        functions += [
            fn.aggregator(step[name], self.log) for name in ("aggregator", "adder", "subtractor") if name in step
        ]
        if "merger" in step:
            functions.append(fn.merger(step["merger"], self.log))
        return view.aggregate(*functions, **self._name(step), **materialized(step.get("materialized")))

    def _windowed_by(self, view: Any, step: Json, _: Any) -> Any:
        return view.windowed_by(windows(step["windows"]))

    def _emit_strategy(self, view: Any, step: Json, _: Any) -> Any:
        return view.emit_strategy(EmitStrategy(step["strategy"]))

    def _cogroup(self, view: Any, step: Json, other: Any) -> Any:
        function = fn.aggregator(step["aggregator"], self.log)
        return view.cogroup(function) if other is None else view.cogroup(other, function)

    def _join(self, view: Any, step: Json, other: Any) -> Any:
        function = fn.joiner(step["joiner"], self.log)
        with_key = bool(step.get("with_key"))
        keywords: dict[str, Any] = {**self._name(step)}
        join = getattr(view, step["op"])
        if isinstance(view, KTable):
            keywords.update(materialized(step.get("materialized")))
            if "foreign_key_extractor" in step:
                extract = fn.value_function(step["foreign_key_extractor"], self.log)
                keywords["foreign_key"] = extract if with_key else lambda value: extract(None, value)
                joined = step.get("table_joined")
                keywords.update(with_serdes(joined, "name"), **partitioned(joined, "partitioner", "other_partitioner"))
                keywords["with_key"] = with_key
            return join(other, lambda left, right: function(None, left, right), **keywords)
        joiner = function if with_key else lambda left, right: function(None, left, right)
        if with_key:
            keywords["with_key"] = True
        if isinstance(other, GlobalKTable):
            return join(other, fn.key_function(step["key_selector"], self.log), joiner, **keywords)
        if isinstance(other, KTable):
            return join(other, joiner, **keywords, **with_serdes(step.get("joined"), "name", "grace"))
        spec = step.get("stream_joined")
        keywords.update(with_serdes(spec, "name", "store_name", "logging"))
        for name in ("this_store", "other_store"):
            if spec and name in spec:
                keywords[name] = store_supplier(spec[name])
        if spec and "store_type" in spec:
            keywords["store_kind"] = {"rocks_db": stores.ROCKSDB, "in_memory": stores.IN_MEMORY}[spec["store_type"]]
        return join(other, joiner, windows=join_windows(step["windows"]), **keywords)

    _left_join = _outer_join = _join

    def _to_stream(self, view: Any, step: Json, _: Any) -> Any:
        mappers = [fn.key_function(step["mapper"], self.log)] if "mapper" in step else []
        return view.to_stream(*mappers, **self._name(step))

    def _suppress(self, view: Any, step: Json, _: Any) -> Any:
        buffer = _buffer(step["buffer"], strict="until_time_limit" not in step)
        name = {"name": step["name"]} if "name" in step else {}
        if "until_time_limit" in step:
            return view.suppress(Suppressed.until_time_limit(step["until_time_limit"], buffer, **name))
        return view.suppress(Suppressed.until_window_closes(buffer, **name))

    def _transform_values(self, view: Any, step: Json, _: Any) -> Any:
        made = transformer_supplier(step["transformer"], self.log, self._provided(step))
        keywords = {**self._name(step), **materialized(step.get("materialized"))}
        return view.transform_values(made, stores=step.get("stores") or (), **keywords)

    def _process(self, view: Any, step: Json, _: Any) -> Any:
        fixed = step["op"] == "process_values"
        made = supplier(step["processor"], self.log, self._provided(step), fixed_key=fixed)
        return getattr(view, step["op"])(made, stores=step.get("stores") or (), **self._name(step))

    _process_values = _process


def _buffer(spec: Json, *, strict: bool) -> BufferConfig:
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


class _Lines(io.TextIOBase):
    """Notes each line when it is complete, so that it keeps its place among what else is logged."""

    def __init__(self, log: SideLog) -> None:
        self._log, self._begun = log, ""

    def write(self, printed: str) -> int:
        """Take what was printed."""
        *lines, self._begun = (self._begun + printed).split("\n")
        self._log.extend(["stdout", line] for line in lines)
        return len(printed)


@contextlib.contextmanager
def printed(log: SideLog) -> Any:
    """Standard output as lines of the side log."""
    with contextlib.redirect_stdout(_Lines(log)):
        yield
