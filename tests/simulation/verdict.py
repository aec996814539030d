"""The verdict on a world that has healed: nothing lost, doubled, invented or reordered, and all of it accounted for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from headrace.application.progress import Progress
from headrace.batch.local import LocalEngine
from headrace.broker.embedded import EmbeddedBroker
from headrace.records import RawRecord
from headrace.serde.bytes_keys import window_store_start
from headrace.state.rocksdb.database import raw_options
from headrace.state.rocksdb.visits import VisitedDatabase
from headrace.state.version import Version, Visit
from tests.simulation.programs import FAILED, NOT_READ, RETENTION_MS, Expected, Input, Output, Program
from tests.simulation.world import AnyBroker

_STALE_RESPONSE = "stale response of a foreign-key join"


def check(program: Program, broker: AnyBroker, engine: LocalEngine, produced: Input, dropped: Counter[str]) -> int:
    """AssertionError where something is wrong; how many databases of stores were compared."""
    application = engine.application.id
    _check_log(broker)
    _check_input(broker, produced)
    expected = program.model(produced)
    output = _output(broker, "out")
    _check_output(program, output, expected)
    _check_conservation(broker, output, produced, expected, program, dropped)
    lag = broker.lag(application)
    assert not any(lag.values()), f"committed offsets are not the ends: {lag}"
    _check_changelogs(broker, application, expected)
    return _check_stores(broker, engine)


def _check_log(broker: AnyBroker) -> None:
    for topic in broker.topics():
        problems = broker.problems(topic)
        assert not problems, f"the log is damaged: {problems}"
    if not isinstance(broker, EmbeddedBroker):
        return
    with broker._catalog.read() as connection:
        known = {row[0] for row in connection.execute("SELECT file FROM segments WHERE file IS NOT NULL")}
    orphans = {file for file, _ in broker._disk.files()} - known
    assert not orphans, f"segments that nobody registered: {sorted(orphans)}"


def _check_input(broker: AnyBroker, produced: Input) -> None:
    for (topic, partition), records in produced.items():
        found = [(key, value, time) for _, _, _, time, key, value, _ in _read(broker, topic, partition)]
        wanted = [(record.key, record.value, record.timestamp) for record in records]
        assert found == wanted, f"{topic}-{partition} is not what was acknowledged: {found} instead of {wanted}"


def _check_output(program: Program, output: Output, expected: Expected) -> None:
    if program.final_only:
        last = {
            key: values[-1]
            for key, values in output.items()
            if values[-1] is not None and values[-1] not in expected.may_stay.get(key, ())
        }
        wanted = {key: values[-1] for key, values in expected.output.items()}
        assert last == wanted, f"the last values are {last} instead of {wanted}"
        return
    for key in {*output, *expected.output}:
        found, right = output.get(key, []), expected.output.get(key, [])
        lost, extra = Counter(right) - Counter(found), Counter(found) - Counter(right)
        assert not lost and not extra, f"key {key!r}: lost {dict(lost)}, doubled or invented {dict(extra)}"
        if program.is_exact and key is not None:
            assert found == right, f"key {key!r} is out of order: {found} instead of {right}"


def _check_conservation(
    broker: AnyBroker,
    output: Output,
    produced: Input,
    expected: Expected,
    program: Program,
    dropped: Counter[str],
) -> None:
    """Input = accounted for by output + dropped by reason; of these, dead letters for what could not be processed."""
    counted = Counter({reason: count for reason, count in dropped.items() if count and reason != _STALE_RESPONSE})
    total = sum(len(records) for records in produced.values())
    assert counted == expected.dropped, f"dropped {counted} instead of {expected.dropped}"
    assert total == expected.accounted + counted.total(), f"{total} records in, {expected.accounted} and {counted} out"
    letters = sum(1 for _ in _read(broker, "dead-letters", 0))
    assert letters == counted[NOT_READ] + counted[FAILED], f"{letters} dead letters, but {counted}"


def _check_changelogs(broker: AnyBroker, application: str, expected: Expected) -> None:
    for store, wanted in expected.changelogs.items():
        topic, found = f"{application}-{store}-changelog", {}
        for partition in range(broker.topics()[topic]):
            found.update({key: value for key, (value, _) in _folded(broker, topic, partition).items()})
        assert found == wanted, f"the changelog of {store} adds up to {found} instead of {wanted}"


def _check_stores(broker: AnyBroker, engine: LocalEngine) -> int:
    """Each database of the last process is what its changelog adds up to. Stale ones are restored before use."""
    application = engine.application
    progress = Progress(broker.last_decided(application.id))
    compared = 0
    for topic in application.topics.internal:
        if topic.kind != "changelog" or topic.store is None:
            continue
        for task in application.topics.task_ids():
            if task.subtopology != topic.subtopology or task not in progress.tasks:
                continue
            path = application.state_dir(task) / "rocksdb" / topic.store
            if path.exists():
                base = progress.tasks[task].version
                compared += _check_store(
                    path, base, _folded(broker, topic.name, task.partition), topic.store == "windows"
                )
    return compared


def _check_store(path: Path, base: Version, changelog: Mapping[bytes, tuple[bytes, int]], windows: bool) -> int:
    database = VisitedDatabase(path, raw_options(), Visit(base, Version(base.batch + 1)))
    try:
        if database.is_stale:
            return 0
        found = dict(database.scan())
    finally:
        database.close()
    bare = {}
    for stored, value in found.items():
        # A store of windows has the number of the segment in front of its keys; a timestamped one the time in values.
        key = stored if stored in changelog else stored[8:]
        bare[key] = _bare_value(value, changelog.get(key))
    missing = {key for key in changelog.keys() - bare.keys() if not _may_be_expired(key, windows, changelog)}
    wanted = {key: value for key, (value, _) in changelog.items() if key in bare or key in missing}
    assert bare == wanted, f"the store at {path} has {bare}, its changelog {wanted}"
    return 1


def _may_be_expired(key: bytes, windows: bool, changelog: Mapping[bytes, tuple[bytes, int]]) -> bool:
    """Windows go when their time has passed; nobody writes that to the changelog."""
    return windows and window_store_start(key) < max(map(window_store_start, changelog)) - RETENTION_MS


def _bare_value(value: bytes, logged: tuple[bytes, int] | None) -> bytes:
    if logged is None or value == logged[0]:
        return value
    return value[8:] if int.from_bytes(value[:8], "big", signed=True) == logged[1] else value


def _folded(broker: AnyBroker, topic: str, partition: int) -> dict[bytes, tuple[bytes, int]]:
    entries: dict[bytes, tuple[bytes, int]] = {}
    for _, _, _, timestamp, key, value, _ in _read(broker, topic, partition):
        assert key is not None
        if value is None:
            entries.pop(key, None)
        else:
            entries[key] = value, timestamp
    return entries


def _output(broker: AnyBroker, topic: str) -> Output:
    output: Output = {}
    for partition in range(broker.topics()[topic]):
        for _, _, _, _, key, value, _ in _read(broker, topic, partition):
            output.setdefault(key, []).append(value)
    return output


def _read(broker: AnyBroker, topic: str, partition: int) -> list[RawRecord]:
    start = broker.start_offsets([(topic, partition)])[topic, partition]
    return [record for records in broker.read(topic, partition, start) for record in records]
