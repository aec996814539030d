"""The configuration: defaults, checks, suggestions."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import cloudpickle
import pytest

from headrace import Processor, Record, StreamsBuilder, TopologyTestDriver, serde, timestamps
from headrace.config import StreamsConfig, topology_optimizations
from headrace.errors import ConfigError
from headrace.records import ConsumedRecord
from headrace.settings import SETTINGS


def test_what_is_not_given_has_kafkas_default() -> None:
    config = StreamsConfig()

    assert config["num.stream.threads"] == 1
    assert config["statestore.cache.max.bytes"] == 10 * 1024 * 1024
    assert config["commit.interval.ms"] == 30_000
    assert config["dsl.store.format"] == "DEFAULT"
    assert config["rocksdb.config.setter"] is None


@pytest.mark.parametrize(
    ("name", "given", "value"),
    [
        ("num.stream.threads", "4", 4),
        ("commit.interval.ms", timedelta(seconds=2), 2000),
        ("ensure.explicit.internal.resource.naming", "TRUE", True),
        ("security.protocol", "sasl_ssl", "SASL_SSL"),
        ("dsl.store.format", "headers", "HEADERS"),
        ("state.dir", "/tmp/here", Path("/tmp/here")),
        ("bootstrap.servers", ["a:1", "b:2"], "a:1,b:2"),
        ("rack.aware.assignment.tags", "zone, cluster", ("zone", "cluster")),
        ("upgrade.from", None, None),
        ("max.task.idle.ms", -1, -1),
    ],
)
def test_a_value_comes_in_its_own_type(name: str, given: Any, value: Any) -> None:
    assert StreamsConfig({name: given})[name] == value


@pytest.mark.parametrize(
    ("name", "given"),
    [
        ("num.stream.threads", -1),
        ("num.stream.threads", True),
        ("num.stream.threads", "many"),
        ("num.stream.threads", None),
        ("num.stream.threads", timedelta(seconds=1)),
        ("statestore.cache.max.bytes", -1),
        ("max.warmup.replicas", 0),
        ("probing.rebalance.interval.ms", 59_999),
        ("processing.guarantee", "exactly_once"),
        ("metrics.recording.level", "info"),
        ("upgrade.from", "1.0"),
        ("replication.factor", 0),
        ("bootstrap.servers", ""),
        ("state.dir", ""),
        ("enable.metrics.push", "yes"),
        ("default.timestamp.extractor", None),
        ("rack.aware.assignment.tags", ["a", "b", "c", "d", "e", "f"]),
        ("default.dsl.store", "redis"),
        ("client.tag.zone", "x" * 31),
        ("client.tag." + "x" * 21, "a"),
    ],
)
def test_a_value_out_of_range_is_refused_by_name(name: str, given: Any) -> None:
    with pytest.raises(ConfigError, match=name.replace(".", r"\.")):
        StreamsConfig({name: given})


@pytest.mark.parametrize("name", ["..", ".", "", "a/b", "../../etc", "a b", "a\n", "ä", "x" * 250, 7, "/abs", "a\0b"])
def test_an_application_id_cannot_leave_the_state_directory(name: Any) -> None:
    with pytest.raises(ConfigError, match=r"application\.id must be a name"):
        StreamsConfig({"application.id": name})


def test_the_application_has_its_own_directory() -> None:
    config = StreamsConfig({"application.id": "views", "state.dir": "/data"})

    assert config.application_id == "views"
    assert config.state_dir == Path("/data")
    assert config.application_dir == Path("/data/views")


def test_a_required_setting_is_missed_when_it_is_asked_for() -> None:
    config = StreamsConfig()

    with pytest.raises(ConfigError, match=r"application\.id is not set"):
        config.application_id  # noqa: B018
    with pytest.raises(ConfigError, match=r"bootstrap\.servers is not set"):
        config["bootstrap.servers"]


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("aplication.id", "Did you mean application.id?"),
        ("num_stream_threads", "Did you mean num.stream.threads?"),
        ("commit.intervall.ms", "Did you mean commit.interval.ms?"),
        ("linger.ms", "producer.linger.ms"),
        ("auto.offset.reset", "consumer.auto.offset.reset"),
        ("task.assignor.class", "leave it out"),
        ("headrace.xyzzy", "consumer., producer. or admin."),
        ("__xyzzy__", "consumer., producer. or admin."),
        ("num.threads", "Did you mean num.stream.threads?"),
        ("state.directory", "Did you mean state.dir?"),
        ("commit.interval", "Did you mean commit.interval.ms?"),
    ],
)
def test_an_unknown_name_is_an_error_that_says_where_to_go(name: str, hint: str) -> None:
    with pytest.raises(ConfigError) as raised:
        StreamsConfig({name: 1})

    assert name in raised.value.message
    assert hint in str(raised.value.hint)


@pytest.mark.parametrize("name", ["xyzzy", "alert.threshold", "my.state.dir", "fraud.window.minutes", "region"])
def test_other_names_are_the_programs_own_and_reach_processors(name: str) -> None:
    class Look(Processor):
        def process(self, record: Record[Any, Any]) -> None:
            self.context.forward(record.with_value(self.context.app_configs()[name]))

    builder = StreamsBuilder()
    builder.stream("in").process(Look).to("out")
    with TopologyTestDriver(builder.build(), {name: "as given"}) as driver:
        driver.create_input_topic("in").pipe_input("a", "x")
        assert driver.create_output_topic("out").read_value() == "as given"
    assert StreamsConfig({name: 7})[name] == 7


def test_asking_for_an_unknown_name_is_an_error_too() -> None:
    with pytest.raises(ConfigError, match=r"unknown setting 'no\.such\.setting'"):
        StreamsConfig()["no.such.setting"]


@pytest.mark.parametrize(
    "prefix",
    [
        "consumer.",
        "main.consumer.",
        "restore.consumer.",
        "global.consumer.",
        "producer.",
        "admin.",
        "topic.",
        "client.tag.",
        "spark.",
    ],
)
def test_what_has_a_prefix_is_handed_on_untouched(prefix: str) -> None:
    config = StreamsConfig({f"{prefix}some.setting": "7", "num.stream.threads": 2})

    assert config.with_prefix(prefix) == {"some.setting": "7"}
    assert config[f"{prefix}some.setting"] == "7"
    assert config[f"{prefix}other"] is None


@pytest.mark.parametrize(
    ("older", "name", "value"),
    [
        ("cache.max.bytes.buffering", "statestore.cache.max.bytes", 5),
        ("default.dsl.store", "dsl.store.suppliers.class", "in_memory"),
        ("default.deserialization.exception.handler", "deserialization.exception.handler", "log_and_continue"),
        ("default.production.exception.handler", "production.exception.handler", "continue"),
    ],
)
def test_an_older_name_counts_where_the_newer_is_not_given(older: str, name: str, value: Any) -> None:
    assert StreamsConfig({older: value})[name] == value


def test_a_newer_name_wins_over_the_older() -> None:
    config = StreamsConfig({"cache.max.bytes.buffering": 5, "statestore.cache.max.bytes": 6})

    assert config["statestore.cache.max.bytes"] == 6


def test_exactly_once_commits_more_often() -> None:
    config = StreamsConfig({"processing.guarantee": "exactly_once_v2"})

    assert config.is_exactly_once
    assert config["commit.interval.ms"] == 100


def test_a_transaction_must_outlast_the_commit_interval() -> None:
    with pytest.raises(ConfigError, match=r"shorter than commit\.interval\.ms"):
        StreamsConfig({"processing.guarantee": "exactly_once_v2", "commit.interval.ms": 20_000})
    StreamsConfig(
        {
            "processing.guarantee": "exactly_once_v2",
            "commit.interval.ms": 20_000,
            "producer.transaction.timeout.ms": "60000",
        }
    )


def test_the_default_serdes_are_strings() -> None:
    assert StreamsConfig().default_key_serde == serde.string()
    assert StreamsConfig().default_value_serde == serde.string()


class Upper:
    """A serde of the user."""

    def serialize(self, topic: str, value: str | None) -> bytes | None:
        return None if value is None else value.upper().encode()

    def deserialize(self, topic: str, data: bytes | None) -> str | None:
        return None if data is None else data.decode()


@pytest.mark.parametrize("given", [Upper, Upper(), lambda: Upper()])
def test_a_serde_may_be_an_object_a_class_or_a_factory(given: Any) -> None:
    assert isinstance(StreamsConfig({"default.key.serde": given}).default_key_serde, Upper)


def test_a_serde_may_be_a_name_or_a_function_of_serdes() -> None:
    assert StreamsConfig({"default.key.serde": "uuid"}).default_key_serde == serde.uuid()
    assert StreamsConfig({"default.value.serde": serde.long}).default_value_serde == serde.long()


def test_a_default_serde_with_an_open_inner_one_is_filled_in() -> None:
    config = StreamsConfig({"default.value.serde": serde.list(), "default.list.value.serde.inner": "short"})

    assert config.default_value_serde == serde.list(serde.short())


def test_no_default_serde_is_an_error_when_one_is_needed() -> None:
    config = StreamsConfig({"default.key.serde": None, "default.value.serde": None})

    with pytest.raises(ConfigError, match=r"default\.key\.serde is None"):
        config.default_key_serde  # noqa: B018
    with pytest.raises(ConfigError, match=r"default\.value\.serde is None"):
        config.default_value_serde  # noqa: B018


@pytest.mark.parametrize("given", ["strings", 7])
def test_what_is_no_serde_is_an_error(given: Any) -> None:
    with pytest.raises(ConfigError, match=r"default\.key\.serde must be a serde"):
        StreamsConfig({"default.key.serde": given}).default_key_serde  # noqa: B018


class Never:
    """An extractor of the user."""

    def __call__(self, record: ConsumedRecord, partition_time: int) -> int:
        return -1


def test_the_timestamp_extractor_may_be_a_name_a_class_or_a_function() -> None:
    def extractor(given: Any) -> Any:
        return StreamsConfig({"default.timestamp.extractor": given}).default_timestamp_extractor

    assert StreamsConfig().default_timestamp_extractor is timestamps.fail_on_invalid_timestamp
    assert extractor("log_and_skip") is timestamps.log_and_skip_on_invalid_timestamp
    assert extractor(timestamps.wallclock_timestamp) is timestamps.wallclock_timestamp
    assert isinstance(extractor(Never), Never)
    with pytest.raises(ConfigError, match="must be a callable"):
        extractor("sundial")


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        ("none", set()),
        ("all", {"reuse.ktable.source.topics", "merge.repartition.topics", "single.store.self.join"}),
        ("merge.repartition.topics , single.store.self.join", {"merge.repartition.topics", "single.store.self.join"}),
    ],
)
def test_optimizations_are_a_set(given: str, meant: set[str]) -> None:
    assert topology_optimizations(given) == meant
    assert StreamsConfig({"topology.optimization": given}).topology_optimizations == meant


@pytest.mark.parametrize("given", ["all,none", "all,merge.repartition.topics", "bogus", "", None, 3])
def test_a_wrong_mix_of_optimizations_is_refused(given: Any) -> None:
    with pytest.raises(ConfigError, match=r"topology\.optimization must be"):
        StreamsConfig({"topology.optimization": given})


def test_secrets_are_not_shown() -> None:
    config = StreamsConfig({"sasl.password": "hunter2", "ssl.key.password": "hunter3", "application.id": "views"})

    assert "hunter" not in repr(config)
    assert "views" in repr(config)
    assert config.with_prefix("sasl.") == {"password": "hunter2"}


def test_a_configuration_travels() -> None:
    config = StreamsConfig({"application.id": "views", "default.key.serde": serde.list(serde.long())})

    assert cloudpickle.loads(cloudpickle.dumps(config)) == config


def test_settings_can_be_replaced_in_a_copy() -> None:
    config = StreamsConfig({"application.id": "views", "num.stream.threads": 2})

    assert config.with_settings({"num.stream.threads": 3})["num.stream.threads"] == 3
    assert config["num.stream.threads"] == 2
    assert StreamsConfig(config) == config


def test_every_default_passes_its_own_check() -> None:
    for setting in SETTINGS.values():
        if setting.default is not None:
            assert setting.value(setting.default) == setting.default
        assert setting.doc


def test_a_bad_setting_of_the_consumer_that_is_followed_here_is_refused_at_once() -> None:
    assert StreamsConfig({"consumer.max.poll.interval.ms": "500"}).max_poll_interval_ms == 500
    with pytest.raises(ConfigError, match=r"consumer\.max\.poll\.interval\.ms"):
        StreamsConfig({"consumer.max.poll.interval.ms": "soon"})
