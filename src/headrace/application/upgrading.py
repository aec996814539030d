"""The notes of a changed program's tasks, made from those of the tasks it had before.

A task is known by the number of its sub-topology, and numbers move when a program changes. What a task remembers
belongs to names: of topics, stores and processors. So each new task gets from the old ones whatever is under names that
it has too. Generated names carry numbers as well; a processor with one is found again by its lineage.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TypeVar

import msgspec

from headrace.application.compatibility import Upgrade
from headrace.application.fingerprint import GENERATED, Fingerprint
from headrace.application.progress import AT_ONCE, TaskProgress
from headrace.application.task_id import TaskId
from headrace.records import NO_TIMESTAMP
from headrace.state.version import Version
from headrace.task.schedules import ScheduleSnapshot
from headrace.task.snapshot import TaskSnapshot, dump, parse

_T = TypeVar("_T")


@dataclass(frozen=True)
class Step:
    """From one version of a program to the next. ``version`` is that of the tasks that were not there before."""

    old: Fingerprint
    new: Fingerprint
    upgrade: Upgrade
    version: Version

    def notes(self, before: Mapping[TaskId, TaskProgress], tasks: Iterable[TaskId]) -> dict[TaskId, TaskProgress]:
        """What each of the new program's ``tasks`` starts from."""
        renamed = processor_names(self.old, self.new)
        return {task: self._note(task, before, renamed) for task in tasks}

    def _note(self, task: TaskId, before: Mapping[TaskId, TaskProgress], renamed: Mapping[str, str]) -> TaskProgress:
        origins = [TaskId(number, task.partition) for number in self._origins(task.subtopology)]
        known = [before[origin] for origin in origins if origin in before]
        topics, stores = _topics(self.new, task.subtopology), _stores(self.new, task.subtopology)
        snapshot = _merged([parse(each.snapshot) for each in known])
        if len(origins) > 1 or not all(_topics(self.old, each.subtopology) <= topics for each in origins):
            # The times of its own partitions tell the time of the task, not those of others.
            snapshot = msgspec.structs.replace(snapshot, stream_time=NO_TIMESTAMP)
        return TaskProgress(
            before[task].version if task in before else self.version,
            dump(_for_task(snapshot, stores - self.upgrade.rebuilt, renamed)),
            AT_ONCE,
            {topic: end for each in known for topic, end in each.repartition_ends.items()},
            tuple(sorted(stores & (self.upgrade.anew | {s for each in known for s in each.anew}))),
            _offsets(known, topics),
        )

    def _origins(self, number: int) -> list[int]:
        """The old sub-topologies that had a topic or a store of the new one."""
        topics, stores = _topics(self.new, number), _stores(self.new, number)
        return [
            group.id
            for group in self.old.subtopologies
            if topics & _topics(self.old, group.id) or stores & _stores(self.old, group.id)
        ]


def _offsets(known: Iterable[TaskProgress], topics: set[str]) -> dict[str, int] | None:
    """What was committed of the topics; None where that is not known of one of the tasks."""
    found: dict[str, int] = {}
    for each in known:
        if each.offsets is None:
            return None
        found |= {topic: offset for topic, offset in each.offsets.items() if topic in topics}
    return found


def processor_names(old: Fingerprint, new: Fingerprint) -> dict[str, str]:
    """Which processor of the new program is which of the old one; those that cannot be told are left out."""
    if not old.processors:
        return {name: name for name in new.processors}
    found = {
        name: name
        for name, lineage in old.processors.items()
        if name in new.processors and (GENERATED.search(name) is None or new.processors[name] == lineage)
    }
    writers = {store.name: store for store in new.stores}
    for store in old.stores:
        successor = writers.get(store.name)
        if successor is not None and successor.kind == store.kind:
            found.setdefault(store.writer, successor.writer)
    was, is_now = _by_origin(old.processors), _by_origin(new.processors)
    for origin in was.keys() & is_now.keys():
        found.setdefault(was[origin], is_now[origin])
    return found


def _by_origin(processors: Mapping[str, str]) -> dict[tuple[str, str], str]:
    """Processors with a generated name by that name without its number, and lineage; only where there is one such."""
    origins = {name: (GENERATED.sub("", name), lineage) for name, lineage in processors.items()}
    counts = Counter(origins.values())
    return {origin: name for name, origin in origins.items() if GENERATED.search(name) and counts[origin] == 1}


def _topics(fingerprint: Fingerprint, number: int) -> set[str]:
    return {topic for group in fingerprint.subtopologies if group.id == number for topic in group.sources}


def _stores(fingerprint: Fingerprint, number: int) -> set[str]:
    return {store.name for store in fingerprint.stores if store.subtopology == number}


def _merged(snapshots: list[TaskSnapshot]) -> TaskSnapshot:
    """What several tasks remember, as if they were one."""
    queues = [[schedule for each in snapshots for schedule in each.schedules.queues[clock]] for clock in range(2)]
    return TaskSnapshot(
        max((each.stream_time for each in snapshots), default=NO_TIMESTAMP),
        [entry for each in snapshots for entry in each.partition_times],
        [entry for each in snapshots for entry in each.consumed],
        {name: number for each in snapshots for name, number in each.numbers.items()},
        _united(snapshots, lambda each: each.nodes),
        _united(snapshots, lambda each: each.stores),
        ScheduleSnapshot(
            _united(snapshots, lambda each: each.schedules.made),
            _united(snapshots, lambda each: each.schedules.made_in_init),
            queues,
        ),
        [entry for each in snapshots for entry in each.idle_deadlines],
    )


def _united(snapshots: list[TaskSnapshot], part: Callable[[TaskSnapshot], dict[str, _T]]) -> dict[str, _T]:
    return {name: value for each in snapshots for name, value in part(each).items()}


def _for_task(snapshot: TaskSnapshot, stores: Iterable[str], renamed: Mapping[str, str]) -> TaskSnapshot:
    """What of it has a name that counts, under the new name."""
    schedules = snapshot.schedules
    queues = [
        [
            msgspec.structs.replace(schedule, node=renamed[schedule.node])
            for schedule in queue
            if schedule.node in renamed
        ]
        for queue in schedules.queues
    ]
    return msgspec.structs.replace(
        snapshot,
        nodes=_renamed(snapshot.nodes, renamed),
        stores={name: snapshot.stores[name] for name in stores if name in snapshot.stores},
        schedules=ScheduleSnapshot(
            _renamed(schedules.made, renamed), _renamed(schedules.made_in_init, renamed), queues
        ),
    )


def _renamed(found: Mapping[str, _T], names: Mapping[str, str]) -> dict[str, _T]:
    return {names[name]: value for name, value in found.items() if name in names}
