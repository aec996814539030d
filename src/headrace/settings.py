"""Every setting: Kafka's name for it, its default, what it may be, and what it does."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from headrace.setting_values import (
    Parse,
    as_given,
    boolean,
    choice,
    legal_name,
    number,
    optimizations,
    path,
    replicas,
    servers,
    tags,
    text,
)


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting. ``nullable`` ones may be None; ``older_name`` is read where the setting itself is not given."""

    name: str
    default: Any
    parse: Parse
    doc: str
    nullable: bool = False
    older_name: str | None = None

    def value(self, given: Any) -> Any:
        """``given`` checked and in its own type."""
        if given is None and self.nullable:
            return None
        return self.parse(self.name, given)


_UPGRADE_FROM = [*(f"2.{minor}" for minor in range(4, 9)), *(f"3.{minor}" for minor in range(10)), "4.0", "4.1", "4.2"]
_MINUTE_MS = 60_000
_DAY_MS = 24 * 60 * _MINUTE_MS
_COMMIT_INTERVAL_MS = 30_000
EXACTLY_ONCE_COMMIT_INTERVAL_MS = 100


def _settings(*settings: Setting) -> Mapping[str, Setting]:
    return {setting.name: setting for setting in settings}


REQUIRED = ("application.id", "bootstrap.servers")
"""Settings without a default: asking for one that was not given is an error."""

SETTINGS: Mapping[str, Setting] = _settings(
    # What every application gives
    Setting(
        "application.id",
        None,
        legal_name,
        "name of the application: prefix of its topics, its consumer group, its directory",
    ),
    Setting("bootstrap.servers", None, servers, "brokers to start from (host:port with commas), or embedded:directory"),
    Setting("client.id", "", text, "prefix of the names of the application's clients"),
    Setting("application.server", "", text, "host:port where this instance answers queries of others"),
    Setting(
        "state.dir",
        Path(tempfile.gettempdir()) / "headrace",
        path,
        "directory for state, each application has its own below it; with an embedded broker the default is "
        "the directory state beside its topics",
    ),
    Setting(
        "staging.dir",
        None,
        text,
        "on Kafka: where output waits for the decision that it counts; by default below state.dir; "
        "all processes of an application must see the same place",
        nullable=True,
    ),
    Setting("allow.os.group.write.access", False, boolean, "whether the group may write in the state directory"),
    # Serdes and time
    Setting("default.key.serde", "string", as_given, "serde of keys where none is given", nullable=True),
    Setting("default.value.serde", "string", as_given, "serde of values where none is given", nullable=True),
    Setting("default.list.key.serde.inner", None, as_given, "serde of the entries of lists in keys", nullable=True),
    Setting("default.list.value.serde.inner", None, as_given, "serde of the entries of lists in values", nullable=True),
    Setting("windowed.inner.class.serde", None, as_given, "serde of the key inside a windowed key", nullable=True),
    Setting("window.size.ms", None, number(1), "size of the windows in windowed keys", nullable=True),
    Setting("default.timestamp.extractor", "fail_on_invalid_timestamp", as_given, "where records get their time from"),
    # Errors
    Setting(
        "deserialization.exception.handler",
        "log_and_fail",
        as_given,
        "what happens to records that cannot be read",
        older_name="default.deserialization.exception.handler",
    ),
    Setting(
        "default.deserialization.exception.handler", "log_and_fail", as_given, "older name, without 'default.' now"
    ),
    Setting(
        "processing.exception.handler", "log_and_fail", as_given, "what happens when a function of the program raises"
    ),
    Setting(
        "processing.exception.handler.global.enabled", False, boolean, "whether global stores heed that handler too"
    ),
    Setting(
        "production.exception.handler",
        "default",
        as_given,
        "what happens to records that cannot be written",
        older_name="default.production.exception.handler",
    ),
    Setting("default.production.exception.handler", "default", as_given, "older name, without 'default.' now"),
    Setting(
        "errors.dead.letter.queue.topic.name",
        None,
        legal_name,
        "topic for the records that handlers give up",
        nullable=True,
    ),
    # The topology
    Setting("topology.optimization", "none", optimizations, "none, all, or a list of optimisations"),
    Setting("ensure.explicit.internal.resource.naming", False, boolean, "whether stores and topics must all be named"),
    Setting(
        "processor.wrapper.class", None, as_given, "wraps every processor when the topology is built", nullable=True
    ),
    Setting(
        "dsl.store.suppliers.class",
        "rocksDB",
        as_given,
        "kind of the DSL's stores: rocksDB, in_memory, or an object",
        older_name="default.dsl.store",
    ),
    Setting(
        "default.dsl.store", "rocksDB", choice("rocksDB", "in_memory"), "older way to say dsl.store.suppliers.class"
    ),
    Setting("dsl.store.format", "DEFAULT", choice("DEFAULT", "HEADERS", any_case=True), "whether stores keep headers"),
    Setting("upgrade.from", None, choice(*_UPGRADE_FROM), "version whose formats must stay readable", nullable=True),
    # Processing
    Setting("num.stream.threads", 1, number(0), "threads that process"),
    Setting(
        "processing.guarantee",
        "at_least_once",
        choice("at_least_once", "exactly_once_v2"),
        "at_least_once or exactly_once_v2",
    ),
    Setting(
        "commit.interval.ms",
        _COMMIT_INTERVAL_MS,
        number(0),
        "time between commits; 100 by default with exactly_once_v2",
    ),
    Setting(
        "statestore.cache.max.bytes",
        10 * 1024 * 1024,
        number(0),
        "memory for caching stores; 0 turns caching off",
        older_name="cache.max.bytes.buffering",
    ),
    Setting("cache.max.bytes.buffering", 10 * 1024 * 1024, number(0), "older name of statestore.cache.max.bytes"),
    Setting("buffered.records.per.partition", 1000, number(1), "records held per partition before reading pauses"),
    Setting(
        "max.task.idle.ms", 0, number(-1), "how long to wait for data of the slower side of a join; -1: not at all"
    ),
    Setting(
        "max.records.per.batch",
        None,
        number(1),
        "most records a batch reads, but one of each partition that has any, and whatever comes before records that a "
        "repartition brings; None: as many as take two seconds",
        nullable=True,
    ),
    Setting("task.timeout.ms", 5 * _MINUTE_MS, number(0), "how long a task may stall before that is an error"),
    Setting("poll.ms", 100, number(0), "how long to wait for input"),
    Setting("log.summary.interval.ms", 2 * _MINUTE_MS, number(), "time between summaries in the log; 0 or less: none"),
    # State and internal topics
    Setting(
        "rocksdb.config.setter",
        None,
        as_given,
        "callable (store_name, options, config) that tunes RocksDB",
        nullable=True,
    ),
    Setting("state.cleanup.delay.ms", 10 * _MINUTE_MS, number(0), "how long state of a task that moved away is kept"),
    Setting("state.cleanup.dir.max.age.ms", -1, number(-1), "age at which state is removed at start; -1: never"),
    Setting("replication.factor", -1, replicas, "replicas of internal topics; -1: the broker's default"),
    Setting(
        "repartition.purge.interval.ms", _COMMIT_INTERVAL_MS, number(0), "time between purges of repartition topics"
    ),
    Setting(
        "windowstore.changelog.additional.retention.ms",
        _DAY_MS,
        number(0),
        "added to the retention of windowed changelogs",
    ),
    # Several instances
    Setting("num.standby.replicas", 0, number(0), "extra copies of each store"),
    Setting("max.warmup.replicas", 2, number(1), "copies that may warm up at a time"),
    Setting("acceptable.recovery.lag", 10_000, number(0), "how far behind a copy may be and still take over"),
    Setting(
        "probing.rebalance.interval.ms", 10 * _MINUTE_MS, number(_MINUTE_MS), "time between looks at warming copies"
    ),
    Setting(
        "rack.aware.assignment.strategy",
        "none",
        choice("none", "min_traffic", "balance_subtopology"),
        "how racks count when tasks are assigned",
    ),
    Setting("rack.aware.assignment.tags", (), tags, "client tags by which standbys are spread"),
    Setting("rack.aware.assignment.traffic_cost", None, number(0), "cost of traffic between racks", nullable=True),
    Setting("rack.aware.assignment.non_overlap_cost", None, number(0), "cost of moving a task", nullable=True),
    Setting(
        "group.protocol", "classic", choice("classic", "streams", any_case=True), "who assigns tasks: members or broker"
    ),
    # Metrics
    Setting("metrics.recording.level", "INFO", choice("INFO", "DEBUG", "TRACE"), "how much is measured"),
    Setting("metrics.num.samples", 2, number(1), "samples kept for a rate"),
    Setting("metrics.sample.window.ms", 30_000, number(0), "time one sample spans"),
    Setting("metric.reporters", (), as_given, "objects that are told of every metric"),
    Setting("built.in.metrics.version", "latest", choice("latest"), "version of the built-in metrics"),
    Setting("enable.metrics.push", True, boolean, "whether clients send metrics to the broker"),
    # Clients: handed on, checked here
    Setting(
        "security.protocol",
        "PLAINTEXT",
        choice("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL", any_case=True),
        "how to talk to brokers",
    ),
    Setting("request.timeout.ms", 40_000, number(0), "how long to wait for an answer"),
    Setting("retry.backoff.ms", 100, number(0), "pause before a request is repeated"),
    Setting("reconnect.backoff.ms", 50, number(0), "pause before connecting again"),
    Setting("reconnect.backoff.max.ms", 1000, number(0), "longest pause before connecting again"),
    Setting("connections.max.idle.ms", 9 * _MINUTE_MS, number(), "when an idle connection is closed"),
    Setting("metadata.max.age.ms", 5 * _MINUTE_MS, number(0), "how old knowledge of topics may get"),
    Setting(
        "metadata.recovery.strategy",
        "rebootstrap",
        choice("none", "rebootstrap", any_case=True),
        "when no broker answers",
    ),
    Setting("metadata.recovery.rebootstrap.trigger.ms", 5 * _MINUTE_MS, number(0), "after how long to start over"),
    Setting("receive.buffer.bytes", 32 * 1024, number(-1), "TCP receive buffer; -1: the system's"),
    Setting("send.buffer.bytes", 128 * 1024, number(-1), "TCP send buffer; -1: the system's"),
    # Internal, by the names Kafka Streams gives them
    Setting(
        "__emit.interval.ms.kstreams.outer.join.spurious.results.fix__",
        1000,
        number(0),
        "pause between outer-join scans",
    ),
    Setting(
        "__emit.interval.ms.kstreams.windowed.aggregation__", 1000, number(0), "pause between emits at window close"
    ),
    Setting("__enable.process.processValue.fix__", False, boolean, "whether no repartition moves above process()"),
    Setting("__iq.consistency.offset.vector.enabled__", False, boolean, "whether changelogs carry positions"),
    Setting(
        "__internal.override.topic.prefix__",
        None,
        legal_name,
        "prefix of internal topics instead of application.id",
        nullable=True,
    ),
)

HANDED_ON = (
    "consumer.",
    "main.consumer.",
    "restore.consumer.",
    "global.consumer.",
    "producer.",
    "admin.",
    "topic.",
    "client.tag.",
    "spark.",
    "ssl.",
    "sasl.",
)
"""Settings with these prefixes are handed on: to Kafka's clients, internal topics, Spark."""

NOT_HERE: Mapping[str, str] = {
    "config.providers": "Read secrets from the environment in your program.",
    "default.client.supplier": "Clients are configured with the prefixes consumer., producer. and admin.",
    "default.list.key.serde.type": "Lists are always Python lists; leave it out.",
    "default.list.value.serde.type": "Lists are always Python lists; leave it out.",
    "task.assignor.class": "Tasks are assigned by the engine; leave it out.",
    "internal.task.assignor.class": "Tasks are assigned by the engine; leave it out.",
}
"""Settings of Kafka Streams that have no meaning here, and what to do instead."""

CLIENT_SETTINGS: Mapping[str, str] = {
    **dict.fromkeys(
        (
            "auto.offset.reset",
            "fetch.max.bytes",
            "fetch.max.wait.ms",
            "fetch.min.bytes",
            "group.instance.id",
            "heartbeat.interval.ms",
            "isolation.level",
            "max.partition.fetch.bytes",
            "max.poll.interval.ms",
            "max.poll.records",
            "session.timeout.ms",
        ),
        "consumer.",
    ),
    **dict.fromkeys(
        (
            "acks",
            "batch.size",
            "buffer.memory",
            "compression.type",
            "delivery.timeout.ms",
            "enable.idempotence",
            "linger.ms",
            "max.block.ms",
            "max.in.flight.requests.per.connection",
            "max.request.size",
            "retries",
            "transaction.timeout.ms",
        ),
        "producer.",
    ),
    **dict.fromkeys(
        ("cleanup.policy", "min.insync.replicas", "retention.bytes", "retention.ms", "segment.bytes", "segment.ms"),
        "topic.",
    ),
}
"""Names that need a prefix here, and which."""

_ONE_PROCESS = "one process on one machine runs the application"

WITHOUT_EFFECT: Mapping[str, str] = {
    "allow.os.group.write.access": "state directories belong to their owner alone",
    "windowed.inner.class.serde": "give the serde itself: serdes.windowed(inner, size)",
    "window.size.ms": "give the serde itself: serdes.windowed(inner, size)",
    "commit.interval.ms": "a batch commits when it is done",
    "buffered.records.per.partition": "max.records.per.batch says how much a batch reads",
    "task.timeout.ms": "consumer.max.poll.interval.ms says how long a function may take",
    "log.summary.interval.ms": "on_batch() and metrics() tell what was done",
    "repartition.purge.interval.ms": "repartition topics are no topics of the broker",
    "num.standby.replicas": _ONE_PROCESS,
    "max.warmup.replicas": _ONE_PROCESS,
    "acceptable.recovery.lag": _ONE_PROCESS,
    "probing.rebalance.interval.ms": _ONE_PROCESS,
    "rack.aware.assignment.strategy": _ONE_PROCESS,
    "rack.aware.assignment.tags": _ONE_PROCESS,
    "rack.aware.assignment.traffic_cost": _ONE_PROCESS,
    "rack.aware.assignment.non_overlap_cost": _ONE_PROCESS,
    "group.protocol": _ONE_PROCESS,
    "metric.reporters": "ask for metrics()",
    "built.in.metrics.version": "there is one version",
    "__iq.consistency.offset.vector.enabled__": "positions are kept with the replicas",
}
"""Settings of Kafka Streams that are checked and then read by nobody, and why. Whoever gives one is told at start."""

ON_KAFKA: Mapping[str, str] = {
    "processing.guarantee": "every record takes effect exactly once, whatever is set",
    "replication.factor": "the embedded broker keeps one copy",
    "staging.dir": "with the embedded broker output waits in its own directory",
    **dict.fromkeys(
        (
            "security.protocol",
            "request.timeout.ms",
            "retry.backoff.ms",
            "reconnect.backoff.ms",
            "reconnect.backoff.max.ms",
            "connections.max.idle.ms",
            "metadata.recovery.strategy",
            "metadata.recovery.rebootstrap.trigger.ms",
            "receive.buffer.bytes",
            "send.buffer.bytes",
        ),
        "the embedded broker is a directory: there is no connection to set up",
    ),
}
"""Settings that have an effect on Kafka, and why they have none on the embedded broker."""
