"""Enrichment in the Processor API: one processor keeps the products, another looks them up for each transaction.

Both are connected to one store. The stream-time punctuation of the first throws out products that nobody
has renewed for a minute.
"""

from datetime import timedelta
from typing import Any

from headrace import (
    KeyValueStore,
    Processor,
    ProcessorContext,
    PunctuationType,
    Record,
    Topology,
    TopologyTestDriver,
    ValueAndTimestamp,
    serdes,
    stores,
)

JSON = serdes.json()
SECOND = 1000
MAX_AGE_MS = 60 * SECOND


class KeepProducts(Processor):
    def init(self, context: ProcessorContext) -> None:
        super().init(context)
        self.products: KeyValueStore = context.store("product-store")
        context.schedule(timedelta(seconds=30), PunctuationType.STREAM_TIME, self.clean_up)

    def process(self, record: Record[str, str]) -> None:
        self.products.put(record.key, ValueAndTimestamp(record.value, record.timestamp))

    def clean_up(self, now: int) -> None:
        with self.products.all() as products:
            stale = [product for product, held in products if now - held.timestamp > MAX_AGE_MS]
        for product in stale:
            self.products.delete(product)


class Enrich(Processor):
    def init(self, context: ProcessorContext) -> None:
        super().init(context)
        self.products: KeyValueStore = context.store("product-store")

    def process(self, record: Record[str, dict[str, Any]]) -> None:
        held = self.products.get(record.key)
        self.context.forward(record.with_value({**record.value, "name": held and held.value}))


def build() -> Topology:
    products = stores.timestamped_key_value(stores.persistent_timestamped("product-store"))
    return (
        Topology()
        .add_source("products", ["products"])
        .add_source("transactions", ["transactions"], value_serde=JSON)
        .add_processor("keeper", KeepProducts, parents="products")
        .add_processor("enricher", Enrich, parents="transactions")
        .add_state_store(products, processors=["keeper", "enricher"])
        .add_sink("sink", "enriched-transactions", parents="enricher", value_serde=JSON)
    )


if __name__ == "__main__":
    with TopologyTestDriver(build()) as driver:
        driver.create_input_topic("products").pipe_input("p1", "green tea", timestamp=0)
        transactions = driver.create_input_topic("transactions", value_serde=JSON)
        transactions.pipe_input("p1", {"quantity": 2}, timestamp=10 * SECOND)
        transactions.pipe_input("p1", {"quantity": 3}, timestamp=95 * SECOND)  # after it, the product is thrown out
        transactions.pipe_input("p1", {"quantity": 4}, timestamp=96 * SECOND)
        for record in driver.create_output_topic("enriched-transactions", value_serde=JSON):
            print(f"{record.timestamp // SECOND}s: {record.value}")
