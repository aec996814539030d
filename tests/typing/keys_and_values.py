"""What type checkers know of keys and values. ``test_typing`` compares each line with what mypy says about it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

from headrace import (
    FixedKeyProcessor,
    FixedKeyRecord,
    JoinWindows,
    KeyValueStore,
    KStream,
    KTable,
    Processor,
    Record,
    SessionStore,
    SessionWindows,
    SlidingWindows,
    StreamsBuilder,
    Suppressed,
    TimeWindows,
    TopologyTestDriver,
    ValueAndTimestamp,
    WindowStore,
    serdes,
)
from headrace.query.read_only import ReadOnlyKeyValueStore, ReadOnlyWindowStore

if TYPE_CHECKING:
    from typing_extensions import reveal_type

HOUR = TimeWindows(timedelta(hours=1))
NEAR = JoinWindows(timedelta(minutes=5))


@dataclass
class Purchase:
    item: str
    cents: int


def sources(builder: StreamsBuilder) -> None:
    reveal_type(builder.stream("t"))  # KStream[Any, Any]
    reveal_type(builder.stream("t", key_serde=serdes.string()))  # KStream[str, Any]
    reveal_type(builder.stream("t", value_serde=serdes.long()))  # KStream[Any, int]
    reveal_type(builder.stream("t", key_serde=serdes.string(), value_serde=serdes.long()))  # KStream[str, int]
    reveal_type(builder.stream("t", value_serde=serdes.list(serdes.uuid())))  # KStream[Any, list[UUID]]
    reveal_type(builder.stream("t", key_serde=serdes.windowed(serdes.string(), 10)))  # KStream[Windowed[str], Any]
    reveal_type(builder.table("t", key_serde=serdes.string(), value_serde=serdes.json()))  # KTable[str, Any]
    reveal_type(builder.stream("t", value_serde=serdes.json(Purchase)))  # KStream[Any, Purchase]
    reveal_type(builder.stream("t", key_serde="string", value_serde="json"))  # KStream[Any, Any]
    reveal_type(builder.stream("t", key_serde=serdes.string, value_serde=serdes.long))  # KStream[str, int]
    reveal_type(builder.global_table("t", value_serde=serdes.bytes()))  # GlobalKTable[Any, bytes]


def one_record_in(views: KStream[str, int]) -> None:
    reveal_type(views.filter(lambda user, ms: ms > len(user)))  # KStream[str, int]
    reveal_type(views.filter_not(lambda user, ms: ms))  # KStream[str, int]
    reveal_type(views.select_key(lambda user, ms: ms))  # KStream[int, int]
    reveal_type(views.map(lambda user, ms: (ms, user)))  # KStream[int, str]
    reveal_type(views.map_values(lambda ms: ms / 2))  # KStream[str, float]
    reveal_type(views.map_values(str))  # KStream[str, str]
    reveal_type(views.map_values(lambda user, ms: (user, ms), with_key=True))  # KStream[str, tuple[str, int]]
    reveal_type(views.flat_map(lambda user, ms: [(ms, user)]))  # KStream[int, str]
    reveal_type(views.flat_map_values(range))  # KStream[str, int]
    reveal_type(views.flat_map_values(lambda user, ms: user * ms, with_key=True))  # KStream[str, str]
    reveal_type(views.peek(print))  # KStream[str, int]
    reveal_type(views.merge(views))  # KStream[str, int]
    reveal_type(views.merge(views.map_values(str)))  # KStream[str, int | str]
    reveal_type(views.repartition(partitions=4))  # KStream[str, int]
    reveal_type(views.to_table())  # KTable[str, int]
    reveal_type(views.split().branch(lambda user, ms: ms > 9).default_branch())  # dict[str, KStream[str, int]]
    views.to(lambda user, ms, context: f"{context.topic}-{user}", value_serde=serdes.integer())
    views.to("out", key_serde="string", value_serde=serdes.long)


def groups(views: KStream[str, int]) -> None:
    by_user, by_ms = views.group_by_key(), views.group_by(lambda user, ms: ms)
    reveal_type(by_user)  # KGroupedStream[str, int]
    reveal_type(by_ms)  # KGroupedStream[int, int]
    reveal_type(by_ms.count())  # KTable[int, int]
    reveal_type(by_user.reduce(max))  # KTable[str, int]
    reveal_type(by_user.aggregate(lambda: "", lambda user, ms, all: f"{all} {ms}"))  # KTable[str, str]
    reveal_type(by_user.aggregate(list, lambda user, ms, all: [*all, ms]))  # KTable[str, list[Any]]
    table = by_user.aggregate(float, lambda user, ms, sum: sum + ms, value_serde=serdes.double())
    reveal_type(table)  # KTable[str, float]


def windows(views: KStream[str, int]) -> None:
    by_user = views.group_by_key()
    reveal_type(by_user.windowed_by(HOUR))  # TimeWindowedKStream[str, int]
    reveal_type(by_user.windowed_by(HOUR).count())  # KTable[Windowed[str], int]
    reveal_type(by_user.windowed_by(SlidingWindows(10)).reduce(max))  # KTable[Windowed[str], int]
    reveal_type(by_user.windowed_by(SessionWindows(10)))  # SessionWindowedKStream[str, int]
    table = by_user.windowed_by(HOUR).aggregate(lambda: "", lambda user, ms, all: all)
    reveal_type(table)  # KTable[Windowed[str], str]
    counts = by_user.windowed_by(HOUR).count("counts").suppress(Suppressed.until_window_closes())
    reveal_type(counts.to_stream())  # KStream[Windowed[str], int]
    reveal_type(counts.to_stream(lambda window, count: window.key))  # KStream[str, int]
    reveal_type(counts.to_stream(lambda window, count: window.start))  # KStream[int, int]


def cogroups(views: KStream[str, int], names: KStream[str, str]) -> None:
    def add_ms(user: str, ms: int, sum: float) -> float:
        return sum + ms

    sums = views.group_by_key().cogroup(add_ms).cogroup(names.group_by_key(), lambda user, name, sum: sum + len(name))
    reveal_type(sums)  # CogroupedKStream[str, float]
    reveal_type(sums.aggregate(float))  # KTable[str, float]
    reveal_type(sums.windowed_by(HOUR).aggregate(float))  # KTable[Windowed[str], float]


def tables(users: KTable[str, int], cities: KTable[int, str]) -> None:
    reveal_type(users.filter(lambda user, city: city > 1))  # KTable[str, int]
    reveal_type(users.map_values(lambda city: str(city), store="names"))  # KTable[str, str]
    reveal_type(users.map_values(lambda user, city: (user, city), with_key=True))  # KTable[str, tuple[str, int]]
    reveal_type(users.group_by(lambda user, city: (city, user)))  # KGroupedTable[int, str]
    reveal_type(users.group_by(lambda user, city: (city, user)).count())  # KTable[int, int]
    reveal_type(users.to_stream())  # KStream[str, int]
    reveal_type(users.join(users, lambda mine, yours: mine / yours))  # KTable[str, float]
    reveal_type(users.left_join(users, lambda mine, yours: yours))  # KTable[str, int]
    reveal_type(users.join(cities, lambda code, name: name, foreign_key=lambda code: code))  # KTable[str, str]
    table = users.left_join(cities, lambda code, name: [name], foreign_key=lambda code: code)
    reveal_type(table)  # KTable[str, list[str | None]]


def joins(views: KStream[str, int], names: KStream[str, str], cities: KTable[str, bytes]) -> None:
    reveal_type(views.join(names, lambda ms, name: (ms, name), NEAR))  # KStream[str, tuple[int, str]]
    reveal_type(views.left_join(names, lambda ms, name: (ms, name), NEAR))  # KStream[str, tuple[int, str | None]]
    table = views.outer_join(names, lambda ms, name: (ms, name), NEAR)
    reveal_type(table)  # KStream[str, tuple[int | None, str | None]]
    reveal_type(views.join(names, lambda user, ms, name: user, NEAR, with_key=True))  # KStream[str, str]
    reveal_type(views.join(cities, lambda ms, city: city))  # KStream[str, bytes]
    reveal_type(views.left_join(cities, lambda ms, city: city))  # KStream[str, bytes | None]


def global_joins(views: KStream[str, int], builder: StreamsBuilder) -> None:
    cities = builder.global_table("cities", key_serde=serdes.long(), value_serde=serdes.string())
    reveal_type(views.join(cities, lambda user, ms: ms, lambda ms, city: city))  # KStream[str, str]
    reveal_type(views.left_join(cities, lambda user, ms: ms, lambda ms, city: city))  # KStream[str, str | None]


class Half(Processor[str, int, str, float]):
    def process(self, record: Record[str, int]) -> None:
        reveal_type(record.value)  # int
        reveal_type(record.with_value(0.5))  # Record[str, float]
        self.context.forward(record.with_value(record.value / 2))


class Text(FixedKeyProcessor[str, int, str]):
    def process(self, record: FixedKeyRecord[str, int]) -> None:
        self.context.forward(record.with_value(str(record.value)))


def processors(views: KStream[str, int]) -> None:
    reveal_type(views.process(Half))  # KStream[str, float]
    reveal_type(views.process_values(Text))  # KStream[str, str]


class Sums(Processor[str, int, str, int]):
    def process(self, record: Record[str, int]) -> None:
        sums: KeyValueStore[str, int] = self.context.store("sums")
        reveal_type(sums.get(record.key))  # int | None
        reveal_type(sums.all())  # StoreIterator[str, int]
        hours: WindowStore[str, ValueAndTimestamp[int]] = self.context.store("hours")
        reveal_type(hours.fetch("alice", 0))  # ValueAndTimestamp[int] | None
        reveal_type(hours.all())  # StoreIterator[Windowed[str], ValueAndTimestamp[int]]
        sessions: SessionStore[str, bytes] = self.context.store("sessions")
        reveal_type(next(sessions.fetch("alice")))  # tuple[Windowed[str], bytes]


def queries(counts: ReadOnlyKeyValueStore[str, int], hours: ReadOnlyWindowStore[str, int]) -> None:
    reveal_type(counts.get("alice"))  # int | None
    reveal_type(hours.fetch_range("alice", 0, 10))  # StoreIterator[int, int]


def tests_of_programs(driver: TopologyTestDriver) -> None:
    views = driver.create_input_topic("views", serdes.string(), serdes.long())
    reveal_type(views)  # TestInputTopic[str, int]
    views.pipe_input("alice", 3)
    views.pipe_input(4)
    views.pipe_input("alice", None)
    counts = driver.create_output_topic("counts", value_serde=serdes.long())
    reveal_type(counts.read_value())  # int
    reveal_type(counts.read_key_values_to_map())  # dict[Any, int]
    reveal_type(counts.read_records_to_list())  # list[TestRecord[Any, int]]
