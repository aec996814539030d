"""A join with the past: an order gets the price of the moment it was placed, even if both come out of order.

The versioned store keeps an hour of history, so that the table can be asked as of a time. The grace period lets an
order wait twenty seconds of stream time for prices that are late.
"""

from datetime import timedelta

from headrace import StreamsBuilder, Topology, TopologyTestDriver, serdes, stores

SECOND = 1000


def build() -> Topology:
    builder = StreamsBuilder()
    prices = builder.table(
        "prices", value_serde=serdes.double(), store=stores.versioned("prices", history=timedelta(hours=1))
    )
    (
        builder.stream("orders", value_serde=serdes.long())
        .join(prices, lambda quantity, price: quantity * price, grace=timedelta(seconds=20))
        .to("amounts", value_serde=serdes.double())
    )
    return builder.build()


if __name__ == "__main__":
    with TopologyTestDriver(build()) as driver:
        prices = driver.create_input_topic("prices", value_serde=serdes.double())
        orders = driver.create_input_topic("orders", value_serde=serdes.long())
        prices.pipe_input("tea", 4.0, timestamp=0)
        orders.pipe_input("tea", 10, timestamp=30 * SECOND)  # waits
        prices.pipe_input("tea", 5.0, timestamp=25 * SECOND)  # late, but before the order
        prices.pipe_input("tea", 6.0, timestamp=50 * SECOND)
        orders.pipe_input("tea", 1, timestamp=60 * SECOND)  # lets the first order go
        orders.pipe_input("tea", 100, timestamp=90 * SECOND)  # lets the second go
        for record in driver.create_output_topic("amounts", value_serde=serdes.double()):
            print(f"ordered at {record.timestamp // SECOND}s: {record.value:.2f}")
