"""What a running application tells of itself."""

from __future__ import annotations

import pytest

from headrace import Streams
from headrace.errors import IllegalStateError
from headrace.query import HostInfo, StandbyEvent
from tests.unit.lifecycle.conftest import MakeApp


def test_metadata_of_the_one_instance(make_app: MakeApp) -> None:
    with make_app(application_server="host-1:8080", num_stream_threads=2) as app:
        (instance,) = app.metadata_for_all_streams_clients()
        assert instance.host_info == HostInfo("host-1", 8080)
        assert instance.state_store_names == {"counts"}
        assert instance.topic_partitions == {("lines", 0), ("lines", 1)}
        assert app.streams_metadata_for_store("counts") == [instance]
        found = app.query_metadata_for_key("counts", "al")
        assert found.active_host == instance.host_info
        assert found.partition in (0, 1)
        assert app.query_metadata_for_key("counts", 7, key_serde="long").partition in (0, 1)


def test_threads_have_their_names_and_tasks(make_app: MakeApp) -> None:
    with make_app(num_stream_threads=2) as app:
        threads = app.metadata_for_local_threads()
        assert [thread.thread_name for thread in threads] == ["client-StreamThread-1", "client-StreamThread-2"]
        assert [[task.task_id for task in thread.active_tasks] for thread in threads] == [["0_0"], ["0_1"]]
        assert {thread.thread_state for thread in threads} == {"RUNNING"}


def test_lags_and_ids(make_app: MakeApp) -> None:
    with make_app() as app:
        assert {number: lag.offset_lag for number, lag in app.all_local_store_partition_lags()["counts"].items()} == {
            0: 0,
            1: 0,
        }
        ids = app.client_instance_ids()
        assert ids == app.client_instance_ids()
        assert list(ids.consumer_instance_ids) == ["client-StreamThread-1-consumer"]


def test_ids_need_the_push_of_metrics(make_app: MakeApp) -> None:
    with (
        make_app(enable_metrics_push=False) as app,
        pytest.raises(IllegalStateError, match=r"enable\.metrics\.push is off"),
    ):
        app.client_instance_ids()


def test_a_standby_listener_hears_of_copies(app: Streams) -> None:
    seen: list[StandbyEvent] = []
    app.on_standby_update(seen.append)
    with app:
        assert app.store("counts").get("al") is None
    assert {event.step.value for event in seen} <= {"start", "batch", "suspended"}
    assert {event.partition for event in seen if event.step.value == "suspended"} == {0, 1}


def test_metadata_is_there_while_the_application_runs(app: Streams) -> None:
    for ask in (app.metadata_for_all_streams_clients, app.metadata_for_local_threads, app.client_instance_ids):
        with pytest.raises(IllegalStateError, match="is not running"):
            ask()
