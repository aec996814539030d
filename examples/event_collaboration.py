"""Services that only know events: payment, inventory and notification react to topics, not to each other.

Each function is a service of its own; a new one, say for statistics, would change nothing in the others. Here they
share a process; in production each would build its own topology.
"""

from typing import Any

from headrace import StreamsBuilder, Topology, TopologyTestDriver, serdes

JSON = serdes.json()
STOCK = {"tea": 2}
Event = dict[str, Any]


def payments(builder: StreamsBuilder) -> None:
    def pay(order: Event) -> Event:
        return {"item": order["item"], "status": "paid" if order["amount"] <= 100 else "declined"}

    builder.stream("orders-placed", value_serde=JSON).map_values(pay).to("payments-processed", value_serde=JSON)


def inventory(builder: StreamsBuilder) -> None:
    (
        builder.stream("payments-processed", value_serde=JSON)
        .filter(lambda order_id, payment: payment["status"] == "paid")
        .map_values(lambda payment: {"item": payment["item"], "reserved": payment["item"] in STOCK})
        .to("inventory-reserved", value_serde=JSON)
    )


def notifications(builder: StreamsBuilder) -> None:
    (
        builder.stream("inventory-reserved", value_serde=JSON)
        .map_values(lambda event: f"your {event['item']} is {'on its way' if event['reserved'] else 'sold out'}")
        .to("notifications-sent")
    )


def build() -> Topology:
    builder = StreamsBuilder()
    for service in (payments, inventory, notifications):
        service(builder)
    return builder.build()


if __name__ == "__main__":
    with TopologyTestDriver(build()) as driver:
        orders = driver.create_input_topic("orders-placed", value_serde=JSON)
        orders.pipe_input("o1", {"item": "tea", "amount": 8})
        orders.pipe_input("o2", {"item": "samovar", "amount": 500})
        orders.pipe_input("o3", {"item": "cup", "amount": 12})
        for record in driver.create_output_topic("notifications-sent"):
            print(f"{record.key}: {record.value}")
