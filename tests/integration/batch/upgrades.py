"""Programs and the programs they become: what is changed, what must come of the state, and the table as a plain model.

All of them read ``in`` (and some ``other``) and keep what matters in the store ``c``. A model is given the records from
before the change and those from after it, and says what the store holds in the end.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from headrace import StreamsBuilder, Suppressed, ValueAndTimestamp, serdes, stores
from headrace.processors.api import Processor
from headrace.windows import TimeWindows

Program = Callable[[StreamsBuilder], Any]
Pairs = list[tuple[str, str]]
Table = dict[Any, Any]

KEPT, EMPTY, REFUSED = "kept", "starts empty", "refused"


def counted(store: Any = "c", topic: str = "in", **options: Any) -> Program:
    return lambda b: b.stream(topic).group_by_key().count(store, **options)


def shouting(b: StreamsBuilder) -> None:
    b.stream("other").map_values(str.upper).to("shouted")


def both(*programs: Program) -> Program:
    def program(b: StreamsBuilder) -> None:
        for each in programs:
            each(b)

    return program


def filtered(store: Any = "c") -> Program:
    return lambda b: b.stream("in").filter(lambda key, value: key != "k1").group_by_key().count(store)


def repartitioned(b: StreamsBuilder) -> None:
    b.stream("in").repartition().group_by_key().count("c")


def apart(b: StreamsBuilder) -> None:
    b.table("other", store="others")
    counted()(b)


def joined(b: StreamsBuilder) -> None:
    others = b.table("other", store="others")
    counts = b.stream("in").group_by_key().count("c")
    counts.join(others, lambda count, other: f"{count} {other}").to_stream().to("joined")


def windowed(size_ms: int = 10, retention_ms: int = 1000) -> Program:
    windows = TimeWindows(size_ms, grace=0)
    return lambda b: b.stream("in").group_by_key().windowed_by(windows).count("c", retention=retention_ms)


def late_counts(b: StreamsBuilder) -> None:
    """Windows that forget what is late; results go on when they are final."""
    grouped = b.stream("in", key_serde=serdes.string()).group_by_key(key_serde=serdes.string())
    counts = grouped.windowed_by(TimeWindows(10, grace=0)).count("c", key_serde=serdes.string())
    final = counts.suppress(Suppressed.until_window_closes(name="waiting"))
    final.to_stream().map(lambda window, count: (window.key, str(count))).to("final")


class Counting(Processor):
    """Counts into the store ``c``."""

    def init(self, context: Any) -> None:
        self._store = context.store("c")

    def process(self, record: Any) -> None:
        held = self._store.get(record.key)
        count = int(getattr(held, "value", held) or 0) + 1
        self._store.put(record.key, self.holding(count, record.timestamp))

    @staticmethod
    def holding(count: int, _: int) -> Any:
        return count


class CountingWithTime(Counting):
    holding = staticmethod(ValueAndTimestamp)  # type: ignore[assignment]


def plain(b: StreamsBuilder) -> None:
    b.add_state_store(stores.key_value(stores.persistent("c"), serdes.string(), serdes.long()))
    b.stream("in").process(Counting, stores=["c"])


def stamped(b: StreamsBuilder) -> None:
    supplier = stores.persistent_timestamped("c")
    b.add_state_store(stores.timestamped_key_value(supplier, serdes.string(), serdes.long()))
    b.stream("in").process(CountingWithTime, stores=["c"])


def global_table(b: StreamsBuilder) -> None:
    b.global_table("other", store="everywhere")


# Models


def all_of(before: Pairs, after: Pairs) -> Table:
    return dict(Counter(key for key, _ in before + after))


def only_after(_: Pairs, after: Pairs) -> Table:
    return dict(Counter(key for key, _ in after))


def filtered_after(before: Pairs, after: Pairs) -> Table:
    return all_of(before, [(key, value) for key, value in after if key != "k1"])


def fed_by_other_after(before: Pairs, after: Pairs) -> Table:
    """``other`` holds the same records as ``in`` and is read from its beginning."""
    return all_of(before, before + after)


def in_windows(before: Pairs, after: Pairs) -> Table:
    """Record number n has the time n: every ten of them share a window."""
    return dict(Counter((key, number // 10 * 10) for number, (key, _) in enumerate(before + after)))


@dataclass(frozen=True)
class Change:
    """One change of a program. ``text`` and ``verdict`` are a row of the guide's table."""

    name: str
    text: str
    old: Program
    new: Program
    verdict: str = KEPT
    model: Callable[[Pairs, Pairs], Table] = all_of
    refusal: str = ""
    """What the error says."""
    partitions: int | None = None
    """So many partitions has ``in`` after the change."""
    settings: dict[str, Any] = field(default_factory=dict)
    """Other settings from the change on."""
    is_logged: bool = True


_BEFORE = "A stream, a table or a processor is added or taken away before the store"
_BEHIND = "The same behind the store"
_NO_NAME = "Anything before a store without a name of its own changes"
_PLACE = "Where or how a store keeps its entries (memory or disk, timestamps, headers, retention, history)"
_MEANING = "What its entries mean (kind of store, size of windows, serdes)"
_UNLOGGED = "A store with `logging=False` would move to another sub-topology, or keep its entries differently"

CHANGES = [
    Change("stream-before", _BEFORE, counted(), both(shouting, counted())),
    Change("stream-taken-away", _BEFORE, both(shouting, counted()), counted()),
    Change("count-before", _BEFORE, counted(), both(counted("b", "other"), counted())),
    Change("filter-added", _BEFORE, counted(), filtered(), model=filtered_after),
    Change("stream-behind", _BEHIND, counted(), both(counted(), shouting)),
    Change("count-behind", _BEHIND, counted(), both(counted(), counted("b", "other"))),
    Change(
        "stream-between",
        _BEFORE,
        both(counted("b", "other"), counted()),
        both(counted("b", "other"), lambda b: b.stream("third").to("shouted"), counted()),
    ),
    Change("repartition-added", "A repartition is added or taken away", counted(), repartitioned),
    Change("repartition-taken-away", "A repartition is added or taken away", repartitioned, counted()),
    Change("joined", "Parts of the program are joined, or separated", apart, joined),
    Change("separated", "Parts of the program are joined, or separated", joined, apart),
    Change("renamed", "The store gets another name", counted("b"), counted(), EMPTY, only_after),
    Change("to-memory", _PLACE, counted(), counted(stores.in_memory("c"))),
    Change("to-disk", _PLACE, counted(stores.in_memory("c")), counted()),
    Change("timestamps-added", _PLACE, plain, stamped),
    Change("headers-added", _PLACE, counted(), counted(), settings={"dsl.store.format": "HEADERS"}),
    Change("retention", _PLACE, windowed(), windowed(retention_ms=500), model=in_windows),
    Change(
        "longer-retention",
        "A longer retention than the changelog of a store has",
        windowed(),
        windowed(retention_ms=2000),
        REFUSED,
        in_windows,
        "the store c has changed, and its changelog does not follow: its retention was 1000 ms and is 2000 ms now",
    ),
    Change("kind", _MEANING, counted(), windowed(), REFUSED, refusal="it was a kv store and is a window store now"),
    Change(
        "kind-without-windows",
        _MEANING,
        windowed(),
        counted(),
        REFUSED,
        in_windows,
        "it was a window store and is a kv store now",
    ),
    Change(
        "larger-windows",
        _MEANING,
        windowed(),
        windowed(2000, 2000),
        REFUSED,
        in_windows,
        "its windows were 10 ms long and are 2000 ms long now",
    ),
    Change("window-size", _MEANING, windowed(), windowed(20), REFUSED, in_windows, "its windows were 10 ms long"),
    Change(
        "key-serde",
        _MEANING,
        counted(),
        lambda b: b.stream("in").group_by_key(key_serde=serdes.json()).count("c", key_serde=serdes.json()),
        REFUSED,
        refusal="its keys were written with the serde string and would be read with json",
    ),
    Change(
        "unnamed-filter", _NO_NAME, counted(None), filtered(None), REFUSED, refusal="its generated name is KSTREAM-"
    ),
    Change(
        "unnamed-count-before",
        _NO_NAME,
        counted(None),
        both(counted(None, "other"), counted(None)),
        REFUSED,
        refusal="it may be another store with the same number",
    ),
    Change(
        "swapped",
        "Two stores exchange their names",
        both(counted("c", "in"), counted("b", "other")),
        both(counted("b", "in"), counted("c", "other")),
        REFUSED,
        refusal="it is filled now by what filled c before",
    ),
    Change(
        "partitions-grown",
        "An input topic of a program with stores gets more partitions",
        counted(),
        counted(),
        REFUSED,
        refusal="it had 2 partitions and would have 4",
        partitions=4,
    ),
    Change(
        "logging-off",
        "`logging` or `topology.optimization` changes where the changelog of a store is",
        counted(),
        counted(logging=False),
        REFUSED,
        refusal="its changelog was app-c-changelog and is switched off now",
    ),
    Change(
        "unlogged-stream-before",
        _UNLOGGED,
        counted(logging=False),
        both(shouting, counted(logging=False)),
        REFUSED,
        refusal="it has no changelog, so its content cannot follow",
        is_logged=False,
    ),
    Change(
        "unlogged-stream-behind",
        _BEHIND,
        counted(logging=False),
        both(counted(logging=False), shouting),
        is_logged=False,
    ),
    Change(
        "unlogged-beside-one-that-moves",
        _BEFORE,
        both(counted("c", logging=False), counted("m", "other")),
        both(counted("c", logging=False), lambda b: b.stream("third").to("shouted"), counted("m", "other")),
        is_logged=False,
    ),
    Change("global-table-before", _BEFORE, counted(), both(global_table, counted())),
    Change("global-table-behind", _BEHIND, counted(), both(counted(), global_table)),
    Change(
        "other-topic",
        "The store is filled from another topic",
        counted(),
        counted("c", "other"),
        model=fed_by_other_after,
    ),
    Change("threads", "`num.stream.threads`", counted(), counted(), settings={"num.stream.threads": 3}),
]
