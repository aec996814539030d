"""Turns a case into a Headrace program: its topology and configuration."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from headrace import EmitStrategy, KTable, StreamsBuilder, Suppressed, Topology, handlers
from headrace.dsl.global_table import GlobalKTable
from tests.conformance import functions as fn
from tests.conformance.errors import java_class
from tests.conformance.functions import SideLog, text
from tests.conformance.processors import supplier, transformer_supplier
from tests.conformance.specs import (
    STORE_KINDS,
    Json,
    consumed,
    extractor,
    join_windows,
    materialized,
    partitioned,
    reset,
    serde,
    store_builder,
    store_supplier,
    suppression_buffer,
    windows,
    with_serdes,
)


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
            return STORE_KINDS[value]
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
            keywords["store_kind"] = STORE_KINDS[spec["store_type"]]
        return join(other, joiner, windows=join_windows(step["windows"]), **keywords)

    _left_join = _outer_join = _join

    def _to_stream(self, view: Any, step: Json, _: Any) -> Any:
        mappers = [fn.key_function(step["mapper"], self.log)] if "mapper" in step else []
        return view.to_stream(*mappers, **self._name(step))

    def _suppress(self, view: Any, step: Json, _: Any) -> Any:
        buffer = suppression_buffer(step["buffer"], strict="until_time_limit" not in step)
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
