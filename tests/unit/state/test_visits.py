"""Databases that can go back."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace import failpoints
from headrace.errors import InternalError
from headrace.state.rocksdb.database import raw_options
from headrace.state.rocksdb.task_databases import TaskDatabases
from headrace.state.rocksdb.visits import VisitedDatabase
from headrace.state.version import Version, Visit

FIRST, SECOND, THIRD = Version(1), Version(2), Version(3)
TINY = 100

Open = Callable[..., VisitedDatabase]


@pytest.fixture
def visit(tmp_path: Path) -> Open:
    def open_database(base: Version | None, target: Version, **options: Any) -> VisitedDatabase:
        return VisitedDatabase(tmp_path / "db", raw_options(), Visit(base, target), **options)

    return open_database


def write(database: VisitedDatabase, entries: dict[bytes, bytes | None]) -> None:
    for key, value in entries.items():
        database.put(key, value)


def read(database: VisitedDatabase) -> dict[bytes, bytes]:
    """All entries; closes the database."""
    entries = dict(database.scan())
    database.close()
    return entries


def make(
    visit: Open, base: Version | None, target: Version, entries: dict[bytes, bytes | None], **options: Any
) -> None:
    """A whole visit."""
    database = visit(base, target, **options)
    write(database, entries)
    database.commit()
    database.close()


def test_reads_and_scans_see_what_the_visit_wrote(visit: Open) -> None:
    make(visit, None, FIRST, {b"a": b"1", b"b": b"2", b"d": b"4"})
    database = visit(FIRST, SECOND)
    write(database, {b"a": b"9", b"b": None, b"c": b"3"})

    assert [database.get(key) for key in (b"a", b"b", b"c", b"d")] == [b"9", None, b"3", b"4"]
    assert list(database.scan(b"a", b"d")) == [(b"a", b"9"), (b"c", b"3")]
    assert list(database.scan(reverse=True)) == [(b"d", b"4"), (b"c", b"3"), (b"a", b"9")]
    assert database.first_key(b"b") == b"c"
    database.close()


def test_a_scan_shows_the_entries_as_they_were_when_it_began(visit: Open) -> None:
    database = visit(None, FIRST, chunk_bytes=TINY)
    write(database, {b"a": b"1", b"b": b"2"})
    scan = database.scan()
    write(database, {b"a": None, b"b": b"9", b"c": bytes(200)})

    assert list(scan) == [(b"a", b"1"), (b"b", b"2")]
    database.close()


def test_a_committed_visit_is_there_when_the_next_begins(visit: Open) -> None:
    make(visit, None, FIRST, {b"a": b"1"})
    database = visit(FIRST, SECOND)

    assert not database.is_stale
    assert read(database) == {b"a": b"1"}


def test_a_visit_that_does_not_count_is_undone(visit: Open) -> None:
    make(visit, None, FIRST, {b"a": b"1", b"b": b"2"})
    make(visit, FIRST, SECOND, {b"a": b"9", b"b": None, b"c": b"3"})

    assert read(visit(FIRST, SECOND)) == {b"a": b"1", b"b": b"2"}


def test_the_very_first_visit_can_be_undone_too(visit: Open) -> None:
    make(visit, None, FIRST, {b"a": b"1"})

    assert read(visit(None, FIRST)) == {}


def test_chunks_of_a_visit_that_never_ended_are_undone_backwards(visit: Open) -> None:
    make(visit, None, FIRST, {b"a": b"1"})
    database = visit(FIRST, SECOND, chunk_bytes=TINY)
    for number in range(10):
        write(database, {b"a": b"%d" % number, b"k%d" % number: bytes(90)})
    assert read(database)[b"a"] == b"9"

    assert read(visit(FIRST, SECOND)) == {b"a": b"1"}


def test_a_later_level_of_the_same_batch_is_undone_with_the_earlier_one(visit: Open) -> None:
    make(visit, None, FIRST, {b"a": b"1"})
    make(visit, FIRST, Version(2, 0), {b"a": b"2"})
    make(visit, Version(2, 0), Version(2, 3), {b"a": b"3"})

    assert read(visit(Version(2, 0), Version(2, 3))) == {b"a": b"2"}
    assert read(visit(FIRST, Version(2, 0))) == {b"a": b"1"}


def test_a_deleted_prefix_is_gone_at_once_and_comes_back_when_undone(visit: Open) -> None:
    make(visit, None, FIRST, {b"a1": b"1", b"a2": b"2", b"b": b"3"})
    database = visit(FIRST, SECOND)
    write(database, {b"a3": b"3"})
    database.delete_prefix(b"a")
    assert database.get(b"a1") is None
    assert database.get(b"a3") is None
    assert dict(database.scan()) == {b"b": b"3"}
    database.commit()
    database.close()

    assert read(visit(SECOND, THIRD)) == {b"b": b"3"}


def test_a_deleted_prefix_comes_back_when_undone(visit: Open) -> None:
    make(visit, None, FIRST, {b"a1": b"1"})
    database = visit(FIRST, SECOND)
    database.delete_prefix(b"a")
    database.commit()
    database.close()

    assert read(visit(FIRST, SECOND)) == {b"a1": b"1"}


def test_a_prefix_deleted_at_one_level_stays_deleted_at_the_next(visit: Open) -> None:
    make(visit, None, FIRST, {b"a1": b"1"})
    database = visit(FIRST, Version(2, 0))
    database.delete_prefix(b"a")
    database.commit()
    database.close()

    assert read(visit(Version(2, 0), Version(2, 1))) == {}


def test_a_key_of_a_deleted_prefix_cannot_be_written_in_the_same_batch(visit: Open) -> None:
    database = visit(None, FIRST)
    database.delete_prefix(b"a")
    database.put(b"a", None)

    with pytest.raises(InternalError, match="its prefix was deleted"):
        database.put(b"a", b"1")
    database.close()


def test_a_database_that_fell_behind_says_which_committed_version_it_is_at(visit: Open) -> None:
    make(visit, None, FIRST, {b"a": b"1"})
    make(visit, FIRST, SECOND, {b"a": b"2"})
    database = visit(Version(7), Version(8))

    # Nobody knows whether the second one was committed as it is here.
    assert (database.is_stale, database.found) == (True, FIRST)
    assert database.get(b"a") == b"1"
    database.put(b"a", b"7")
    database.settle()
    database.close()
    assert read(visit(Version(7), Version(8))) == {b"a": b"7"}


def test_what_a_replaced_process_wrote_in_a_batch_does_not_pass_for_what_its_successor_committed(visit: Open) -> None:
    make(visit, None, Version(1, epoch=1), {b"a": b"1"})
    make(visit, Version(1, epoch=1), Version(2, epoch=1), {b"a": b"never committed"})
    database = visit(Version(2, epoch=2), Version(3, epoch=3))

    assert (database.is_stale, database.found) == (True, Version(1, epoch=1))
    assert read(database) == {b"a": b"1"}


def test_a_new_database_in_a_later_batch_is_stale_and_empty(visit: Open) -> None:
    database = visit(FIRST, SECOND)

    assert (database.is_stale, database.found) == (True, None)
    database.close()


def test_a_restore_that_did_not_end_starts_again_from_nothing(visit: Open) -> None:
    database = visit(FIRST, SECOND, chunk_bytes=TINY)
    write(database, {b"k%d" % number: bytes(90) for number in range(5)})
    database.close()

    database = visit(FIRST, SECOND)
    assert (database.is_stale, database.found) == (True, None)
    assert read(database) == {}


def test_a_database_from_the_future_is_of_no_use(visit: Open) -> None:
    make(visit, None, Version(9), {b"a": b"1"})
    make(visit, Version(9), Version(10), {})
    database = visit(FIRST, SECOND)

    assert (database.is_stale, database.found) == (True, None)
    assert read(database) == {}


def test_an_application_that_starts_over_finds_no_old_entries(visit: Open) -> None:
    make(visit, None, FIRST, {b"a": b"1"})
    make(visit, FIRST, SECOND, {})
    make(visit, SECOND, THIRD, {})
    database = visit(None, FIRST)

    assert not database.is_stale
    assert read(database) == {}


def test_a_corrupt_database_is_restored_from_nothing(visit: Open, tmp_path: Path) -> None:
    make(visit, None, FIRST, {b"a": b"1"})
    for file in (tmp_path / "db").glob("MANIFEST-*"):
        file.write_bytes(b"garbage" * 100)
    database = visit(FIRST, SECOND)

    assert (database.is_stale, database.found) == (True, None)
    database.close()


def test_databases_at_different_versions_each_know_how_far_their_changelogs_were_applied(tmp_path: Path) -> None:
    def databases(base: Version | None, target: Version, offset: int) -> TaskDatabases:
        visit = Visit(base, target)
        return TaskDatabases(tmp_path, tmp_path / "memory", visit, positions={("log", 0): offset})

    def run(names: list[str], base: Version | None, target: Version, offset: int) -> None:
        opened = databases(base, target, offset)
        for name in names:
            opened.open(name, raw_options())
        opened.commit()
        opened.close()

    run(["a", "b"], None, FIRST, 0)
    run(["a", "b"], FIRST, SECOND, 5)
    run(["a"], SECOND, THIRD, 9)
    later = databases(Version(8), Version(9), 30)
    for name in ("a", "b"):
        later.open(name, raw_options())

    assert later.stale == {"a": SECOND, "b": FIRST}
    assert later.found_positions("a") == {("log", 0): 9}
    assert later.found_positions("b") == {("log", 0): 5}
    later.close()


KEYS = st.sampled_from([b"a", b"a1", b"a2", b"b", b"b1", b"c"])
WRITES = st.lists(
    st.tuples(st.just("put"), KEYS, st.none() | st.binary(max_size=80))
    | st.tuples(st.just("delete_prefix"), st.sampled_from([b"a", b"b"]), st.none()),
    max_size=12,
)


@settings(max_examples=60, deadline=None)
@given(visits=st.lists(st.tuples(WRITES, st.booleans(), st.sampled_from([60, 10_000])), max_size=8))
def test_after_any_visits_the_database_is_what_the_counting_ones_made_of_it(
    visits: list[Any], tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("visits") / "db"
    base: Version | None = None
    model: dict[bytes, bytes] = {}
    for number, (writes, counts, chunk_bytes) in enumerate(visits):
        target = Version(number)
        database = VisitedDatabase(path, raw_options(), Visit(base, target), chunk_bytes=chunk_bytes)
        attempt = dict(model)
        assert dict(database.scan()) == attempt
        gone: set[bytes] = set()
        for verb, key, value in writes:
            if verb == "delete_prefix":
                database.delete_prefix(key)
                gone.add(key)
                attempt = {k: v for k, v in attempt.items() if not k.startswith(key)}
            elif not any(key.startswith(prefix) for prefix in gone):
                database.put(key, value)
                attempt.pop(key, None)
                if value is not None:
                    attempt[key] = value
        assert dict(database.scan()) == attempt
        assert dict(database.scan(reverse=True)) == attempt
        assert all(database.get(key) == attempt.get(key) for key in (b"a", b"a1", b"a2", b"b", b"b1", b"c"))
        database.commit()
        database.close()
        if counts:
            base, model = target, attempt


def test_failpoints_do_nothing_unless_they_are_armed() -> None:
    reached: list[str] = []
    failpoints.reach("nowhere")
    failpoints.on_reached = reached.append
    try:
        failpoints.reach("somewhere")
    finally:
        failpoints.on_reached = None

    assert reached == ["somewhere"]


def test_a_database_goes_on_with_the_next_visit_without_being_closed(visit: Open) -> None:
    database = visit(None, FIRST, chunk_bytes=TINY)
    write(database, {b"a": b"1", b"b": bytes(200)})
    database.commit()
    database.begin(Visit(FIRST, SECOND))
    write(database, {b"a": b"2", b"c": b"3"})
    database.commit()
    database.begin(Visit(SECOND, THIRD))
    write(database, {b"a": b"lost", b"d": bytes(200)})
    database.close()

    assert read(visit(SECOND, THIRD)) == {b"a": b"2", b"b": bytes(200), b"c": b"3"}


def test_after_the_next_visit_has_begun_the_one_before_cannot_be_undone_but_the_next_can(visit: Open) -> None:
    database = visit(None, FIRST)
    write(database, {b"a": b"1"})
    database.commit()
    database.begin(Visit(FIRST, SECOND))
    write(database, {b"a": b"2"})
    database.commit()
    database.close()

    assert read(visit(FIRST, SECOND)) == {b"a": b"1"}


def test_what_a_visit_deleted_by_prefix_can_be_written_again_when_the_next_batch_has_begun(visit: Open) -> None:
    database = visit(None, FIRST)
    write(database, {b"p1": b"1", b"q": b"2"})
    database.commit()
    database.begin(Visit(FIRST, SECOND))
    database.delete_prefix(b"p")
    database.commit()
    database.begin(Visit(SECOND, Version(2, level=1)))
    with pytest.raises(InternalError):
        database.put(b"p2", b"in the same batch")
    database.commit()
    database.begin(Visit(Version(2, level=1), THIRD))
    database.put(b"p2", b"3")
    database.commit()

    assert read(database) == {b"p2": b"3", b"q": b"2"}
