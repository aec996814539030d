"""What must hold after a fault has healed: nothing lost, doubled, reordered or left behind, each record accounted for.

``check`` looks at the directories alone, so it does not matter who ran the application: a test, a child process, Spark.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

from rocksdict import AccessType, Options, Rdict

from headrace.broker.embedded import EmbeddedBroker
from headrace.state.rocksdb.database import forward

Pair = tuple[bytes | None, bytes | None]
"""Key and value of a record."""


@dataclass(frozen=True)
class Model:
    """What a pure-Python fold of the input says: the truth that the application is held against."""

    inputs: Mapping[str, int]
    """How many records each input topic holds."""
    outputs: Mapping[str, Iterable[Pair]] = field(default_factory=dict)
    """Every record of each output topic; those of a key in their order."""
    stores: Mapping[str, Mapping[bytes, bytes]] = field(default_factory=dict)
    """What each store maps, without timestamps."""
    processed: int = 0
    """Input records that became output or state."""
    one_for_each: str | None = None
    """An output topic with one record for each of them."""
    dropped: int = 0
    dead_letters: int = 0
    dead_letter_topic: str | None = None


def check(
    broker_dir: Path,
    application: str,
    model: Model,
    *,
    state_dir: Path | None = None,
) -> None:
    """Hold what is there against the model. The application must have stopped; it may have been killed before."""
    with closing(EmbeddedBroker(broker_dir, fsync=False)) as broker:
        _check_input(broker, application, model)
        for topic, expected in model.outputs.items():
            check_output(broker, topic, expected)
        for store, content in model.stores.items():
            _check_store(broker, application, store, content, state_dir)
        _check_conservation(broker, model)
        check_no_orphans(broker)


def _check_input(broker: EmbeddedBroker, application: str, model: Model) -> None:
    committed = broker.committed(application)
    for topic, count in model.inputs.items():
        ends = broker.end_offsets([(topic, number) for number in _partitions(broker, topic)])
        assert sum(ends.values()) == count, f"input of {topic}: {ends}"
        behind = {each: end for each, end in ends.items() if end and committed[each].offset != end}
        assert not behind, f"stuck: {behind} is the end, committed is {committed}"


def check_output(broker: EmbeddedBroker, topic: str, expected: Iterable[Pair]) -> None:
    """Nothing lost, doubled or made up; the records of each key in their order."""
    wanted, found = list(expected), list(read(broker, topic))
    lost, extra = Counter(wanted) - Counter(found), Counter(found) - Counter(wanted)
    assert not lost, f"lost from {topic}: {lost.most_common(5)}"
    assert not extra, f"doubled or phantom in {topic}: {extra.most_common(5)}"
    assert _by_key(found) == _by_key(wanted), f"reordered: {topic}"


def _check_store(
    broker: EmbeddedBroker, application: str, store: str, content: Mapping[bytes, bytes], state_dir: Path | None
) -> None:
    logged: dict[bytes, bytes] = {}
    for key, value in read(broker, f"{application}-{store}-changelog"):
        assert key is not None
        if value is None:
            logged.pop(key, None)
        else:
            logged[key] = value
    assert logged == content, f"the changelog of {store} folds to something else"
    if state_dir is not None:
        assert dict(stored(state_dir / application, store)) == content, f"stale state: {store}"


def _check_conservation(broker: EmbeddedBroker, model: Model) -> None:
    """Input = output accounted for + dropped + dead letters. What is dropped is counted by those who run it."""
    letters = 0 if model.dead_letter_topic is None else _count(broker, model.dead_letter_topic)
    assert letters == model.dead_letters
    processed = model.processed if model.one_for_each is None else _count(broker, model.one_for_each)
    taken = sum(_count(broker, topic) for topic in model.inputs)
    told = f"{taken} in, {processed} out, {model.dropped} dropped, {letters} dead letters"
    assert taken == processed + model.dropped + letters, told


def _count(broker: EmbeddedBroker, topic: str) -> int:
    return sum(1 for _ in read(broker, topic))


def _partitions(broker: EmbeddedBroker, topic: str) -> Iterable[int]:
    return range(broker.topics()[topic])


def check_no_orphans(broker: EmbeddedBroker) -> None:
    """After upkeep every file is one that the catalog knows, and whole."""
    broker.maintain()
    with broker._catalog.read() as connection:
        known = {row[0] for row in connection.execute("SELECT file FROM segments WHERE file IS NOT NULL")}
    assert {file for file, _ in broker._disk.files()} == known
    assert not [problem for topic in broker.topics() for problem in broker.problems(topic)]


def read(broker: EmbeddedBroker, topic: str) -> Iterator[Pair]:
    """Keys and values of a topic, partition by partition."""
    for partition in _partitions(broker, topic):
        start = broker.start_offsets([(topic, partition)])[topic, partition]
        for records in broker.read(topic, partition, start):
            for record in records:
                yield record[4], record[5]


def stored(application_dir: Path, store: str) -> Iterator[tuple[bytes, bytes]]:
    """What the files of a key-value store hold, without timestamps."""
    for path in sorted(application_dir.glob(f"*/rocksdb/{store}")):
        database = Rdict(str(path), Options(raw_mode=True), access_type=AccessType.read_only())
        try:
            for key, value in forward(database, b""):
                yield key, value[8:]
        finally:
            database.close()


def _by_key(pairs: Iterable[Pair]) -> dict[bytes | None, list[bytes | None]]:
    grouped: dict[bytes | None, list[bytes | None]] = {}
    for key, value in pairs:
        grouped.setdefault(key, []).append(value)
    return grouped
