"""Java's names for the settings of clients, and what librdkafka is told."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from contextlib import closing
from typing import Any

import pytest

from headrace.broker import BrokerConfig, open_broker
from headrace.broker.config import broker_settings
from headrace.broker.kafka import client_settings
from headrace.broker.kafka.client_settings import admin_settings, consumer_settings, hidden, producer_settings
from headrace.broker.kafka.clients import Clients
from headrace.config import StreamsConfig
from headrace.errors import ConfigError
from headrace.lifecycle.preflight import broker_config

SECRET = "x1-y2-z3"
PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule"
SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule"
BEARER = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule"


def config(settings: Mapping[str, Any]) -> BrokerConfig:
    return BrokerConfig("localhost:9092", settings)


def of_consumer(settings: Mapping[str, Any]) -> dict[str, Any]:
    found = consumer_settings(config(settings))
    assert found.pop("bootstrap.servers") == "localhost:9092"
    return found


def test_each_client_gets_its_own_and_what_is_for_all() -> None:
    given = config(
        {
            "security.protocol": "SSL",
            "request.timeout.ms": 1000,
            "consumer.fetch.min.bytes": 5,
            "producer.linger.ms": 7,
            "admin.retries": 2,
            "application.id": "not for clients",
        }
    )
    common = {"bootstrap.servers": "localhost:9092", "security.protocol": "SSL", "socket.timeout.ms": 1000}
    assert consumer_settings(given) == {**common, "fetch.min.bytes": 5}
    assert producer_settings(given) == {**common, "linger.ms": 7}
    assert admin_settings(given) == {**common, "retries": 2}


def test_a_kind_of_consumer_goes_before_all_consumers() -> None:
    given = config(
        {"consumer.fetch.min.bytes": 1, "main.consumer.fetch.min.bytes": 2, "restore.consumer.check.crcs": 1}
    )
    assert consumer_settings(given)["fetch.min.bytes"] == 2
    assert consumer_settings(given, "restore")["fetch.min.bytes"] == 1
    assert consumer_settings(given, "restore")["check.crcs"] == 1
    assert "check.crcs" not in consumer_settings(given)


@pytest.mark.parametrize(
    ("java", "ours"),
    [
        ({"consumer.fetch.max.wait.ms": 10}, {"fetch.wait.max.ms": 10}),
        ({"consumer.receive.buffer.bytes": -1}, {"socket.receive.buffer.bytes": 0}),
        ({"send.buffer.bytes": 1000}, {"socket.send.buffer.bytes": 1000}),
        ({"ssl.endpoint.identification.algorithm": ""}, {"ssl.endpoint.identification.algorithm": "none"}),
        ({"ssl.truststore.location": "/ca.pem"}, {"ssl.ca.location": "/ca.pem"}),
        ({"ssl.truststore.location": "/ca", "ssl.truststore.type": "PEM"}, {"ssl.ca.location": "/ca"}),
        ({"ssl.truststore.certificates": "PEM TEXT"}, {"ssl.ca.pem": "PEM TEXT"}),
        (
            {"ssl.keystore.location": "/me.p12", "ssl.keystore.password": SECRET},
            {"ssl.keystore.location": "/me.p12", "ssl.keystore.password": SECRET},
        ),
        (
            {"ssl.keystore.location": "/me.pem", "ssl.key.password": SECRET},
            {"ssl.certificate.location": "/me.pem", "ssl.key.location": "/me.pem", "ssl.key.password": SECRET},
        ),
        (
            {"ssl.keystore.key": "K", "ssl.keystore.certificate.chain": "C"},
            {"ssl.key.pem": "K", "ssl.certificate.pem": "C"},
        ),
        ({"consumer.max.poll.records": 10, "consumer.auto.offset.reset": "latest"}, {}),
        ({"consumer.queued.min.messages": 10}, {"queued.min.messages": 10}),
    ],
)
def test_names_of_java_are_translated(java: dict[str, Any], ours: dict[str, Any]) -> None:
    assert of_consumer(java) == ours


def test_names_of_producers() -> None:
    given = {"producer.buffer.memory": 1 << 20, "producer.max.request.size": 5, "producer.compression.zstd.level": 3}
    found = producer_settings(config(given))
    assert found["queue.buffering.max.kbytes"] == 1024
    assert found["message.max.bytes"] == 5
    assert found["compression.level"] == 3


@pytest.mark.parametrize(
    ("jaas", "ours"),
    [
        (
            f'{PLAIN} required username="alice" password="{SECRET}";',
            {"sasl.username": "alice", "sasl.password": SECRET},
        ),
        (
            f"{SCRAM} required\n  username=alice\n  password='{SECRET}' ;",
            {"sasl.username": "alice", "sasl.password": SECRET},
        ),
        (
            f'{PLAIN} required password="a\\"b;c=d" username="al ice"',
            {"sasl.username": "al ice", "sasl.password": 'a"b;c=d'},
        ),
        (
            f'{BEARER} required clientId="me" clientSecret="{SECRET}" scope="all";',
            {
                "sasl.oauthbearer.client.id": "me",
                "sasl.oauthbearer.client.secret": SECRET,
                "sasl.oauthbearer.scope": "all",
                "sasl.oauthbearer.method": "oidc",
            },
        ),
        (
            f'{BEARER} required unsecuredLoginStringClaim_sub="alice";',
            {"enable.sasl.oauthbearer.unsecure.jwt": True, "sasl.oauthbearer.config": "principal=alice"},
        ),
    ],
)
def test_a_login_as_java_writes_it(jaas: str, ours: dict[str, Any]) -> None:
    assert of_consumer({"sasl.jaas.config": jaas}) == ours


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"sasl.jaas.config": f"nonsense {SECRET!r}"[:8]}, "is not of the form"),
        (
            {"sasl.jaas.config": f'com.example.MyLoginModule required password="{SECRET}";'},
            "names MyLoginModule, which",
        ),
        ({"sasl.jaas.config": f'{PLAIN} required password="{SECRET}";'}, "gives no username or no password"),
        ({"ssl.truststore.location": "/ca.jks", "ssl.truststore.password": SECRET}, "is a JKS store, which librdkafka"),
        ({"ssl.truststore.location": "/ca.p12", "ssl.truststore.password": SECRET}, "is a PKCS12 store, which"),
        ({"ssl.keystore.location": "/me.jks", "ssl.keystore.password": SECRET}, "is a JKS store, which librdkafka"),
    ],
)
def test_what_cannot_be_translated_is_an_error_without_secrets(settings: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigError, match=said) as raised:
        of_consumer(settings)
    assert SECRET not in str(raised.value)


def test_what_has_no_effect_is_told_once(caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client_settings, "_told", set())
    with caplog.at_level(logging.WARNING):
        for _ in range(2):
            assert of_consumer({"consumer.interceptor.classes": "x.Y", "ssl.protocol": "TLSv1.3"}) == {}
    assert [record.getMessage() for record in caplog.records] == [
        "the client setting interceptor.classes has no effect: it names a class of Java's",
        "the client setting ssl.protocol has no effect: librdkafka has nothing like it",
    ]


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"consumer.fetch.mim.bytes": 5}, 'No such configuration property: "fetch.mim.bytes"'),
        ({"consumer.fetch.min.bytes": "many"}, "fetch.min.bytes"),
        ({"ssl.key.pem": SECRET, "security.protocol": "SSL"}, r"ssl\.key\.pem"),
        (
            {
                "sasl.password": SECRET,
                "sasl.username": "a",
                "sasl.mechanism": "NOPE",
                "security.protocol": "SASL_PLAINTEXT",
            },
            "",
        ),
    ],
)
def test_what_librdkafka_does_not_take_is_our_error_without_secrets(settings: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigError, match="Kafka's client does not take its settings: .*" + said) as raised:
        Clients(config(settings)).consumer()
    assert SECRET not in str(raised.value)
    assert raised.value.__cause__ is None


def test_secrets_are_hidden_from_texts_and_from_what_is_shown() -> None:
    secrets = {"sasl.password": SECRET, "ssl.key.password": "k", "sasl.jaas.config": f'a password="{SECRET}"'}
    assert hidden(f"<{SECRET}>", secrets) == "<***>"
    with closing(open_broker(config(secrets))) as broker:
        assert SECRET not in f"{broker!r} {broker.config!r} {broker.address}"


def test_an_application_hands_its_clients_settings_on() -> None:
    settings = {
        "application.id": "views",
        "bootstrap.servers": "localhost:9092",
        "consumer.fetch.min.bytes": 1,
        "restore.consumer.fetch.min.bytes": 2,
        "sasl.password": SECRET,
        "replication.factor": 3,
        "my.own": 1,
    }
    found = broker_config(StreamsConfig(settings)).settings
    assert found == {
        "consumer.fetch.min.bytes": 1,
        "restore.consumer.fetch.min.bytes": 2,
        "sasl.password": SECRET,
        "replication.factor": 3,
        "consumer.isolation.level": "read_uncommitted",
    }
    assert "my.own" not in broker_settings(settings)


@pytest.mark.parametrize(
    ("settings", "level"),
    [
        ({}, "read_uncommitted"),
        ({"consumer.isolation.level": "read_committed"}, "read_committed"),
        ({"main.consumer.isolation.level": "read_committed"}, "read_committed"),
        ({"processing.guarantee": "exactly_once_v2"}, "read_committed"),
        ({"processing.guarantee": "exactly_once_v2", "consumer.isolation.level": "read_uncommitted"}, "read_committed"),
    ],
)
def test_what_is_read_follows_the_guarantee(settings: dict[str, Any], level: str) -> None:
    given = {"application.id": "views", "bootstrap.servers": "localhost:9092", **settings}
    assert consumer_settings(broker_config(StreamsConfig(given)))["isolation.level"] == level
