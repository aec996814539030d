from __future__ import annotations

import shutil
import stat
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest

from headrace import SessionWindows, StreamsBuilder, Topology
from headrace.batch.local import LocalEngine
from headrace.clock import now_ms
from headrace.errors import ArgumentError, IllegalStateError, UnknownStoreError, UnsupportedError, WrongTypeError
from headrace.query import KeyQuery
from headrace.query import following as following_module
from headrace.query.replicas import Replicas
from tests.unit.query.conftest import Scene


def counts(replicas: Replicas, store: str = "counts") -> dict[str, int]:
    with replicas.store(store).all() as entries:
        return dict(entries)


def moment(ms: int) -> datetime:
    return datetime(1970, 1, 1, tzinfo=timezone.utc) + timedelta(milliseconds=ms)


def position_files(scene: Scene) -> list[Path]:
    return sorted((scene.directory / "state" / "app" / ".replica").rglob(".position"))


@pytest.mark.parametrize("store", ["counts", "in-memory", "recent"])
def test_shows_what_is_committed_and_follows(scene: Scene, replicas: Replicas, store: str) -> None:
    assert counts(replicas, store) == {}

    scene.append("views", ("al", "x"), ("bo", "x"), ("al", "x"))
    assert counts(replicas, store) == {}
    scene.run()
    assert counts(replicas, store) == {"al": 2, "bo": 1}
    scene.append("views", ("bo", "x"))
    scene.run()

    assert counts(replicas, store) == {"al": 2, "bo": 2}


def test_a_source_topic_that_serves_as_changelog_counts_as_far_as_it_was_read(scene: Scene, replicas: Replicas) -> None:
    users = replicas.store("users")
    scene.append("users", ("al", "Oslo"), (None, "nobody"), ("bo", "Rome"))
    assert replicas.layouts["users"].topic == "users"
    assert users.get("al") is None

    scene.run()
    scene.append("users", ("al", "Bern"), ("bo", None))
    assert (users.get("al"), users.get("bo")) == ("Oslo", "Rome")
    scene.run()

    assert (users.get("al"), users.get("bo")) == ("Bern", None)


def test_a_global_store_is_as_its_topic_is(scene: Scene, replicas: Replicas) -> None:
    regions = replicas.store("regions")
    scene.append("regions", ("no", "north"), ("it", "south"))
    assert dict(regions.all()) == {"no": "north", "it": "south"}

    scene.append("regions", ("it", None))

    assert dict(regions.all()) == {"no": "north"}


def test_a_versioned_store_knows_its_history(scene: Scene, replicas: Replicas) -> None:
    scene.append("prices", ("tea", "3"), at=10)
    scene.append("prices", ("tea", "4"), at=20)
    scene.run()
    prices = replicas.store("prices")

    assert prices.get("tea").value == "4"
    assert prices.get("tea", 15).value == "3"
    assert prices.get("tea", moment(15)).value == "3"
    assert [row["value"] for row in replicas.rows("prices")] == ["4"]


def test_windows_and_sessions_can_be_fetched(scene: Scene, replicas: Replicas) -> None:
    for at in (1, 3, 12, 30):
        scene.append("views", ("al", "x"), ("bo", "x"), at=at)
    scene.run()
    windows, sessions = replicas.store("windows"), replicas.store("sessions")

    assert windows.fetch("al", 0) == 2
    assert list(windows.fetch("al", 0, 15)) == list(windows.fetch_range("al", 0, 15)) == [(0, 2), (10, 1)]
    assert list(windows.backward_fetch("al", 0, 15)) == [(10, 1), (0, 2)]
    assert sorted((found.key, found.start) for found, _ in windows.fetch_all(10, 30)) == [
        ("al", 10),
        ("al", 30),
        ("bo", 10),
        ("bo", 30),
    ]
    assert {found.key for found, _ in windows.fetch_keys("b", None, 0, 50)} == {"bo"}
    assert [(found.start, found.end, value) for found, value in sessions.fetch("al")] == [
        (1, 3, 2),
        (12, 12, 1),
        (30, 30, 1),
    ]
    assert sessions.fetch_session("bo", 1, 3) == 2
    assert sessions.fetch_session("bo", moment(1), moment(3)) == 2
    assert [found.start for found, _ in sessions.find_sessions("al", 5, 29)] == [12]
    assert [found.start for found, _ in sessions.find_sessions("al", moment(5), moment(29))] == [12]
    with pytest.raises(ArgumentError, match="latest_start must be a datetime or whole milliseconds"):
        sessions.find_sessions("al", 5, 29.0)


def test_sessions_with_room_for_headers_are_read_as_others_are(scene: Scene) -> None:
    def program() -> Topology:
        builder = StreamsBuilder()
        builder.stream("views").group_by_key().windowed_by(SessionWindows(5, grace=100)).count("sessions")
        return builder.build()

    settings = {**scene.settings, "dsl.store.format": "HEADERS"}
    scene.append("views", ("al", "x"), at=3)
    with LocalEngine(program(), settings, scene.broker) as engine:
        engine.run_until_idle()
    with Replicas.of(program(), settings, scene.broker) as replicas:
        assert [value for _, value in replicas.store("sessions").fetch("al")] == [1]
        assert [(row["key"], row["value"], row["window_start"]) for row in replicas.rows("sessions")] == [("al", 1, 3)]


def test_a_key_value_store_has_ranges_prefixes_and_timestamps(scene: Scene, replicas: Replicas) -> None:
    scene.append("views", *((key, "x") for key in ("a1", "a2", "b1", "c1")), at=7)
    scene.run()
    store = replicas.store("counts")

    assert sorted(key for key, _ in store.range("a2", "b1")) == ["a2", "b1"]
    assert sorted(key for key, _ in store.prefix_scan("a", replicas.key_serde("counts"))) == ["a1", "a2"]
    assert list(store.reverse_all()) != list(store.all())
    assert store.approximate_num_entries() == 4
    assert replicas.store("counts", timestamped=True).get("a1").timestamp == 7
    answers = replicas.query("counts", KeyQuery("a1"))
    assert sorted(answers) == [0, 1]
    assert [answer.result for answer in answers.values() if answer.result] == [1]


def test_rows_say_where_an_entry_is(scene: Scene, replicas: Replicas) -> None:
    scene.append("views", ("al", "x"), at=12)
    scene.run()

    (row,) = replicas.rows("windows")
    assert row == {
        "key": "al",
        "value": 1,
        "timestamp": 12,
        "window_start": 10,
        "window_end": 20,
        "partition": row["partition"],
    }
    assert list(replicas.rows("windows", partition=1 - row["partition"])) == []
    with pytest.raises(ArgumentError, match="no partition 7"):
        replicas.rows("windows", partition=7)


def test_stores_are_for_reading(replicas: Replicas) -> None:
    store = replicas.store("counts")
    for write in (store.put, store.delete, store.put_if_absent, store.put_all):
        with pytest.raises(UnsupportedError, match="can be read here, not written"):
            write("al", 1)


def test_what_cannot_be_read_is_refused_with_a_reason(replicas: Replicas) -> None:
    with pytest.raises(UnknownStoreError, match="there is no store called 'count'") as caught:
        replicas.store("count")
    assert caught.value.hint == "Did you mean 'counts'?"
    with pytest.raises(UnsupportedError, match="'secret' has no changelog"):
        replicas.store("secret")


def test_a_replica_goes_on_where_it_was_left(scene: Scene) -> None:
    scene.append("views", ("al", "x"), ("bo", "x"))
    scene.run()
    with scene.replicas() as first:
        counts(first)
    scene.append("views", ("al", "x"))
    scene.run()

    with scene.replicas() as second:
        follower = second._follower(second.layout("counts"))
        assert follower.catch_up() == 1
        assert second.catch_up() == 0
        assert counts(second) == {"al": 2, "bo": 1}


def lose_position(scene: Scene) -> None:
    for path in position_files(scene):
        path.unlink()


def garble_position(scene: Scene) -> None:
    for path in position_files(scene):
        path.write_bytes(b"\x00 no position")


def garble_database(scene: Scene) -> None:
    for path in position_files(scene):
        for manifest in path.parent.rglob("CURRENT"):
            manifest.write_text("nothing\n")


def lose_database(scene: Scene) -> None:
    for path in position_files(scene):
        shutil.rmtree(path.parent / "rocksdb")
        path.unlink()


@pytest.mark.parametrize("damage", [lose_position, garble_position, garble_database, lose_database])
def test_a_damaged_replica_is_built_anew(scene: Scene, damage: Any) -> None:
    scene.append("views", ("al", "x"), ("bo", "x"))
    scene.run()
    with scene.replicas() as first:
        counts(first)
    assert position_files(scene)

    damage(scene)

    with scene.replicas() as second:
        assert counts(second) == {"al": 1, "bo": 1}


def test_a_replica_of_a_topic_that_was_made_again_is_built_anew(scene: Scene) -> None:
    scene.append("views", ("al", "x"))
    scene.run()
    with scene.replicas() as first:
        assert counts(first) == {"al": 1}
        scene.broker.delete_topic("app-counts-changelog")
        assert counts(first) == {}


def test_a_replica_that_may_have_missed_deletions_is_built_anew(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    scene.append("views", ("al", "x"), ("bo", "x"))
    scene.run()
    with scene.replicas() as replicas:
        counts(replicas)
        # As if a compaction had removed both the record and its deletion meanwhile.
        for store in replicas.partitions("counts").values():
            store.inner.put(b"gone", store.inner.get(b"al") or store.inner.get(b"bo"))
        assert "gone" in counts(replicas)
        later = now_ms() + 2 * 24 * 3_600_000
        monkeypatch.setattr(following_module, "now_ms", lambda: later)
        scene.append("views", ("al", "x"), ("bo", "x"))
        scene.run()

        assert counts(replicas) == {"al": 2, "bo": 2}


def test_a_replica_whose_files_another_process_removed_is_closed_all_the_same(scene: Scene) -> None:
    scene.append("views", ("al", "x"))
    scene.run()
    with scene.replicas() as replicas:
        store = replicas.partitions("counts")[0]
        shutil.rmtree(scene.directory / "state" / "app")
    assert not store.is_open
    assert not (scene.directory / "state" / "app").exists()


def test_several_processes_read_at_the_same_time(scene: Scene) -> None:
    scene.append("views", ("al", "x"))
    scene.run()
    with scene.replicas() as one, scene.replicas() as other:
        assert counts(one) == counts(other) == {"al": 1}
    places = sorted(path.name for path in (scene.directory / "state" / "app" / ".replica").iterdir())
    assert places == ["0", "1"]


def test_files_are_for_their_owner_only(scene: Scene, replicas: Replicas) -> None:
    counts(replicas)
    home = scene.directory / "state" / "app" / ".replica"
    assert {stat.S_IMODE(path.stat().st_mode) for path in (home, home / "0")} == {0o700}


@pytest.mark.parametrize("ask", [lambda store: store.get(3), lambda store: list(store.range(3, 4))])
def test_a_key_of_the_wrong_type_is_told_as_that(replicas: Replicas, ask: Callable[[Any], Any]) -> None:
    with pytest.raises(WrongTypeError, match=r"no key of the store 'counts': .* expected str, found int") as caught:
        ask(replicas.store("counts"))
    assert caught.value.hint == "Give a key of the type that the program writes."
    assert __file__ in str(caught.value.at)


def test_closed_replicas_say_so(replicas: Replicas) -> None:
    store = replicas.store("counts")
    replicas.close()
    with pytest.raises(IllegalStateError, match="the application was closed"):
        store.get("al")
