"""What is still to be read, before anything was committed and after."""

from __future__ import annotations

from pathlib import Path

from headrace import StreamsBuilder
from headrace.application.layout import lay_out
from headrace.application.positions import lags
from headrace.broker import open_broker
from headrace.broker.port import NewRecord, OffsetAndMetadata


def test_counts_what_is_there_before_the_first_commit(tmp_path: Path) -> None:
    broker = open_broker(f"embedded:{tmp_path}/data")
    broker.create_topic("old", 2)
    broker.create_topic("new")
    broker.append([NewRecord(topic, None, b"v", partition=0) for topic in ("old", "new", "old")])
    builder = StreamsBuilder()
    builder.stream("old").to("out")
    builder.stream("new", offset_reset="latest").to("out")
    application = lay_out(builder.build(), {"application.id": "app"}, broker, is_to_run=False)

    assert lags(application, broker) == {("old", 0): 2, ("old", 1): 0}

    broker.commit_offsets("app", {("old", 0): OffsetAndMetadata(1), ("new", 0): OffsetAndMetadata(1)})
    assert lags(application, broker) == {("old", 0): 1, ("old", 1): 0, ("new", 0): 0}
    broker.close()
