"""Which stocks move: `process` keeps moving averages and sends nothing, a punctuation sends what moved by 2 % or more.

The processor decides when results leave: every ten seconds of stream time, not with every trade as a table would.
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
    serdes,
    stores,
)

JSON = serdes.json()
SECOND = 1000
LOOKBACK, THRESHOLD = 20, 0.02
STORE = "stock-performance-store"


def moved(values: list[float]) -> float:
    """How far the last value lies from the mean of those before it, as a fraction."""
    *before, last = values
    return last * len(before) / sum(before) - 1 if before else 0.0


class StockPerformance(Processor):
    def init(self, context: ProcessorContext) -> None:
        super().init(context)
        self.performances: KeyValueStore = context.store(STORE)
        context.schedule(timedelta(seconds=10), PunctuationType.STREAM_TIME, self.send_movers)

    def process(self, record: Record[str, dict[str, Any]]) -> None:
        held = self.performances.get(record.key) or {"prices": [], "volumes": []}
        prices, volumes = [*held["prices"], record.value["price"]], [*held["volumes"], record.value["shares"]]
        self.performances.put(record.key, {"prices": prices[-LOOKBACK:], "volumes": volumes[-LOOKBACK:]})

    def send_movers(self, now: int) -> None:
        with self.performances.all() as performances:
            for symbol, performance in performances:
                price, volume = moved(performance["prices"]), moved(performance["volumes"])
                if abs(price) >= THRESHOLD or abs(volume) >= THRESHOLD:
                    self.context.forward(Record(symbol, {"price": round(price, 3), "volume": round(volume, 3)}, now))


def build() -> Topology:
    return (
        Topology()
        .add_source("stocks-source", ["stock-transactions"], value_serde=JSON)
        .add_processor("stocks-processor", StockPerformance, parents="stocks-source")
        .add_state_store(stores.key_value(stores.persistent(STORE), value_serde=JSON), processors="stocks-processor")
        .add_sink("stocks-sink", "stock-performance", parents="stocks-processor", value_serde=JSON)
    )


if __name__ == "__main__":
    with TopologyTestDriver(build()) as driver:
        trades = driver.create_input_topic("stock-transactions", value_serde=JSON)
        trades.pipe_input("YERB", {"price": 100.0, "shares": 10}, timestamp=1 * SECOND)
        trades.pipe_input("NDLE", {"price": 33.0, "shares": 10}, timestamp=2 * SECOND)
        trades.pipe_input("YERB", {"price": 105.0, "shares": 10}, timestamp=6 * SECOND)
        trades.pipe_input("NDLE", {"price": 33.1, "shares": 10}, timestamp=11 * SECOND)
        for record in driver.create_output_topic("stock-performance", value_serde=JSON):
            print(f"{record.key} at {record.timestamp // SECOND}s: {record.value}")
