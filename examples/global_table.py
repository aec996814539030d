"""Reference data: every instance holds the whole of a global table.

The stream chooses the row with a function, so it keeps its keys and needs no repartition, and any number of
such joins may follow each other.
"""

from headrace import StreamsBuilder, Topology, TopologyTestDriver, serdes

JSON = serdes.json()


def build() -> Topology:
    builder = StreamsBuilder()
    products = builder.global_table("products")
    regions = builder.global_table("regions")
    (
        builder.stream("orders", value_serde=JSON)
        .join(products, lambda order_id, order: order["product"], lambda order, name: {**order, "product": name})
        .left_join(regions, lambda order_id, order: order["zip"][:2], lambda order, region: {**order, "region": region})
        .to("enriched-orders", value_serde=JSON)
    )
    return builder.build()


if __name__ == "__main__":
    with TopologyTestDriver(build()) as driver:
        driver.create_input_topic("products").pipe_input("p1", "green tea")
        driver.create_input_topic("regions").pipe_input("50", "Cologne")
        orders = driver.create_input_topic("orders", value_serde=JSON)
        orders.pipe_input("o1", {"product": "p1", "zip": "50667"})
        orders.pipe_input("o2", {"product": "p1", "zip": "99423"})  # an unknown region: the left join keeps it
        orders.pipe_input("o3", {"product": "p9", "zip": "50667"})  # an unknown product: the join drops it
        for record in driver.create_output_topic("enriched-orders", value_serde=JSON):
            print(f"{record.key}: {record.value}")
