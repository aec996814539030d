"""Every change of a program that keeps a store's name keeps its content, or is refused and told what to do."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from headrace import StreamsBuilder, Topology
from headrace.batch.local import LocalEngine
from headrace.broker.port import Broker, NewRecord
from headrace.errors import InternalTopicError, ProcessingError, StateDirectoryError, UpgradeError
from headrace.query.replicas import Replicas
from tests.faults.verdict import stored
from tests.integration.batch.programs import append, open_at, read, settings
from tests.integration.batch.upgrades import (
    CHANGES,
    REFUSED,
    Change,
    Pairs,
    Program,
    Table,
    all_of,
    both,
    counted,
    late_counts,
    repartitioned,
    shouting,
)

BEFORE = [(f"k{n % 5}", f"v{n}") for n in range(23)]
AFTER = [(f"k{n % 4}", f"w{n}") for n in range(11)]
GUIDE = Path(__file__).parents[3] / "docs" / "guide" / "15-changing-a-program.md"


class Place:
    """A broker with the topics that the programs read, and the directory of the application's state."""

    def __init__(self, directory: Path) -> None:
        self.broker: Broker = open_at(directory)
        self.directory = directory
        for topic in ("in", "other", "third"):
            self.broker.create_topic(topic, 2)
        self._sent = 0

    def send(self, pairs: Pairs) -> None:
        append(self.broker, "in", pairs, timestamp=self._sent)
        append(self.broker, "other", pairs, timestamp=self._sent)
        self._sent += len(pairs)

    def send_at(self, pairs: Pairs) -> None:
        """Records whose values are their times, all in one partition."""
        self.broker.append(NewRecord("in", key.encode(), at.encode(), int(at), partition=0) for key, at in pairs)

    def run(self, program: Program, **more: Any) -> None:
        given = settings(self.directory, **more)
        with LocalEngine(_built(program, given), given, self.broker) as engine:
            engine.run_until_idle()

    def table(self, program: Program, store: str, **more: Any) -> Table:
        """What ``headrace state`` shows."""
        given = settings(self.directory, **more)
        with Replicas.of(_built(program, given), given, self.broker) as replicas:
            return {
                (row["key"], row["window_start"]) if "window_start" in row else row["key"]: row["value"]
                for row in replicas.rows(store)
            }

    def files(self, store: str) -> Table:
        """What lies on disk of a store without a changelog."""
        entries = stored(self.directory / "state" / "app", store)
        return {key.decode(): int.from_bytes(value, "big") for key, value in entries}


def _built(program: Program, given: dict[str, Any]) -> Topology:
    builder = StreamsBuilder()
    program(builder)
    return builder.build(given)


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    found = Place(tmp_path)
    with closing(found.broker):
        yield found


def lose(directory: Path, what: str) -> None:
    """Delete the state directory, or the files of the first partition."""
    if what == "deleted":
        shutil.rmtree(directory / "state")
    if what == "half deleted":
        for database in (directory / "state" / "app").glob("*_0/rocksdb"):
            shutil.rmtree(database)


def test_the_guide_says_what_is_tried_here() -> None:
    rows = re.findall(r"^\| (.+?) \| (.+?) \|$", GUIDE.read_text(encoding="utf-8"), re.MULTILINE)
    assert set(rows[1:]) == {(change.text, change.verdict) for change in CHANGES}


@pytest.mark.parametrize("state", ["kept", "half deleted", "deleted"])
@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.name)
def test_a_change_of_a_program(place: Place, change: Change, state: str) -> None:
    place.send(BEFORE)
    place.run(change.old)
    if change.is_logged:
        lose(place.directory, state)
    place.send(AFTER)
    if change.partitions is not None:
        place.broker.alter_topic("in", partitions=change.partitions)
    if change.verdict == REFUSED:
        _check_refusal(place, change)
        return
    place.run(change.new, **change.settings)
    _check_table(place, change, change.new, change.model(BEFORE, AFTER))
    if change.is_logged and state == "kept":
        # The table was read from the changelog. What the tasks had on disk must have been the same.
        place.send([("k0", "x")])
        place.run(change.new, **change.settings)
        _check_table(place, change, change.new, change.model(BEFORE, [*AFTER, ("k0", "x")]))


def _check_table(place: Place, change: Change, program: Program, expected: Table) -> None:
    if not change.is_logged:
        assert place.files("c") == expected
        return
    names = ("c", "KSTREAM-AGGREGATE-STATE-STORE-0000000001")
    store = next(name for name in names if f"app-{name}-changelog" in place.broker.topics())
    assert place.table(program, store, **({} if program is change.old else change.settings)) == expected


def _check_refusal(place: Place, change: Change) -> None:
    """Nothing is changed by what is refused: the program as it was goes on with all that it had."""
    topics = place.broker.topics()
    with pytest.raises((UpgradeError, InternalTopicError), match=re.escape(change.refusal)) as raised:
        place.run(change.new, **change.settings)
    assert change.refusal in raised.value.message, "what was changed is the headline"
    assert re.search(rf"headrace reset \S+\.py --broker {place.broker.address}", raised.value.hint or "")
    assert place.broker.topics() == topics
    if change.partitions is None:
        place.run(change.old)
        _check_table(place, change, change.old, change.model(BEFORE, AFTER))


def test_going_back_and_forth_between_programs(place: Place) -> None:
    """The store lies in the first sub-topology, then in the second, then in the first again, where an old copy is."""
    longer = both(shouting, counted())
    sent: Pairs = []
    for program in (counted(), longer, counted(), longer, longer):
        place.send(AFTER)
        sent += AFTER
        place.run(program)
        assert place.table(program, "c") == all_of(sent, [])


def test_a_store_that_loses_its_name_is_told_once(place: Place, caplog: pytest.LogCaptureFixture) -> None:
    place.send([("a", "x")])
    place.run(lambda b: b.stream("in").group_by_key().count("c"))
    for _ in range(2):
        place.run(lambda b: b.stream("in").group_by_key().count())
    (line,) = (record.getMessage() for record in caplog.records if record.levelname == "WARNING")
    assert line.startswith("c: the store is left behind with its content (app-c-changelog): KSTREAM-AGGREGATE-STATE")
    assert line.endswith("To go on with it, give the store the name 'c' again.")


def test_a_copy_that_looks_current_but_stayed_behind_is_not_used(place: Place) -> None:
    """The first sub-topology had nothing to read while the store was away: its version is the one of the old copy."""

    def idle(b: StreamsBuilder) -> None:
        b.stream("third").to("shouted")

    place.send(BEFORE)
    place.run(counted())
    place.run(both(idle, counted()))
    for pairs in (AFTER, AFTER):
        place.send(pairs)
        place.run(both(idle, counted()))
    place.run(counted())
    place.send([("k0", "x")])
    place.run(counted())
    assert place.table(counted(), "c") == all_of(BEFORE, [*AFTER, *AFTER, ("k0", "x")])


def test_an_upgrade_before_the_last_one_was_put_to_work(place: Place) -> None:
    """Three programs are started one after the other; only the last one processes anything."""
    place.send(BEFORE)
    place.run(counted())
    for program in (both(shouting, counted()), both(shouting, lambda b: b.stream("third").to("x"), counted())):
        given = settings(place.directory)
        LocalEngine(_built(program, given), given, place.broker).close()
    place.send(AFTER)
    place.run(program)
    assert place.table(program, "c") == all_of(BEFORE, AFTER)


def test_a_store_that_comes_back_has_the_content_that_it_had(place: Place) -> None:
    place.send(BEFORE)
    place.run(both(counted("b", "other"), counted()))
    place.send(AFTER)
    place.run(counted("b", "other"))
    place.send([("k0", "x")])
    # What came while it was away was read by nobody: the offsets of the topic were kept.
    place.run(both(counted("b", "other"), counted()))
    assert place.table(counted(), "c") == all_of(BEFORE, [*AFTER, ("k0", "x")])


def test_records_that_were_late_before_a_change_are_late_after_it(place: Place) -> None:
    """Also where nothing has a name: processors are found again by where their records come from."""
    given = [("a", "1000"), ("a", "100"), ("b", "1004"), ("b", "1003")]
    place.send_at(given)
    place.run(late_counts)
    place.send_at([("a", "5"), ("c", "6"), ("b", "1005")])
    program = both(shouting, late_counts)
    place.run(program)
    assert place.table(program, "c") == {("a", 1000): 1, ("b", 1000): 3}
    assert read(place.broker, "final") == []
    place.send_at([("z", "9000")])
    place.run(both(shouting, shouting_third, late_counts))
    assert sorted(read(place.broker, "final")) == [(b"a", b"1"), (b"b", b"3")]


def shouting_third(b: StreamsBuilder) -> None:
    b.stream("third").map_values(str.upper).to("shouted")


def test_a_changelog_that_was_deleted_is_missed(place: Place) -> None:
    place.send(BEFORE)
    place.run(counted())
    place.broker.delete_topic("app-c-changelog")
    for _ in range(2):
        with pytest.raises(
            InternalTopicError, match="changelogs were deleted since the application wrote them: app-c-changelog"
        ) as raised:
            place.run(counted())
    assert "bring it back from a backup, or start over: headrace reset" in (raised.value.hint or "")
    place.broker.create_topic("app-c-changelog", 2, {"cleanup.policy": "compact"})
    with pytest.raises(InternalTopicError, match="were deleted since the application wrote them: app-c-changelog"):
        place.run(both(shouting, counted()))


def test_changelogs_of_an_application_that_never_committed_are_not_taken_for_its_own(place: Place) -> None:
    """A reset was interrupted after it had deleted the commits."""
    place.send(BEFORE)
    place.run(counted())
    place.broker.delete_application("app")
    with pytest.raises(InternalTopicError, match="there are records in its changelogs: app-c-changelog") as raised:
        place.run(counted())
    assert re.search(rf"headrace reset \S+\.py --broker {place.broker.address}", raised.value.hint or "")


def test_a_repartition_before_keys_that_lie_elsewhere_is_refused(place: Place) -> None:
    place.broker.append(NewRecord("in", b"k", b"v", 0, partition=number) for number in (0, 1))
    place.run(counted())
    with pytest.raises(UpgradeError, match="a repartition comes before it now, and would look for b'k' elsewhere"):
        place.run(repartitioned)
    place.run(counted())


def test_two_applications_of_one_name_do_not_take_the_state_of_each_other(tmp_path: Path) -> None:
    """The same program on two brokers, with one state directory: their versions are the same, their content is not."""
    places = [Place(tmp_path), Place(tmp_path / "elsewhere")]
    places[1].directory = tmp_path
    sent: list[Pairs] = [[], []]
    for pairs in (BEFORE, AFTER, AFTER):
        for place, total in zip(places, sent, strict=True):
            more = pairs if place is places[0] else [*pairs, *pairs]
            place.send(more)
            total += more
            place.run(counted())
    for place, total in zip(places, sent, strict=True):
        with closing(place.broker):
            assert place.table(counted(), "c") == all_of(total, [])


def test_two_applications_of_one_name_do_not_run_at_once_in_one_directory(tmp_path: Path) -> None:
    """They would remove the state of each other, batch after batch."""
    places = [Place(tmp_path), Place(tmp_path / "elsewhere")]
    given = settings(tmp_path)
    for place in places:
        place.send(BEFORE)
    with closing(places[0].broker), closing(places[1].broker):
        with LocalEngine(_built(counted(), given), given, places[0].broker) as engine:
            with pytest.raises(StateDirectoryError, match="in use by another application with the same name"):
                LocalEngine(_built(counted(), given), given, places[1].broker)
            assert places[1].broker.lease_owner("app") is None
            engine.run_until_idle()
        with LocalEngine(_built(counted(), given), given, places[1].broker) as engine:
            engine.run_until_idle()


def test_what_a_failed_first_batch_left_is_not_taken_for_another_applications(
    place: Place, caplog: pytest.LogCaptureFixture
) -> None:
    place.send(BEFORE)

    def failing(builder: StreamsBuilder) -> None:
        counted()(builder)
        builder.stream("other").foreach(lambda key, value: 1 // 0)

    with pytest.raises(ProcessingError):
        place.run(failing)
    assert place.broker.last_decided("app") is None
    assert list((place.directory / "state" / "app").glob("*_*/.state-id"))
    caplog.clear()
    place.run(counted())
    assert "removing" not in caplog.text
    assert place.table(counted(), "c") == all_of(BEFORE, [])


def test_an_older_copy_of_a_store_without_a_changelog_goes_on_and_it_says_so(
    place: Place, caplog: pytest.LogCaptureFixture
) -> None:
    state, backup = place.directory / "state", place.directory / "backup"

    def program(builder: StreamsBuilder) -> None:
        grouped = builder.stream("in").group_by_key()
        grouped.count("c", logging=False)
        # With a changelog in the same task, it is known where an older copy is.
        grouped.count("logged")

    for batch in range(3):
        place.send(BEFORE)
        place.run(program)
        if batch == 1:
            shutil.copytree(state, backup)
    shutil.rmtree(state)
    backup.rename(state)
    caplog.clear()
    place.send(AFTER)
    place.run(program)
    assert "the store c of task 0_0 has no changelog: it goes on as it was after batch 0" in caplog.text
    # Nobody knows whether the batch that the copy ends with was committed, so that one is undone.
    assert place.files("c") == all_of(BEFORE, AFTER)
    assert place.table(program, "logged") == all_of(BEFORE * 3, AFTER)
