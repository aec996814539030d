"""A task that was sent to another process works as it would where it comes from."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pyspark import cloudpickle

from headrace import StreamsBuilder, Topology
from headrace.application.layout import Application, lay_out
from headrace.broker.embedded import EmbeddedBroker
from headrace.spark.shipping import packed
from headrace.state.value_codecs import HEADERS, PLAIN, SESSION_HEADERS, TIMESTAMPED
from headrace.task.stream_task import StreamTask


class _Nowhere:
    """Takes records, and forgets them."""

    def send(self, *record: Any) -> None:
        pass

    def partitions_for(self, topic: str) -> int:
        return 1

    def flush(self) -> None:
        pass


def _counting() -> Topology:
    builder = StreamsBuilder()
    builder.stream("in").group_by_key().count("counts").to_stream().to("out")
    return builder.build()


def _shipped(application: Application) -> Application:
    shipped: Application = cloudpickle.loads(packed(application))
    return shipped


@pytest.mark.parametrize("codec", [PLAIN, TIMESTAMPED])
def test_a_codec_that_is_asked_for_by_its_name_stays_that_one(codec: Any) -> None:
    assert cloudpickle.loads(packed(codec)) is codec


@pytest.mark.parametrize("codec", [HEADERS, SESSION_HEADERS])
def test_a_codec_that_is_compared_stays_equal(codec: Any) -> None:
    assert cloudpickle.loads(packed(codec)) == codec


@pytest.mark.parametrize("ship", [lambda application: application, _shipped], ids=["here", "shipped"])
def test_counts_go_in_columns_wherever_the_task_is(tmp_path: Path, ship: Any) -> None:
    broker = EmbeddedBroker(tmp_path / "broker")
    for topic in ("in", "out"):
        broker.create_topic(topic)
    application = ship(lay_out(_counting(), {"application.id": "app", "state.dir": tmp_path / "state"}, broker))
    plan = application.topology.task_plan(0)
    task = StreamTask(plan, application.config, _Nowhere(), partitions=[("in", 0)], state_dir=tmp_path / "task")
    task.initialize()
    task.start()
    try:
        assert task.takes_columns(("in", 0))
    finally:
        task.close()
        broker.close()
