"""ZMart, the shop of "Kafka Streams in Action": every purchase has its card number masked and then goes several ways.

Patterns for the buyers, points for the rewards, everything for the archive; and what costs more than 5, by date,
to the coffee bar and to the electronics department.
"""

from typing import Any

from headrace import StreamsBuilder, Topology, TopologyTestDriver, serdes

JSON = serdes.json()
Purchase = dict[str, Any]


def mask(purchase: Purchase) -> Purchase:
    return {**purchase, "card": "xxxx-xxxx-xxxx-" + purchase["card"][-4:]}


def pattern(purchase: Purchase) -> dict[str, Any]:
    return {"zip": purchase["zip"], "item": purchase["item"], "amount": total(purchase)}


def reward(purchase: Purchase) -> dict[str, Any]:
    return {"customer": purchase["customer"], "points": int(total(purchase))}


def total(purchase: Purchase) -> float:
    return float(purchase["price"] * purchase["quantity"])


def build() -> Topology:
    builder = StreamsBuilder()
    purchases = builder.stream("transactions", value_serde=JSON).map_values(mask)

    purchases.map_values(pattern).to("patterns", value_serde=JSON)
    purchases.map_values(reward).to("rewards", value_serde=JSON)
    purchases.to("purchases", value_serde=JSON)
    (
        purchases.filter(lambda key, purchase: purchase["price"] > 5)
        .select_key(lambda key, purchase: purchase["date"])
        .split()
        .branch(
            lambda date, purchase: purchase["department"] == "coffee",
            consumer=lambda coffee: coffee.to("cafe-purchases", value_serde=JSON),
        )
        .branch(
            lambda date, purchase: purchase["department"] == "electronics",
            consumer=lambda electronics: electronics.to("electronics-purchases", value_serde=JSON),
        )
        .no_default_branch()
    )
    return builder.build()


if __name__ == "__main__":
    with TopologyTestDriver(build()) as driver:
        transactions = driver.create_input_topic("transactions", value_serde=JSON)
        shared = {"card": "1234-5678-9012-3456", "zip": "20770", "date": "2024-05-01", "quantity": 2}
        for purchase in (
            {"customer": "anna", "department": "coffee", "item": "latte", "price": 5.5},
            {"customer": "ben", "department": "electronics", "item": "cable", "price": 4.0},
            {"customer": "cleo", "department": "electronics", "item": "radio", "price": 80.0},
        ):
            transactions.pipe_input({**purchase, **shared})
        for topic in ("patterns", "rewards", "purchases", "cafe-purchases", "electronics-purchases"):
            print(topic)
            for record in driver.create_output_topic(topic, value_serde=JSON):
                print(f"  {record.key}: {record.value}")
