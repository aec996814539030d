"""Kafka with TLS, passwords and ACLs: what is wrong is said, no password is in it, and what is allowed runs.

``HEADRACE_FAULTS=long`` tries every protocol and mechanism.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka.admin import AclOperation, ResourceType

from headrace.application.stateful_readers import stateful_readers
from headrace.broker import BrokerConfig, open_broker
from headrace.database.forgetting import forget_orphans
from headrace.errors import AuthenticationError, BrokerError, BrokerUnreachableError, HeadraceError
from tests.kafka.guarded import PASSWORD, USER, Guarded, guarded_broker
from tests.kafka.running import CountingApp, long, running, wait_for
from tests.kafka.servers import require_kafka

_WRONG = "wrong-password-99"


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Guarded]:
    require_kafka()
    # Whoever has been in for so long says again who it is.
    again = {f"listener.name.sasl.{each}.connections.max.reauth.ms": "3000" for each in ("plain", "scram-sha-512")}
    with guarded_broker(tmp_path_factory.mktemp("guarded") / "all", again) as found:
        yield found


@pytest.fixture
def app(guarded: Guarded, kafka_name: str, tmp_path: Path) -> CountingApp:
    app = CountingApp(guarded.server.address, kafka_name, tmp_path)
    app.make_topics()
    app.send()
    return app


def told(settings: dict[str, Any], *secrets: str) -> BrokerError:
    """What a cluster says to somebody who opens it and asks for its topics."""
    address = settings.pop("bootstrap.servers")
    with closing(open_broker(BrokerConfig(address, settings))) as broker, pytest.raises(BrokerError) as raised:
        broker.topics()
    assert not [secret for secret in secrets if secret in str(raised.value)]
    return raised.value


def run(app: CountingApp, settings: dict[str, Any]) -> None:
    with app.streams(**settings) as streams:
        streams.run_until_idle()


def allow_all(guarded: Guarded, name: str) -> None:
    for kind in (ResourceType.TOPIC, ResourceType.GROUP, ResourceType.TRANSACTIONAL_ID):
        guarded.allow(kind, name, AclOperation.ALL)


def test_what_is_refused_is_named_and_what_is_allowed_runs(
    guarded: Guarded, app: CountingApp, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    error = told(guarded.settings("SASL_PLAINTEXT", password=_WRONG), _WRONG)
    assert isinstance(error, AuthenticationError)
    address = guarded.addresses["SASL_PLAINTEXT"]
    assert f"authentication with Kafka at {address} failed (SASL_PLAINTEXT PLAIN, User:{USER})" in error.message
    assert "sasl." in str(error.hint)

    settings = guarded.settings("SASL_SSL", "SCRAM-SHA-512")
    batches, changelog, out = (f"{app.name}-{end}" for end in ("headrace-batches", "counts-changelog", "out"))
    steps: list[tuple[str, list[tuple[ResourceType, str, list[AclOperation]]]]] = [
        (
            f"create the topic {batches}",
            [
                (ResourceType.TOPIC, f"{app.name}-in", [AclOperation.READ]),
                (ResourceType.TOPIC, out, [AclOperation.DESCRIBE, AclOperation.DESCRIBE_CONFIGS]),
                (ResourceType.GROUP, app.name, [AclOperation.READ, AclOperation.DESCRIBE]),
                (ResourceType.TRANSACTIONAL_ID, app.name, [AclOperation.ALL]),
            ],
        ),
        (
            f"read and write the topic {batches}",
            [(ResourceType.TOPIC, batches, [AclOperation.CREATE, AclOperation.DESCRIBE])],
        ),
        (
            f"create the topic {changelog}",
            [(ResourceType.TOPIC, batches, [AclOperation.READ, AclOperation.WRITE])],
        ),
        (f"write the topic {out}", [(ResourceType.TOPIC, changelog, [AclOperation.ALL])]),
    ]
    for what, allowed in steps:
        for kind, name, operations in allowed:
            guarded.allow(kind, name, *operations)
        with pytest.raises(HeadraceError) as raised:
            run(app, settings)
        assert f"{what}: the cluster denies it to User:{USER}" in str(raised.value)
        assert f"Ask for an ACL that allows it to User:{USER}." in str(raised.value)

    guarded.allow(ResourceType.TOPIC, f"{app.name}-out", AclOperation.WRITE)
    run(app, settings)
    app.wait_until_counted()
    assert PASSWORD not in caplog.text
    assert _WRONG not in caplog.text


def test_applications_of_others_that_may_not_be_read_are_in_nobodys_way(guarded: Guarded, kafka_name: str) -> None:
    mine, others = f"{kafka_name}-mine", f"{kafka_name}-others"
    with closing(open_broker(guarded.server.address)) as broker:
        for name in (mine, others):
            broker.acquire_lease(name).release()
            broker.create_topic(f"{name}-counts-changelog")
    allow_all(guarded, mine)
    guarded.allow(ResourceType.TOPIC, others, AclOperation.DESCRIBE, AclOperation.DESCRIBE_CONFIGS)
    settings = guarded.settings("SASL_PLAINTEXT")
    with closing(open_broker(BrokerConfig(settings.pop("bootstrap.servers"), settings))) as broker:
        assert broker.applications(kafka_name) == [others]
        assert stateful_readers(broker, "in") == {}
        forget_orphans(broker, kafka_name)
        assert sorted(topic for topic in broker.topics() if topic.startswith(others)) == [
            f"{others}-counts-changelog",
            f"{others}-headrace-batches",
        ]


@long
@pytest.mark.parametrize("guarantee", ["exactly_once_v2", "at_least_once"])
@pytest.mark.parametrize(
    ("protocol", "mechanism"),
    [("SASL_PLAINTEXT", "PLAIN"), ("SASL_PLAINTEXT", "SCRAM-SHA-512"), ("SASL_SSL", "PLAIN"), ("SSL", "")],
)
def test_an_application_runs_by_every_way_in(
    guarded: Guarded, app: CountingApp, protocol: str, mechanism: str, guarantee: str
) -> None:
    allow_all(guarded, app.name)
    run(app, {**guarded.settings(protocol, mechanism), "processing.guarantee": guarantee})
    app.wait_until_counted()


@long
def test_tls_that_does_not_fit_is_told(guarded: Guarded, tmp_path: Path) -> None:
    settings = guarded.settings("SSL")
    del settings["ssl.truststore.location"]
    untrusted = told(settings)
    assert isinstance(untrusted, AuthenticationError)
    assert "certificate" in str(untrusted.detail)
    plain = {**guarded.settings("SASL_PLAINTEXT"), "bootstrap.servers": guarded.addresses["SASL_SSL"]}
    assert isinstance(told({**plain, "admin.default.api.timeout.ms": 3_000}, PASSWORD), BrokerUnreachableError)
    unknown = told(guarded.settings("SASL_PLAINTEXT", "SCRAM-SHA-256"), PASSWORD)
    assert isinstance(unknown, AuthenticationError)
    assert "SCRAM-SHA-256" in unknown.message


@long
def test_a_certificate_that_has_expired_is_told_as_such(guarded: Guarded) -> None:
    error = told(dict(guarded.expired))
    assert isinstance(error, AuthenticationError)
    assert f"{guarded.expired['bootstrap.servers']}: certificate has expired" in str(error.detail)


@long
def test_the_group_that_is_denied_is_named(guarded: Guarded, app: CountingApp) -> None:
    for kind in (ResourceType.TOPIC, ResourceType.TRANSACTIONAL_ID):
        guarded.allow(kind, app.name, AclOperation.ALL)
    with pytest.raises(BrokerError, match=f"the group {app.name}: the cluster denies it to User:{USER}"):
        run(app, guarded.settings("SASL_PLAINTEXT"))


@long
def test_the_password_is_in_no_file_and_no_record_of_an_application(guarded: Guarded, app: CountingApp) -> None:
    allow_all(guarded, app.name)
    with app.streams(**guarded.settings("SASL_PLAINTEXT")) as streams:
        streams.run_until_idle()
        assert PASSWORD not in repr(streams)
    files = [path for path in app.directory.rglob("*") if path.is_file()]
    assert files
    assert not [path for path in files if PASSWORD.encode() in path.read_bytes()]
    with closing(open_broker(guarded.server.address)) as broker:
        for topic in broker.topics():
            if topic.startswith(app.name):
                records = [record for chunk in broker.read(topic, 0, 0) for record in chunk]
                assert not [record for record in records if PASSWORD.encode() in (record[5] or b"")]


@long
def test_a_password_that_is_changed_under_a_run_is_told_and_it_goes_on_when_it_is_right_again(
    guarded: Guarded, app: CountingApp
) -> None:
    allow_all(guarded, app.name)
    with running(app.streams(**guarded.settings("SASL_PLAINTEXT", "SCRAM-SHA-512"))) as streams:
        app.wait_until_counted()
        guarded.set_password(_WRONG)
        try:
            wait_for(lambda: "authentication" in str(streams.waiting_for), lambda: streams.waiting_for)
            assert "SCRAM-SHA-512" in str(streams.waiting_for)
        finally:
            guarded.set_password(PASSWORD)
        app.send()
        app.wait_until_counted()
