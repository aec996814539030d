"""Which settings are read, and that those that are not are told of."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import pytest

import headrace
from headrace.broker.config import BrokerConfig, broker_settings
from headrace.broker.kafka.client_settings import admin_settings
from headrace.config import StreamsConfig
from headrace.lifecycle.preflight import warn_of_idle_settings
from headrace.settings import ON_KAFKA, SETTINGS, WITHOUT_EFFECT

SOURCE = Path(headrace.__file__).parent
LISTS = {SOURCE / "settings.py", SOURCE / "config.py", SOURCE / "broker" / "kafka" / "client_settings.py"}
"""Where a name is listed and checked: that is not reading it."""

BEHIND = {
    "application.id": "application_id",
    "state.dir": "state_dir",
    "processing.guarantee": "is_exactly_once",
    "topology.optimization": "topology_optimizations",
    "default.key.serde": "default_key_serde",
    "default.value.serde": "default_value_serde",
    "default.list.key.serde.inner": "default_list_inner_serde",
    "default.list.value.serde.inner": "default_list_inner_serde",
    "default.timestamp.extractor": "default_timestamp_extractor",
}
"""Settings that others read by a name of the configuration's own."""

OLDER = {setting.older_name: name for name, setting in SETTINGS.items() if setting.older_name is not None}
TEXTS = [path.read_text() for path in SOURCE.rglob("*.py") if path not in LISTS]


def is_read(name: str) -> bool:
    if name in OLDER:
        return is_read(OLDER[name])
    wanted = [f'"{name}"'] + ([f".{BEHIND[name]}"] if name in BEHIND else [])
    return any(text in source for source in TEXTS for text in wanted)


@pytest.mark.parametrize("name", SETTINGS)
def test_a_setting_is_read_or_listed_as_without_effect(name: str) -> None:
    assert is_read(name) != (name in WITHOUT_EFFECT)


def test_nothing_else_is_listed() -> None:
    assert not {*WITHOUT_EFFECT, *ON_KAFKA} - set(SETTINGS)
    assert not WITHOUT_EFFECT.keys() & ON_KAFKA.keys()


@pytest.mark.parametrize("name", ON_KAFKA)
def test_what_has_an_effect_on_kafka_gets_there(name: str) -> None:
    """Connections and security are for librdkafka; the rest is read where an application's broker is opened."""
    value = "SSL" if name == "security.protocol" else 12_345
    config = BrokerConfig("localhost:9092", broker_settings({name: value}))
    assert config.settings == {name: value}
    given = admin_settings(config)
    assert value in given.values() or name in {"processing.guarantee", "replication.factor", "staging.dir"}


def test_settings_without_effect_are_told_of_in_one_line(caplog: pytest.LogCaptureFixture) -> None:
    given: dict[str, Any] = {"application.id": "a", "num.standby.replicas": 1, "commit.interval.ms": 5, "own": 1}
    with caplog.at_level(logging.WARNING):
        warn_of_idle_settings(StreamsConfig(given))
    (line,) = caplog.messages
    assert "num.standby.replicas (" in line
    assert "commit.interval.ms (a batch commits when it is done)" in line
    assert "application.id" not in line


def test_where_all_have_effect_nothing_is_said(caplog: pytest.LogCaptureFixture) -> None:
    warn_of_idle_settings(StreamsConfig({"application.id": "a", "num.stream.threads": 2}))
    assert not caplog.messages


def test_what_only_kafka_reads_is_told_of_on_the_embedded_broker(caplog: pytest.LogCaptureFixture) -> None:
    given = {"application.id": "a", "replication.factor": 3, "security.protocol": "SSL"}
    with caplog.at_level(logging.WARNING):
        warn_of_idle_settings(StreamsConfig({**given, "bootstrap.servers": "localhost:9092"}))
        assert caplog.messages == []
        warn_of_idle_settings(StreamsConfig(given))
    (line,) = caplog.messages
    assert "replication.factor (the embedded broker keeps one copy)" in line
    assert "security.protocol (" in line
