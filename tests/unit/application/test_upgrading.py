"""What the tasks of a changed program start from."""

from __future__ import annotations

from typing import Any

from headrace import StreamsBuilder
from headrace.application.compatibility import compare
from headrace.application.progress import TaskProgress
from headrace.application.task_id import TaskId
from headrace.application.upgrading import Step, processor_names
from headrace.state.version import Version
from headrace.task.schedules import SavedSchedule, ScheduleSnapshot
from headrace.task.snapshot import TaskSnapshot, dump, parse
from tests.unit.application.programs import Program
from tests.unit.application.test_compatibility import print_of

OLD, NEW = Version(4, 0, 1), Version(5, 0, 2)


def copied(b: StreamsBuilder) -> None:
    b.stream("other").to("copy")


def counted(b: StreamsBuilder) -> None:
    b.stream("lines").group_by_key().count("c")


def filtered(b: StreamsBuilder) -> None:
    b.stream("lines").filter(lambda key, value: True).group_by_key().count("c")


def both(*programs: Program) -> Program:
    def program(b: StreamsBuilder) -> None:
        for each in programs:
            each(b)

    return program


def note(topic: str, node: str, stream_time: int, store: str | None = None, **more: Any) -> TaskProgress:
    schedules = ScheduleSnapshot({node: 1}, {node: 1}, [[], [SavedSchedule(node, 0, 77, 10, False, None)]])
    kept = TaskSnapshot(
        stream_time,
        [(topic, 0, stream_time)],
        [(topic, 0, 9)],
        {} if store is None else {store: 3},
        {node: {"_stream_time": stream_time}},
        {} if store is None else {store: [{"_count": 2}]},
        schedules,
    )
    return TaskProgress(OLD, dump(kept), None, {}, **more)


def upgraded(old: Program, new: Program, before: dict[TaskId, TaskProgress]) -> dict[TaskId, TaskProgress]:
    was, is_now = print_of(old), print_of(new)
    return Step(was, is_now, compare(was, is_now), NEW).notes(before, [TaskId(0, 0), TaskId(1, 0)])


def test_a_store_takes_what_its_task_remembers_to_another_number() -> None:
    before = {TaskId(0, 0): note("lines", "KSTREAM-AGGREGATE-0000000001", 50, "c")}
    notes = upgraded(counted, both(copied, counted), before)
    moved = notes[TaskId(1, 0)]
    kept = parse(moved.snapshot)
    assert (moved.version, moved.anew, moved.next_punctuation_ms) == (NEW, ("c",), 0)
    assert (kept.stream_time, kept.partition_times, kept.numbers) == (50, [("lines", 0, 50)], {"c": 3})
    assert kept.stores == {"c": [{"_count": 2}]}
    assert kept.nodes == {"KSTREAM-AGGREGATE-0000000003": {"_stream_time": 50}}
    assert kept.schedules.made_in_init == {"KSTREAM-AGGREGATE-0000000003": 1}
    assert [schedule.node for schedule in kept.schedules.queues[1]] == ["KSTREAM-AGGREGATE-0000000003"]
    # The number belongs to another sub-topology now, which has nothing to do with the old one.
    other = parse(notes[TaskId(0, 0)].snapshot)
    assert notes[TaskId(0, 0)].anew == ()
    assert (other.stream_time, other.nodes, other.stores, other.partition_times) == (-1, {}, {}, [])


def test_what_stays_where_it_was_keeps_its_version() -> None:
    before = {TaskId(0, 0): note("lines", "KSTREAM-AGGREGATE-0000000001", 50, "c")}
    stayed = upgraded(counted, both(counted, copied), before)[TaskId(0, 0)]
    assert (stayed.version, stayed.anew) == (OLD, ())
    assert parse(stayed.snapshot).nodes == {"KSTREAM-AGGREGATE-0000000001": {"_stream_time": 50}}


def test_a_store_that_was_still_to_be_filled_again_is_not_forgotten() -> None:
    before = {TaskId(0, 0): note("lines", "KSTREAM-AGGREGATE-0000000001", 50, "c", anew=("c",))}
    assert upgraded(counted, both(counted, copied), before)[TaskId(0, 0)].anew == ("c",)


def test_a_task_made_of_two_goes_by_the_times_of_their_partitions() -> None:
    def apart(b: StreamsBuilder) -> None:
        b.table("orders", store="orders")
        b.table("users", store="users")

    def joined(b: StreamsBuilder) -> None:
        b.table("orders", store="orders").join(b.table("users", store="users"), lambda order, user: order)

    before = {
        TaskId(0, 0): note("orders", "KTABLE-SOURCE-0000000001", 50, "orders"),
        TaskId(1, 0): note("users", "KTABLE-SOURCE-0000000003", 70, "users"),
    }
    made = upgraded(apart, joined, before)[TaskId(0, 0)]
    kept = parse(made.snapshot)
    assert (made.version, made.anew) == (OLD, ("users",))
    assert kept.partition_times == [("orders", 0, 50), ("users", 0, 70)]
    assert (kept.stream_time, set(kept.stores)) == (-1, {"orders", "users"})


def test_processors_are_found_again_by_their_name_their_store_or_their_lineage() -> None:
    def programs(first: Program) -> Program:
        def program(b: StreamsBuilder) -> None:
            first(b)
            b.stream("users").peek(print, name="see").map_values(str.upper).to("out")

        return program

    names = processor_names(print_of(programs(counted)), print_of(programs(filtered)))
    assert names["see"] == "see"
    assert names["KSTREAM-AGGREGATE-0000000001"] == "KSTREAM-AGGREGATE-0000000002"
    assert names["KSTREAM-MAPVALUES-0000000004"] == "KSTREAM-MAPVALUES-0000000005"


def test_a_program_may_have_many_more_paths_than_steps() -> None:
    def program(b: StreamsBuilder) -> None:
        lines = b.stream("lines")
        for _ in range(60):
            lines = lines.merge(lines.filter(lambda key, value: True))
        lines.group_by_key().count("c")

    assert [store.name for store in print_of(program).stores] == ["c"]


def test_a_processor_that_only_has_the_same_number_is_another_one() -> None:
    def peeking(*topics: str) -> Program:
        return lambda b: [b.stream(topic).peek(print) for topic in topics]

    names = processor_names(print_of(peeking("lines", "other")), print_of(peeking("other", "lines")))
    assert names["KSTREAM-PEEK-0000000001"] == "KSTREAM-PEEK-0000000003"
    assert names["KSTREAM-PEEK-0000000003"] == "KSTREAM-PEEK-0000000001"
    names = processor_names(print_of(peeking("lines")), print_of(peeking("other")))
    assert "KSTREAM-PEEK-0000000001" not in names
