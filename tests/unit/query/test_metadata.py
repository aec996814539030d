"""What replicas and the metadata of an application say of it."""

from __future__ import annotations

import pytest

from headrace import StreamsBuilder
from headrace.batch.local import LocalEngine
from headrace.errors import ConfigError, UnknownStoreError
from headrace.partitioning import default_partition
from headrace.query import HostInfo, KeyQuery, LagInfo, StandbyEvent
from headrace.query.metadata import ApplicationMetadata
from headrace.query.replicas import Replicas
from tests.unit.query.conftest import Scene


@pytest.fixture
def metadata(scene: Scene, replicas: Replicas) -> ApplicationMetadata:
    return ApplicationMetadata(replicas, scene.broker)


def test_the_partition_of_a_key_is_where_it_is_found(
    scene: Scene, replicas: Replicas, metadata: ApplicationMetadata
) -> None:
    scene.append("views", *((name, "x") for name in ("al", "bo", "cy", "di")))
    scene.run()
    for name in ("al", "bo", "cy", "di"):
        found = metadata.for_key("counts", name, None, None)
        answers = replicas.query("counts", KeyQuery(name))
        assert [number for number, answer in answers.items() if answer.result is not None] == [found.partition]
        assert metadata.for_key("windows", name, None, None).partition == default_partition(name.encode(), 2)


def test_a_partitioner_of_the_users_decides(metadata: ApplicationMetadata) -> None:
    assert metadata.for_key("counts", "al", None, lambda topic, key, value, partitions: partitions - 1).partition == 1


def test_a_global_store_is_everywhere(metadata: ApplicationMetadata) -> None:
    assert metadata.for_key("regions", "al", None, None).partition == -1


def test_an_unknown_store_is_an_error_with_the_nearest_name(metadata: ApplicationMetadata) -> None:
    for ask in (lambda: metadata.for_key("count", "al", None, None), lambda: metadata.instances_with("count")):
        with pytest.raises(UnknownStoreError) as caught:
            ask()
        assert caught.value.hint == "Did you mean 'counts'?"


def test_the_one_instance_has_all_stores_and_partitions(metadata: ApplicationMetadata) -> None:
    (instance,) = metadata.instances_with("counts")
    assert {"counts", "windows", "sessions", "users", "regions"} <= instance.state_store_names
    assert ("views", 1) in instance.topic_partitions
    assert instance.host_info == HostInfo("unavailable", -1)


def test_tasks_know_their_offsets(scene: Scene, metadata: ApplicationMetadata) -> None:
    scene.append("views", ("al", "x"))
    scene.run()
    scene.append("views", ("al", "x"), ("al", "x"))
    partition = default_partition(b"al", 2)
    tasks = [task for thread in metadata.threads(["one", "two"], "RUNNING") for task in thread.active_tasks]
    assert len({task.task_id for task in tasks}) == len(tasks)
    (task,) = [task for task in tasks if ("views", partition) in task.topic_partitions]
    assert task.committed_offsets["views", partition] == 1
    assert task.end_offsets["views", partition] == 3


def test_lags_are_those_of_the_copies(scene: Scene, replicas: Replicas) -> None:
    partition = default_partition(b"al", 2)
    scene.append("views", ("al", "x"))
    scene.run()
    assert replicas.lags()["counts"][partition] == LagInfo(0, 1)
    assert replicas.store("counts").get("al") == 1
    assert replicas.lags()["counts"][partition].offset_lag == 0
    scene.append("views", ("al", "x"))
    scene.run()
    lag = replicas.lags()["counts"][partition]
    assert (lag.current_offset_position, lag.end_offset_position, lag.offset_lag) == (1, 2, 1)
    assert "regions" not in replicas.lags()
    assert "secret" not in replicas.lags()


def test_copies_tell_how_they_follow(scene: Scene) -> None:
    partition = default_partition(b"al", 2)
    seen: list[StandbyEvent] = []
    with scene.replicas() as replicas:
        replicas.standbys.append(seen.append)
        scene.append("views", ("al", "x"))
        scene.run()
        replicas.store("counts").get("al")
        scene.append("views", ("al", "x"))
        scene.run()
        replicas.store("counts").get("al")
    of_al = [event for event in seen if event.partition == partition]
    steps = [(event.step.value, event.offset, event.end_offset, event.loaded) for event in of_al]
    assert steps == [("start", 0, 1, 0), ("batch", 1, 1, 1), ("batch", 2, 2, 1), ("suspended", 2, 2, 0)]
    assert {event.store for event in seen} == {"counts"}


def test_an_answer_says_how_far_it_reflects_the_input(scene: Scene, replicas: Replicas) -> None:
    partition = default_partition(b"al", 2)
    scene.append("views", ("al", "x"), ("al", "x"))
    scene.run()
    scene.append("views", ("al", "not read yet"))
    answer = replicas.query("counts", KeyQuery("al"))[partition]
    assert answer.result == 2
    assert answer.position is not None
    assert answer.position.partitions("views") == {partition: 1}
    scene.append("regions", ("no", "north"))
    (of_global,) = replicas.query("regions", KeyQuery("no")).values()
    assert of_global.position is not None
    assert of_global.position.partitions("regions") == {default_partition(b"no", 2): 0}


def test_behind_a_repartition_all_partitions_before_it_count(scene: Scene) -> None:
    builder = StreamsBuilder()
    builder.stream("views").group_by(lambda user, page: page).count("pages")
    topology = builder.build()
    scene.append("views", ("al", "home"), ("bo", "home"), ("cy", "home"), ("di", "home"))
    with LocalEngine(topology, scene.settings, scene.broker) as engine:
        engine.run_until_idle()
    with Replicas.of(topology, scene.settings, scene.broker) as replicas:
        answer = replicas.query("pages", KeyQuery("home"))[default_partition(b"home", 2)]
        assert answer.result == 4
        assert answer.position is not None
        ends = scene.broker.end_offsets([("views", 0), ("views", 1)])
        assert answer.position.partitions("views") == {number: end - 1 for (_, number), end in ends.items() if end}


@pytest.mark.parametrize(
    ("endpoint", "host"),
    [("localhost:8080", ("localhost", 8080)), ("http://[::1]:80", ("::1", 80)), ("", ("unavailable", -1))],
)
def test_the_host_is_what_application_server_says(endpoint: str, host: tuple[str, int]) -> None:
    assert HostInfo.of(endpoint) == host


def test_an_endpoint_without_a_port_is_refused() -> None:
    with pytest.raises(ConfigError, match="must be host:port, found 'localhost'"):
        HostInfo.of("localhost")
