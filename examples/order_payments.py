"""A join of two streams: an order and its payment, at most five minutes apart.

The join is a left join: an order that nobody paid for comes out too, once its window and the grace period for late
payments are over. The streams' own timestamps say when that is, not the clock on the wall.
"""

from datetime import timedelta
from typing import Any

from headrace import JoinWindows, StreamsBuilder, Topology, TopologyTestDriver, serdes

JSON = serdes.json()
MINUTE = 60_000


def settle(order: dict[str, Any], payment: dict[str, Any] | None) -> dict[str, Any]:
    paid = 0 if payment is None else payment["amount"]
    return {"item": order["item"], "open": order["amount"] - paid}


def build() -> Topology:
    builder = StreamsBuilder()
    orders = builder.stream("orders", value_serde=JSON)
    payments = builder.stream("payments", value_serde=JSON)
    within = JoinWindows(timedelta(minutes=5), grace=timedelta(minutes=1))
    settled = orders.left_join(payments, settle, within, value_serde=JSON, other_value_serde=JSON)
    settled.to("settlements", value_serde=JSON)
    return builder.build()


if __name__ == "__main__":
    with TopologyTestDriver(build()) as driver:
        orders = driver.create_input_topic("orders", value_serde=JSON)
        payments = driver.create_input_topic("payments", value_serde=JSON)
        orders.pipe_input("o1", {"item": "tea", "amount": 8}, timestamp=0)
        orders.pipe_input("o2", {"item": "cup", "amount": 12}, timestamp=1 * MINUTE)
        payments.pipe_input("o1", {"amount": 8}, timestamp=3 * MINUTE)
        orders.pipe_input("o3", {"item": "pot", "amount": 30}, timestamp=8 * MINUTE)  # now o2 is too late
        for record in driver.create_output_topic("settlements", value_serde=JSON):
            print(f"{record.key}: {record.value['item']}, still to pay: {record.value['open']}")
