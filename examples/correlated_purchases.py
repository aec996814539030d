"""Who buys coffee and electronics within twenty minutes: a join of two streams after their keys have changed.

`select_key` marks a stream for repartition; the join writes both through internal topics first, so that the records
of one customer meet in one task. `topology.describe()` shows the two topics.
"""

from datetime import timedelta

from headrace import JoinWindows, StreamsBuilder, Topology, TopologyTestDriver, serdes

JSON = serdes.json()
MINUTE = 60_000


def build() -> Topology:
    builder = StreamsBuilder()
    coffee, electronics = (
        builder.stream(topic, value_serde=JSON).select_key(lambda till, purchase: purchase["customer"])
        for topic in ("coffee", "electronics")
    )
    (
        coffee.join(
            electronics,
            lambda drink, device: f"{drink['item']} and {device['item']}",
            JoinWindows(timedelta(minutes=20)),
            value_serde=JSON,
            other_value_serde=JSON,
            name="correlated",
        ).to("correlated-purchases")
    )
    return builder.build()


if __name__ == "__main__":
    topology = build()
    with TopologyTestDriver(topology) as driver:
        coffee = driver.create_input_topic("coffee", value_serde=JSON)
        electronics = driver.create_input_topic("electronics", value_serde=JSON)
        coffee.pipe_input("till-1", {"customer": "anna", "item": "latte"}, timestamp=0)
        electronics.pipe_input("till-7", {"customer": "anna", "item": "phone"}, timestamp=15 * MINUTE)
        electronics.pipe_input("till-7", {"customer": "ben", "item": "radio"}, timestamp=16 * MINUTE)
        coffee.pipe_input("till-1", {"customer": "anna", "item": "mocha"}, timestamp=36 * MINUTE)  # 21 minutes after
        for record in driver.create_output_topic("correlated-purchases"):
            print(f"{record.key}: {record.value}")
    print(topology.describe())
