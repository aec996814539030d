"""Small programs that together use every operator with a memory: all kinds of windows, joins, tables, punctuations."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from headrace import (
    BufferConfig,
    EmitStrategy,
    JoinWindows,
    KStream,
    KTable,
    Processor,
    PunctuationType,
    Record,
    SessionWindows,
    SlidingWindows,
    StreamsBuilder,
    Suppressed,
    TimeWindows,
    Topology,
    UnlimitedWindows,
    serdes,
    stores,
)

TOPICS = ("a", "b", "t", "u")
FINAL = EmitStrategy.on_window_close()
TEXT, LONG = serdes.string(), serdes.long()


@dataclass
class Sources:
    """Two streams and two tables, each made when it is first asked for."""

    builder: StreamsBuilder
    made: dict[str, Any]

    @property
    def a(self) -> KStream:
        return self._stream("a")

    @property
    def b(self) -> KStream:
        return self._stream("b")

    @property
    def t(self) -> KTable:
        return self._table("t")

    @property
    def u(self) -> KTable:
        return self._table("u")

    def _stream(self, topic: str) -> KStream:
        if topic not in self.made:
            self.made[topic] = self.builder.stream(topic)
        return self.made[topic]  # type: ignore[no-any-return]

    def _table(self, topic: str) -> KTable:
        if topic not in self.made:
            self.made[topic] = self.builder.table(topic)
        return self.made[topic]  # type: ignore[no-any-return]


Part = Callable[[Sources], None]


def out(table: KTable, topic: str) -> None:
    """Send a windowed table to a topic, its windows as text."""
    table.to_stream(lambda window, value: str(window)).map_values(str).to(topic, key_serde=TEXT)


def joined(left: Any, right: Any) -> str:
    return f"{left}+{right}"


def count(s: Sources) -> None:
    s.a.group_by_key().count().to_stream().map_values(str).to("count")


def regrouped_reduce(s: Sources) -> None:
    s.a.group_by(lambda key, value: value).reduce(lambda held, value: (held + value)[-9:]).to_stream().to("reduce")


def table(s: Sources) -> None:
    s.t.filter(lambda key, value: value != "x").map_values(str.upper).to_stream().to("table")


def grouped_table(s: Sources) -> None:
    s.t.group_by(lambda key, value: (value, key)).count().to_stream().map_values(str).to("grouped")


def table_joins(s: Sources) -> None:
    s.t.join(s.u, joined).to_stream().to("inner")
    s.t.left_join(s.u, joined).to_stream().to("left")
    s.t.outer_join(s.u, joined).to_stream().to("outer")


def foreign_key_join(s: Sources) -> None:
    s.t.left_join(s.u, joined, foreign_key=lambda value: value).to_stream().to("foreign")


def tumbling(s: Sources) -> None:
    out(s.a.group_by_key().windowed_by(TimeWindows(10, grace=7)).count(), "tumbling")


def hopping_final(s: Sources) -> None:
    out(s.a.group_by_key().windowed_by(TimeWindows(10, advance=4, grace=3)).emit_strategy(FINAL).count(), "hopping")


def short_retention(s: Sources) -> None:
    counts = s.a.group_by_key().windowed_by(TimeWindows(10, grace=0)).count(retention=20)
    out(counts, "short")


def unlimited(s: Sources) -> None:
    out(s.a.group_by_key().windowed_by(UnlimitedWindows(start=5)).count(), "unlimited")


def sliding(s: Sources) -> None:
    out(s.a.group_by_key().windowed_by(SlidingWindows(6, grace=9)).count(), "sliding")


def sliding_final(s: Sources) -> None:
    out(s.a.group_by_key().windowed_by(SlidingWindows(6, grace=2)).emit_strategy(FINAL).count(), "sliding-final")


def sessions(s: Sources) -> None:
    out(s.a.group_by_key().windowed_by(SessionWindows(4, grace=5)).count(), "sessions")


def sessions_final(s: Sources) -> None:
    out(s.a.group_by_key().windowed_by(SessionWindows(4, grace=1)).emit_strategy(FINAL).count(), "sessions-final")


def cogrouped(s: Sources) -> None:
    def add(key: Any, value: Any, held: str) -> str:
        return f"{held}{value}"[-9:]

    both = s.a.group_by_key().cogroup(add).cogroup(s.b.group_by_key(), add)
    out(both.windowed_by(TimeWindows(10, grace=5)).aggregate(lambda: ""), "cogrouped")


def suppressed_windows(s: Sources) -> None:
    counts = s.a.group_by_key().windowed_by(TimeWindows(10, grace=3)).count(key_serde=TEXT)
    out(counts.suppress(Suppressed.until_window_closes()), "suppressed")


def suppressed_table(s: Sources) -> None:
    held = Suppressed.until_time_limit(8, BufferConfig.max_records(3).emit_early_when_full())
    s.t.suppress(held).to_stream().to("held")


def inner_stream_join(s: Sources) -> None:
    s.a.join(s.b, joined, JoinWindows(7, grace=5)).to("stream-inner")


def left_stream_join(s: Sources) -> None:
    s.a.left_join(s.b, joined, JoinWindows(7, grace=5)).to("stream-left")


def outer_stream_join(s: Sources) -> None:
    s.a.outer_join(s.b, joined, JoinWindows(4, grace=2)).to("stream-outer")


def self_join(s: Sources) -> None:
    s.a.join(s.a, joined, JoinWindows(5, grace=0)).to("self")


def stream_table_join(s: Sources) -> None:
    s.a.left_join(s.t, joined).to("stream-table")


def versioned_join_with_grace(s: Sources) -> None:
    versions = s.builder.table("v", store=stores.versioned("versions", history=15, segment_interval=5))
    s.a.join(versions, joined, grace=6).to("graceful")


class Ticker(Processor):
    """Counts in a store; schedules in ``init`` and later, cancels, and tells at every tick what it has seen."""

    def init(self, context: Any) -> None:
        super().init(context)
        self.seen = context.store("seen")
        self.every_ten = context.schedule(10, PunctuationType.STREAM_TIME, lambda time: self.tick("ten", time))
        context.schedule(7, PunctuationType.STREAM_TIME, lambda time: self.tick("seven", time), start=3)
        self.wall = context.schedule(25, PunctuationType.WALL_CLOCK_TIME, lambda time: self.tick("wall", time))

    def process(self, record: Any) -> None:
        self.seen.put(record.key, (self.seen.get(record.key) or 0) + 1)
        if record.value == "x":
            self.every_ten.cancel()
        elif record.value == "y" and self.seen.get(record.key) == 2:
            self.context.schedule(5, PunctuationType.STREAM_TIME, self.later)
        elif record.value == "z":
            self.wall.cancel()

    def later(self, time: int) -> None:
        self.tick("later", time)

    def tick(self, name: str, time: int) -> None:
        total = sum(number for _, number in self.seen.all())
        self.context.forward(Record(name, f"{time}:{total}:{self.context.current_stream_time_ms}", max(0, time)))


def punctuations(s: Sources) -> None:
    s.builder.add_state_store(stores.key_value(stores.persistent("seen"), TEXT, LONG))
    s.a.filter(lambda key, value: key is not None).process(Ticker, stores=["seen"]).to("ticks")


class Recent(Processor):
    """Reads and writes a store that forgets."""

    def init(self, context: Any) -> None:
        super().init(context)
        self.store = context.store("recent")

    def process(self, record: Any) -> None:
        if record.value == "x":
            self.store.get("a")
        self.store.put(record.key, record.value)
        self.context.forward(record.with_value(str(sorted(key for key, _ in self.store.all()))))


def least_recently_used(s: Sources) -> None:
    s.builder.add_state_store(stores.key_value(stores.lru("recent", 2), TEXT, TEXT))
    s.b.filter(lambda key, value: key is not None).process(Recent, stores=["recent"]).to("lru")


PARTS: tuple[Part, ...] = (
    count,
    regrouped_reduce,
    table,
    grouped_table,
    table_joins,
    foreign_key_join,
    tumbling,
    hopping_final,
    short_retention,
    unlimited,
    sliding,
    sliding_final,
    sessions,
    sessions_final,
    cogrouped,
    suppressed_windows,
    suppressed_table,
    inner_stream_join,
    left_stream_join,
    outer_stream_join,
    self_join,
    stream_table_join,
    versioned_join_with_grace,
    punctuations,
    least_recently_used,
)


def topology(parts: tuple[Part, ...], config: dict[str, Any] | None = None) -> Topology:
    """One topology of several parts."""
    builder = StreamsBuilder()
    sources = Sources(builder, {})
    for part in parts:
        part(sources)
    return builder.build(config)
