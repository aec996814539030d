"""Co-grouping: several streams fold into one table, each with its own aggregator.

One store and one row per customer, where joins of separate aggregates would need a store for each.
"""

from typing import Any

from headrace import StreamsBuilder, Topology, TopologyTestDriver, serdes

JSON = serdes.json()
Customer = dict[str, Any]


def build() -> Topology:
    builder = StreamsBuilder()
    clicks = builder.stream("clicks").group_by_key()
    purchases = builder.stream("purchases", value_serde=serdes.double()).group_by_key()

    def add_click(name: str, page: str, customer: Customer) -> Customer:
        return {**customer, "pages": [*customer["pages"], page]}

    def add_purchase(name: str, amount: float, customer: Customer) -> Customer:
        return {**customer, "spent": customer["spent"] + amount}

    (
        clicks.cogroup(add_click)
        .cogroup(purchases, add_purchase)
        .aggregate(lambda: {"pages": [], "spent": 0.0}, "customers", value_serde=JSON)
        .to_stream()
        .to("customers")
    )
    return builder.build()


if __name__ == "__main__":
    with TopologyTestDriver(build()) as driver:
        clicks = driver.create_input_topic("clicks")
        purchases = driver.create_input_topic("purchases", value_serde=serdes.double())
        clicks.pipe_input("anna", "/tea")
        purchases.pipe_input("anna", 8.0)
        clicks.pipe_input("ben", "/")
        purchases.pipe_input("anna", 4.5)
        for record in driver.create_output_topic("customers", value_serde=JSON):
            print(f"{record.key}: {record.value}")
