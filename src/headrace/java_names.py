"""What Kafka Streams' names are called here, where the rule "the same in snake_case, without get" does not say it.

The keys are in snake_case: whoever looks a name up spells it so first.
"""

from __future__ import annotations

from collections.abc import Mapping

_TIME_DIFFERENCE = {
    "of_time_difference_and_grace": "{0}(difference, grace=grace)",
    "of_time_difference_with_no_grace": "{0}(difference)",
    "of": "{0}(difference)",
    "grace": "{0}(difference, grace=grace)",
}
_STREAM_OPERATORS = {
    "through": "repartition(), or to(topic) and builder.stream(topic)",
    "transform": "process(supplier)",
    "flat_transform": "process(supplier)",
    "transform_values": "process_values(supplier)",
    "flat_transform_values": "process_values(supplier)",
    "branch": "split().branch(predicate).default_branch()",
    "for_each": "foreach(action)",
    "map_value": "map_values(mapper)",
    "reduce": "group_by_key().reduce(reducer)",
    "aggregate": "group_by_key().aggregate(initializer, aggregator)",
    "count": "group_by_key().count()",
    "windowed_by": "group_by_key().windowed_by(windows)",
    "suppress": "suppress(...) of a table, such as group_by_key().count().suppress(...)",
    "as_table": "to_table()",
    "show": "print()",
}
_OF_A_STREAM = ("to", "map", "map_values", "filter", "group_by_key", "group_by", "peek", "foreach", "process")
_AGGREGATES = {"sum": "reduce(lambda total, value: total + value)", "min": "reduce(min)", "max": "reduce(max)"}


def _named(class_name: str, names: Mapping[str, str]) -> dict[str, str]:
    return {java: ours.format(class_name) for java, ours in names.items()}


IN_CLASSES: Mapping[str, Mapping[str, str]] = {
    "TimeWindows": {
        "of": "TimeWindows(size)",
        "of_size_and_grace": "TimeWindows(size, grace=grace)",
        "of_size_with_no_grace": "TimeWindows(size)",
        "advance_by": "TimeWindows(size, advance=advance)",
        "grace": "TimeWindows(size, grace=grace)",
        "size": "size_ms",
    },
    "SlidingWindows": _named("SlidingWindows", _TIME_DIFFERENCE),
    "JoinWindows": {
        **_named("JoinWindows", _TIME_DIFFERENCE),
        "before": "JoinWindows(difference, before=before)",
        "after": "JoinWindows(difference, after=after)",
    },
    "SessionWindows": {
        "of_inactivity_gap_and_grace": "SessionWindows(gap, grace=grace)",
        "of_inactivity_gap_with_no_grace": "SessionWindows(gap)",
        "with": "SessionWindows(gap)",
        "of": "SessionWindows(gap)",
        "grace": "SessionWindows(gap, grace=grace)",
        "inactivity_gap": "gap_ms",
    },
    "UnlimitedWindows": {"of": "UnlimitedWindows()", "start_on": "UnlimitedWindows(start=start)"},
    "Suppressed": {
        "buffer_config": "BufferConfig: from headrace import BufferConfig",
        "with_name": "the keyword name of until_window_closes() and until_time_limit()",
    },
    "StreamsBuilder": {
        "add_store": "add_state_store(builder)",
        "to": "a method of streams: builder.stream(topic).to(other)",
        "describe": "a method of topologies: builder.build().describe()",
    },
    "Topology": {
        "add_store": "add_state_store(builder, processors)",
        "build": "not needed: this is a topology already",
    },
    "ReadOnlyKeyValueStore": {"fetch": "get(key); windows and sessions have fetch"},
    "ReadOnlyWindowStore": {
        "get": "fetch(key, window_start), or fetch(key, time_from, time_to)",
        "range": "fetch_keys()",
    },
    "ReadOnlySessionStore": {"get": "fetch(key), or fetch_session(key, start, end)", "range": "fetch_keys()"},
    "KStream": _STREAM_OPERATORS,
    "KTable": {
        "to": "to_stream().to(topic)",
        "foreach": "to_stream().foreach(action)",
        "peek": "to_stream().peek(action)",
        "print": "to_stream().print()",
        "map": "to_stream().map(mapper)",
        "select_key": "to_stream().select_key(mapper)",
        "flat_map": "to_stream().flat_map(mapper)",
        "flat_map_values": "to_stream().flat_map_values(mapper)",
        "process": "to_stream().process(supplier), or transform_values(supplier)",
        "group_by_key": "group_by(mapper), or to_stream().group_by_key()",
        "windowed_by": "to_stream().group_by_key().windowed_by(windows)",
        "aggregate": "group_by(mapper).aggregate(initializer, adder, subtractor)",
        "reduce": "group_by(mapper).reduce(adder, subtractor)",
        "count": "group_by(mapper).count()",
        "store_name": "queryable_store_name",
    },
    "KGroupedStream": _AGGREGATES,
    "WindowedKStream": {**_AGGREGATES, "suppress": "a method of the table: count().suppress(...)"},
    "BranchedKStream": {
        "default": "default_branch()",
        "otherwise": "default_branch()",
        **dict.fromkeys(
            _OF_A_STREAM, "an operator of the streams in no_default_branch(), or branch(..., consumer=...)"
        ),
    },
    "Streams": {
        "set_state_listener": "on_state_change(listener)",
        "set_global_state_restore_listener": "on_restore(listener)",
        "set_standby_update_listener": "on_standby_update(listener)",
        "set_uncaught_exception_handler": "on_uncaught_exception(handler)",
        "run": "start(), then wait()",
        "stop": "close()",
        "shutdown": "close()",
        "await_termination": "wait()",
        "join": "wait()",
        "state_store": "store(name)",
        "get_store": "store(name)",
        "all_metadata": "metadata_for_all_streams_clients()",
        "all_metadata_for_store": "streams_metadata_for_store(store)",
        "metadata_for_key": "query_metadata_for_key(store, key)",
        "local_threads_metadata": "metadata_for_local_threads()",
    },
    "Topics": {
        "send": "produce(topic, key, value)",
        "poll": "consume(topic, timeout=timeout)",
        "subscribe": "consume(topic)",
        "list": "names()",
        "list_topics": "names()",
        "create_topics": "create(topic, partitions)",
    },
    "RuntimeNodeContext": {
        "get_state_store": "store(name)",
        "state_store": "store(name)",
        "timestamp": "the timestamp of the record: record.timestamp",
        "headers": "the headers of the record: record.headers",
        "topic": "record_metadata.topic",
        "partition": "record_metadata.partition",
        "offset": "record_metadata.offset",
    },
    "TopologyTestDriver": {
        "get_all_state_stores": "stores()",
        "get_state_store": "store(name)",
        "advance_time": "advance_wall_clock_time(advance), or advance_time of an input topic",
        "pipe_input": "a method of input topics: driver.create_input_topic(topic).pipe_input(key, value)",
        "read_output": "a method of output topics: driver.create_output_topic(topic).read_record()",
        "input_topic": "create_input_topic(topic)",
        "output_topic": "create_output_topic(topic)",
    },
}
"""By class: what a Java name, in snake_case, is here."""

_KEYWORDS = {
    "Consumed": "builder.stream(topic, key_serde=, value_serde=, timestamp_extractor=, offset_reset=, name=)",
    "Produced": "stream.to(topic, key_serde=, value_serde=, partitioner=, name=)",
    "Grouped": "stream.group_by(mapper, key_serde=, value_serde=, name=)",
    "Repartitioned": "stream.repartition(key_serde=, value_serde=, partitions=, partitioner=, name=)",
    "Materialized": "the keywords store=, key_serde=, value_serde=, caching=, logging=, retention= of the operator",
    "Joined": "stream.join(table, joiner, key_serde=, value_serde=, other_value_serde=, grace=, name=)",
    "StreamJoined": "stream.join(other, joiner, windows, key_serde=, value_serde=, other_value_serde=, ...)",
    "TableJoined": "table.join(other, joiner, foreign_key=, partitioner=, other_partitioner=, name=)",
    "Named": "the keyword name= of the operator",
    "Branched": "the keyword name= of branch()",
    "Printed": "stream.print(path=, label=, mapper=, name=)",
}

IN_MODULES: Mapping[str, Mapping[str, str]] = {
    "headrace": {
        **_KEYWORDS,
        "KafkaStreams": "Streams: from headrace import Streams",
        "StreamsConfig": "a dict with Kafka's names, the second argument of Streams(topology, config)",
        "Serde": "serdes.Serde: from headrace import serdes",
        "Serdes": "serdes: from headrace import serdes",
        "Stores": "stores: from headrace import stores",
        "KeyValue": "a tuple: (key, value)",
        "Duration": "datetime.timedelta, or whole milliseconds",
        "Instant": "datetime.datetime, or whole milliseconds since 1970",
        "ProcessorSupplier": "a class with process(record), or a function without arguments that makes one",
        "Punctuator": "a function of the timestamp: context.schedule(interval, PunctuationType.STREAM_TIME, function)",
        "TimestampExtractor": "a function (record, partition_time), or one from headrace.timestamps",
        "StreamPartitioner": "a function (topic, key, value, partitions)",
        "StateQueryRequest": "app.query(store, query): from headrace.query import KeyQuery",
        "StoreQueryParameters": "app.store(name)",
        "QueryableStoreTypes": "app.store(name)",
        "KeyQuery": "query.KeyQuery: from headrace.query import KeyQuery",
        "RangeQuery": "query.RangeQuery: from headrace.query import RangeQuery",
        "WindowKeyQuery": "query.WindowKeyQuery: from headrace.query import WindowKeyQuery",
        "KafkaStreamsException": "errors.StreamsError: from headrace import errors",
        "TestInputTopic": "testing.TestInputTopic: driver.create_input_topic(topic) makes one",
        "TestOutputTopic": "testing.TestOutputTopic: driver.create_output_topic(topic) makes one",
        "TestRecord": "testing.TestRecord: from headrace.testing import TestRecord",
        "MockProcessorContext": "testing.MockProcessorContext: from headrace.testing import MockProcessorContext",
    },
    "headrace.serde": {
        "from_functions": "serdes.of(dumps, loads)",
        "serde_from": "serdes.of(dumps, loads)",
        "from_serializer": "serdes.of(dumps, loads)",
        "custom": "serdes.of(dumps, loads)",
        "str": "serdes.string()",
        "text": "serdes.string()",
        "utf8": "serdes.string()",
        "int": "serdes.long() for 8 bytes, serdes.integer() for 4",
        "int64": "serdes.long()",
        "int32": "serdes.integer()",
        "bool": "serdes.boolean()",
        "dict": "serdes.json()",
        "byte_array": "serdes.bytes()",
        "bytearray": "serdes.bytes()",
        "byte_buffer": "serdes.bytes()",
        "time_windowed": "serdes.windowed(inner, size)",
        "time_windowed_serde": "serdes.windowed(inner, size)",
        "time_windowed_serde_from": "serdes.windowed(inner, size)",
        "session_windowed_serde_from": "serdes.session_windowed(inner)",
        "null": "serdes.void()",
        "none": "serdes.void()",
        "list_serde": "serdes.list(inner)",
        "pickle": "serdes.of(pickle.dumps, pickle.loads), at your own risk: reading pickles runs code",
    },
    "headrace.state.stores": {
        "key_value_store_builder": "stores.key_value(supplier, key_serde, value_serde)",
        "timestamped_key_value_store_builder": "stores.timestamped_key_value(supplier, key_serde, value_serde)",
        "versioned_key_value_store_builder": "stores.versioned_key_value(supplier, key_serde, value_serde)",
        "window_store_builder": "stores.window(supplier, key_serde, value_serde)",
        "timestamped_window_store_builder": "stores.timestamped_window(supplier, key_serde, value_serde)",
        "session_store_builder": "stores.session(supplier, key_serde, value_serde)",
        "persistent_key_value_store": "stores.persistent(name)",
        "persistent_timestamped_key_value_store": "stores.persistent_timestamped(name)",
        "persistent_versioned_key_value_store": "stores.versioned(name, history)",
        "persistent_window_store": "stores.persistent_window(name, retention, size)",
        "persistent_timestamped_window_store": "stores.persistent_timestamped_window(name, retention, size)",
        "persistent_session_store": "stores.persistent_session(name, retention)",
        "in_memory_key_value_store": "stores.in_memory(name)",
        "in_memory_window_store": "stores.in_memory_window(name, retention, size)",
        "in_memory_session_store": "stores.in_memory_session(name, retention)",
        "lru_map": "stores.lru(name, size)",
        "rocksdb": "stores.persistent(name)",
    },
}
"""By module: what a Java name is here; names of classes as they are, of functions in snake_case."""
