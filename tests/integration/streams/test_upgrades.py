"""A changed program on a real Spark session: the planner and the workers take the same tasks for the same."""

from __future__ import annotations

from pathlib import Path

import pytest

from headrace import Streams, StreamsBuilder, Topology, serdes, stores
from headrace.broker.port import Broker, NewRecord
from headrace.errors import UpgradeError
from headrace.state.shared_memory import leftovers
from tests.integration.streams.conftest import MakeApp


def counted(*, stream_before: bool = False, in_memory: bool = False, logging: bool = True) -> Topology:
    builder = StreamsBuilder()
    if stream_before:
        builder.stream("other").map_values(str.upper).to("other-out")
    store = stores.in_memory("c") if in_memory else "c"
    counts = builder.stream("in").group_by_key().count(store, logging=logging)
    counts.to_stream().to("out", value_serde=serdes.long())
    return builder.build()


def send(broker: Broker, count: int) -> None:
    broker.append([NewRecord("in", b"k", b"v") for _ in range(count)])


def last_count(broker: Broker) -> int:
    (end,) = broker.end_offsets([("out", 0)]).values()
    ((record,),) = broker.read("out", 0, end - 1)
    return int.from_bytes(record[5] or b"", "big")


def run(app: Streams) -> None:
    with app:
        app.run_until_idle()


def test_a_stream_added_before_a_count_does_not_set_it_back(broker: Broker, make_app: MakeApp, tmp_path: Path) -> None:
    for topic in ("in", "other"):
        broker.create_topic(topic)
    send(broker, 100)
    run(make_app(counted()))
    send(broker, 1)
    with make_app(counted(stream_before=True)) as app:
        app.run_until_idle()
        assert dict(app.store("c").all()) == {"k": 101}
        assert last_count(broker) == 101
    send(broker, 1)
    run(make_app(counted(stream_before=True, in_memory=True)))
    assert last_count(broker) == 102
    send(broker, 1)
    run(make_app(counted(in_memory=True)))
    assert last_count(broker) == 103
    assert not [each for each in leftovers() if each.application_dir == tmp_path / "state" / "app"]


def test_a_store_that_would_lose_its_content_is_refused_and_goes_on_as_it_was(
    broker: Broker, make_app: MakeApp
) -> None:
    for topic in ("in", "other"):
        broker.create_topic(topic)
    send(broker, 10)
    run(make_app(counted(logging=False)))
    with pytest.raises(UpgradeError, match="it has no changelog, so its content cannot follow"):
        make_app(counted(stream_before=True, logging=False)).start()
    send(broker, 1)
    run(make_app(counted(logging=False)))
    assert last_count(broker) == 11
