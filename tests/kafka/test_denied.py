"""A broker that asks who one is and what one may: what is wrong is said, and no password is in it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka.admin import (
    AclBinding,
    AclOperation,
    AclPermissionType,
    AdminClient,
    ResourcePatternType,
    ResourceType,
)

from headrace.broker import open_broker
from headrace.errors import BrokerError, ConfigError
from headrace.kafka_server import KafkaServer, free_port
from tests.kafka.running import SECONDS, CountingApp
from tests.kafka.servers import end, new_node, require_kafka, small_server

_PASSWORD = "geheim-17"
_LOGIN = "org.apache.kafka.common.security.plain.PlainLoginModule"


class Guarded:
    """A broker with a listener without a password, for us, and one with, at ``port``, for alice."""

    def __init__(self, server: KafkaServer, port: int) -> None:
        self.server, self.address = server, f"127.0.0.1:{port}"

    def allow(self, kind: ResourceType, name: str, *operations: AclOperation) -> None:
        """Let alice do that."""
        acls = [
            AclBinding(kind, name, ResourcePatternType.PREFIXED, "User:alice", "*", operation, AclPermissionType.ALLOW)
            for operation in operations
        ]
        admin = AdminClient({"bootstrap.servers": self.server.address})
        for answer in admin.create_acls(acls).values():
            answer.result(SECONDS)


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Guarded]:
    require_kafka()
    node, port = new_node(), free_port()
    listeners: Sequence[str] = (
        f"PLAINTEXT://127.0.0.1:{node.port}",
        f"GUARDED://127.0.0.1:{port}",
        f"CONTROLLER://127.0.0.1:{node.controller_port}",
    )
    settings = {
        "listeners": ",".join(listeners),
        "advertised.listeners": ",".join(listeners[:2]),
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,GUARDED:SASL_PLAINTEXT,CONTROLLER:PLAINTEXT",
        "listener.name.guarded.sasl.enabled.mechanisms": "PLAIN",
        "listener.name.guarded.plain.sasl.jaas.config": f'{_LOGIN} required user_alice="{_PASSWORD}";',
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "super.users": "User:ANONYMOUS",
    }
    server = small_server(tmp_path_factory.mktemp("guarded") / "broker", node, settings=settings)
    try:
        server.start()
        yield Guarded(server, port)
    finally:
        end(server)


def as_alice(password: str = _PASSWORD) -> dict[str, Any]:
    return {
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "PLAIN",
        "sasl.username": "alice",
        "sasl.password": password,
    }


def test_a_wrong_password_is_told_and_not_shown(guarded: Guarded, kafka_name: str, tmp_path: Path) -> None:
    app = CountingApp(guarded.server.address, kafka_name, tmp_path)
    app.make_topics()
    streams = app.streams(bootstrap_servers=guarded.address, **as_alice("wrong-password-99"))

    with pytest.raises(ConfigError) as raised:
        streams.start()
    assert f"no session with Kafka at {guarded.address} can be opened" in raised.value.message
    assert "sasl." in str(raised.value.hint)
    assert "wrong-password-99" not in str(raised.value)


def test_what_is_not_allowed_is_named_and_what_is_runs(
    guarded: Guarded, kafka_name: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    app = CountingApp(guarded.server.address, kafka_name, tmp_path)
    app.make_topics()
    app.send()
    settings = {"bootstrap_servers": guarded.address, **as_alice()}
    guarded.allow(ResourceType.TOPIC, f"{kafka_name}-in", AclOperation.DESCRIBE, AclOperation.DESCRIBE_CONFIGS)
    guarded.allow(ResourceType.TOPIC, f"{kafka_name}-out", AclOperation.DESCRIBE, AclOperation.DESCRIBE_CONFIGS)
    with pytest.raises(BrokerError, match="the cluster denies it") as raised, app.streams(**settings) as streams:
        streams.run_until_idle()
    assert "ACL" in str(raised.value.hint)

    for kind in (ResourceType.TOPIC, ResourceType.GROUP, ResourceType.TRANSACTIONAL_ID):
        guarded.allow(kind, kafka_name, AclOperation.ALL)
    with app.streams(**settings) as streams:
        streams.run_until_idle()
    app.wait_until_counted()
    assert _PASSWORD not in str(raised.value) + caplog.text


def test_the_password_is_in_no_file_of_the_application(guarded: Guarded, kafka_name: str, tmp_path: Path) -> None:
    app = CountingApp(guarded.server.address, kafka_name, tmp_path)
    app.make_topics()
    app.send()
    for kind in (ResourceType.TOPIC, ResourceType.GROUP, ResourceType.TRANSACTIONAL_ID):
        guarded.allow(kind, kafka_name, AclOperation.ALL)
    with app.streams(bootstrap_servers=guarded.address, **as_alice()) as streams:
        streams.run_until_idle()
        assert _PASSWORD not in repr(streams)
    app.wait_until_counted()

    files = [path for path in (tmp_path / "state").rglob("*") if path.is_file()]
    assert files
    assert not [path for path in files if _PASSWORD.encode() in path.read_bytes()]
    with closing(open_broker(guarded.server.address)) as broker:
        for topic in broker.topics():
            if topic.startswith(kafka_name):
                records = [record for chunk in broker.read(topic, 0, 0) for record in chunk]
                assert not [record for record in records if _PASSWORD.encode() in (record[5] or b"")]
