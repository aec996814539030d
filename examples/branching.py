"""Branching: one stream becomes several, each record goes to the first branch that wants it.

`split()` ends with `default_branch()`, for what no other branch wanted, or with `no_default_branch()`, which drops it.
"""

from headrace import StreamsBuilder, Topology, TopologyTestDriver, serdes

JSON = serdes.json()


def build() -> Topology:
    builder = StreamsBuilder()
    branches = (
        builder.stream("purchases", value_serde=JSON)
        .split(name="purchases-")
        .branch(lambda customer, purchase: purchase["department"] == "coffee", name="coffee")
        .branch(lambda customer, purchase: purchase["department"] == "electronics", name="electronics")
        .default_branch(name="other")
    )
    for name, branch in branches.items():
        branch.to(name)
    return builder.build()


if __name__ == "__main__":
    with TopologyTestDriver(build()) as driver:
        purchases = driver.create_input_topic("purchases", value_serde=JSON)
        purchases.pipe_input("anna", {"department": "coffee", "item": "latte"})
        purchases.pipe_input("ben", {"department": "electronics", "item": "radio"})
        purchases.pipe_input("cleo", {"department": "books", "item": "atlas"})
        for topic in ("purchases-coffee", "purchases-electronics", "purchases-other"):
            for record in driver.create_output_topic(topic, value_serde=JSON):
                print(f"{topic:22} {record.key}: {record.value['item']}")
