"""Programs with mistakes that type checkers find. ``test_typing`` compares each line with what mypy says about it."""

from __future__ import annotations

from dataclasses import dataclass

from headrace import KStream, KTable, Processor, Record, StreamsBuilder, TopologyTestDriver, serdes


class Half(Processor[str, int, str, float]):
    def process(self, record: Record[str, int]) -> None:
        self.context.forward(record.with_key(1))  # error: arg-type


def add_text(user: str, ms: int, sum: str) -> str:
    return sum + user


def mistakes(views: KStream[str, int], cities: KTable[str, bytes]) -> None:
    views.map_values(lambda ms: ms.upper())  # error: attr-defined
    views.map_values(lambda user, ms: ms)  # error: arg-type, misc
    views.map_values(str.upper)  # error: arg-type
    views.map(lambda user, ms: user)  # error: arg-type, return-value
    views.filter(lambda user, ms: ms > "5")  # error: operator
    views.group_by_key().reduce(lambda left, right: f"{left}{right}")  # error: arg-type, return-value
    views.group_by_key().aggregate(int, add_text)  # error: misc
    views.to("out", value_serde=serdes.string())  # error: arg-type
    views.to("out", value_serde="strnig")  # error: arg-type
    views.map_values(str).process(Half)  # error: arg-type
    views.left_join(cities, lambda ms, city: city.decode())  # error: union-attr
    views.group_by_key().count().map_values(lambda count: count.nothing)  # error: attr-defined


@dataclass
class Purchase:
    item: str
    cents: int


def mistakes_with_json(builder: StreamsBuilder) -> None:
    purchases = builder.stream("t", value_serde=serdes.json(Purchase))
    purchases.map_values(lambda purchase: purchase.price)  # error: attr-defined


def mistakes_in_tests(driver: TopologyTestDriver) -> None:
    driver.create_input_topic("views", serdes.string(), serdes.long()).pipe_input("alice", "3")  # error: call-overload
    driver.create_output_topic("counts", value_serde=serdes.long()).read_value().upper()  # error: attr-defined
