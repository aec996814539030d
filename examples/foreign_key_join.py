"""A join by foreign key: many orders name one customer.

When the customer changes, every order of hers changes. The tables need not be partitioned alike; the join keeps
subscriptions on the customer's side.
"""

from headrace import StreamsBuilder, Topology, TopologyTestDriver, serdes

JSON = serdes.json()


def build() -> Topology:
    builder = StreamsBuilder()
    customers = builder.table("customers")
    orders = builder.table("orders", value_serde=JSON)
    (
        orders.join(
            customers,
            lambda order, customer: f"{order['item']} for {customer}",
            foreign_key=lambda order: order["customer"],
        )
        .to_stream()
        .to("labels")
    )
    return builder.build()


if __name__ == "__main__":
    with TopologyTestDriver(build()) as driver:
        customers = driver.create_input_topic("customers")
        orders = driver.create_input_topic("orders", value_serde=JSON)
        customers.pipe_input("c1", "Anna Lund")
        orders.pipe_input("o1", {"customer": "c1", "item": "tea"})
        orders.pipe_input("o2", {"customer": "c1", "item": "cup"})
        orders.pipe_input("o3", {"customer": "c9", "item": "pot"})  # nobody knows c9
        customers.pipe_input("c1", "Anna Berg")
        orders.pipe_input("o1", None)
        for record in driver.create_output_topic("labels"):
            print(f"{record.key}: {record.value or 'deleted'}")
