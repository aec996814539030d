"""A partitioner of one's own: `(topic, key, value, num_partitions)` says where a record goes.

One region, one partition. None leaves the choice to the key; several numbers would send a copy to each of them.
"""

from typing import Any

from headrace import StreamsBuilder, Topology, TopologyTestDriver, serdes

JSON = serdes.json()
REGIONS = ["africa", "america", "asia", "europe"]


def by_region(topic: str, key: str, value: dict[str, Any], num_partitions: int) -> int | None:
    region = value["region"]
    return REGIONS.index(region) % num_partitions if region in REGIONS else None


def build() -> Topology:
    builder = StreamsBuilder()
    (
        builder.stream("orders", value_serde=JSON)
        .repartition(partitions=len(REGIONS), partitioner=by_region, name="orders-by-region")
        .to("regional-orders", partitioner=by_region)
    )
    return builder.build()


if __name__ == "__main__":
    topology = build()
    for region in ("asia", "europe", "atlantis"):
        print(f"{region:9} goes to partition {by_region('regional-orders', 'o1', {'region': region}, len(REGIONS))}")
    with TopologyTestDriver(topology, {"application.id": "shop"}) as driver:
        driver.create_input_topic("orders", value_serde=JSON).pipe_input("o1", {"region": "asia"})
        for record in driver.produced:
            print(f"{record.topic} partition {record.partition}: {record.value!r}")
    planned = topology.configured({"application.id": "shop"})
    print([(topic.name, topic.partitions) for topic in planned.internal_topics()])
