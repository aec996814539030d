"""The first job of a session runs beside the start of an application, once, and is in nobody's way."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from py4j.protocol import Py4JError

from headrace.broker.embedded import EmbeddedBroker
from headrace.spark import warm_up
from headrace.spark.engine import SparkEngine
from headrace.spark.warm_up import WarmUp
from tests.integration.batch.programs import settings, word_count


@pytest.fixture
def cold(spark: Any) -> Iterator[Any]:
    """The session, as if nothing had been run in it."""
    warm_up._warm.discard(spark.sparkContext)
    yield spark
    warm_up._warm.add(spark.sparkContext)


def jobs(session: Any) -> list[int]:
    """Those that nobody named."""
    return sorted(session.sparkContext.statusTracker().getJobIdsForGroup(None))


def test_an_engine_warms_its_session_before_it_is_started(cold: Any, broker: EmbeddedBroker, tmp_path: Any) -> None:
    before = jobs(cold)
    broker.create_topic("lines")
    with SparkEngine(word_count(), settings(tmp_path), broker, session=cold) as engine:
        assert engine._warm_up is not None
        engine._warm_up.close()
        assert len(jobs(cold)) == len(before) + 1


def test_a_session_is_warmed_once(cold: Any, broker: EmbeddedBroker) -> None:
    WarmUp(cold, broker.address).close()
    before = jobs(cold)
    WarmUp(cold, broker.address).close()
    assert jobs(cold) == before


def test_what_cannot_be_warmed_is_left_to_the_first_batch(cold: Any, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG, logger=warm_up.log.name):
        WarmUp(cold, "embedded:").close()
    assert [record.levelname for record in caplog.records] == ["DEBUG"]
    assert "names no directory" in caplog.text


def test_a_session_that_was_stopped_meanwhile_is_left_to_the_first_batch(caplog: pytest.LogCaptureFixture) -> None:
    class Stopped:
        @property
        def defaultParallelism(self) -> int:  # noqa: N802
            raise Py4JError("it was stopped")

    session: Any = SimpleNamespace(sparkContext=Stopped())
    with caplog.at_level(logging.DEBUG, logger=warm_up.log.name):
        warm_up._run(session, "embedded:")
    assert "it was stopped" in caplog.text
