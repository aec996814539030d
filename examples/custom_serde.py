"""A serde of one's own: an object with `serialize` and `deserialize`, here for a dataclass as JSON.

Where two functions are enough, `serdes.of(dumps, loads)` makes a serde of them.
"""

import json
from dataclasses import asdict, dataclass, replace

from headrace import StreamsBuilder, Topology, TopologyTestDriver, serdes


@dataclass(frozen=True)
class Purchase:
    customer: str
    item: str
    cents: int


class PurchaseSerde:
    def serialize(self, topic: str, value: Purchase | None) -> bytes | None:
        return None if value is None else json.dumps(asdict(value)).encode()

    def deserialize(self, topic: str, data: bytes | None) -> Purchase | None:
        return None if data is None else Purchase(**json.loads(data))


PURCHASE = PurchaseSerde()
EUROS = serdes.of(lambda cents: f"{cents / 100:.2f} EUR".encode(), lambda data: round(float(data.split()[0]) * 100))


def build() -> Topology:
    builder = StreamsBuilder()
    purchases = builder.stream("purchases", value_serde=PURCHASE)
    (
        purchases.map_values(lambda purchase: replace(purchase, item=purchase.item.strip().lower())).to(
            "clean-purchases", value_serde=PURCHASE
        )
    )
    (
        purchases.group_by(lambda key, purchase: purchase.customer)
        .aggregate(lambda: 0, lambda customer, purchase, cents: cents + purchase.cents, "spent", value_serde=EUROS)
        .to_stream()
        .to("spent")
    )
    return builder.build()


if __name__ == "__main__":
    with TopologyTestDriver(build()) as driver:
        purchases = driver.create_input_topic("purchases", value_serde=PURCHASE)
        purchases.pipe_input(Purchase("anna", " Green Tea ", 450))
        purchases.pipe_input(Purchase("anna", "CUP", 1200))
        for clean in driver.create_output_topic("clean-purchases", value_serde=PURCHASE):
            print(clean.value)
        for total in driver.create_output_topic("spent"):
            print(f"{total.key}: {total.value}")
