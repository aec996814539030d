"""On Spark the hosts publish what they staged; the driver only decides. A crashed application is finished."""

from __future__ import annotations

import logging
from contextlib import closing
from pathlib import Path

import pytest

from headrace.broker.kafka import crash_points, publishing
from headrace.broker.kafka.broker import KafkaBroker
from headrace.streams import Streams
from tests.kafka.tally import Tally, topology


def test_hosts_publish_what_they_staged(
    kafka_address: str,
    kafka_name: str,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # On a busy machine they take longer than the driver waits for them.
    monkeypatch.setattr(publishing, "_WAIT_SECONDS", 120.0)
    tally = Tally(kafka_address, kafka_name, tmp_path)
    tally.send(20_000)
    more = {"bootstrap.servers": kafka_address, "num.stream.threads": 2, "max.records.per.batch": 20_000}
    settings = tally.settings(**more)
    with caplog.at_level(logging.WARNING, logger="headrace.broker.kafka.publishing"):
        app = Streams(topology(kafka_name), settings)
        app.start()
        app.run_until_idle()
        app.close()
    tally.check()
    assert not [record for record in caplog.records if "publishes for publishers" in record.getMessage()]
    with closing(KafkaBroker(tally.config())) as broker:
        marks = broker._ownership.topics.state(kafka_name).marks
    assert {0, 1} & marks.keys(), "everything was published with its decision: the stages were too small"


def test_a_crashed_application_is_brought_to_a_clean_stop(kafka_address: str, kafka_name: str, tmp_path: Path) -> None:
    tally = Tally(kafka_address, kafka_name, tmp_path)
    tally.send(40)
    process = tally.spawn(
        {"HEADRACE_FAILPOINT": f"{crash_points.BEFORE_OFFSETS}:1"}, "hosts=1", "inline=0", "batch=100"
    )
    process.communicate(timeout=120)
    with closing(tally.broker()) as broker:
        assert {at.offset for at in broker.committed(kafka_name).values()} == {0}
        with broker.acquire_lease(kafka_name) as lease:
            broker.publish(kafka_name, lease.epoch)
        assert broker.lease_owner(kafka_name) is None
    tally.check()
