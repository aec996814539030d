"""Where state lives and how it survives: kinds of stores, and the settings of their changelog topics.

By default a store is RocksDB on disk, and each write also goes to a compacted changelog. Both are
keywords of the operator that makes the store.
"""

from headrace import StreamsBuilder, Topology, TopologyTestDriver, stores

DAY_MS = 24 * 60 * 60 * 1000


def build() -> Topology:
    builder = StreamsBuilder()
    events = builder.stream("events").group_by_key()
    events.count("on-disk")
    events.count(stores.in_memory("in-memory"))
    events.count("kept-well", logging={"min.insync.replicas": "2", "retention.ms": str(7 * DAY_MS)})
    events.count("not-logged", logging=False)
    return builder.build()


if __name__ == "__main__":
    topology = build()
    with TopologyTestDriver(topology, {"application.id": "options"}) as driver:
        driver.create_input_topic("events").pipe_input("anna", "click")
        for name, store in driver.stores().items():
            print(f"{name:12} {'on disk' if store.persistent else 'in memory':10} {len(driver.changelog(name))} logged")
        for topic in topology.configured({"application.id": "options"}).internal_topics():
            print(topic.name, topic.config)
