"""A stream looks rows up in a table: orders and the price list.

Orders come under their own ids and are put under the product's first: stream and table must be partitioned alike.
An order gets the price that holds when it comes; a new price changes nothing about orders of the past.
"""

from headrace import StreamsBuilder, Topology, TopologyTestDriver, serdes

JSON = serdes.json()


def build() -> Topology:
    builder = StreamsBuilder()
    prices = builder.table("prices", value_serde=serdes.double())
    (
        builder.stream("orders", value_serde=JSON)
        .select_key(lambda order_id, order: order["product"])
        .join(prices, lambda order, price: order["quantity"] * price)
        .to("amounts", value_serde=serdes.double())
    )
    return builder.build()


if __name__ == "__main__":
    with TopologyTestDriver(build()) as driver:
        prices = driver.create_input_topic("prices", value_serde=serdes.double())
        orders = driver.create_input_topic("orders", value_serde=JSON)
        prices.pipe_input("tea", 4.0)
        orders.pipe_input("o1", {"product": "tea", "quantity": 2})
        prices.pipe_input("tea", 5.0)
        orders.pipe_input("o2", {"product": "tea", "quantity": 2})
        orders.pipe_input("o3", {"product": "salt", "quantity": 1})  # no price, no result
        for record in driver.create_output_topic("amounts", value_serde=serdes.double()):
            print(f"{record.key}: {record.value:.2f}")
