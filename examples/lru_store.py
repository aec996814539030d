"""A store as a cache: the LRU store keeps the entries used last and forgets the others.

Here it holds the answers of a slow directory. Whoever is asked for often stays; nothing grows without bound.
"""

from headrace import (
    KeyValueStore,
    Processor,
    ProcessorContext,
    Record,
    StreamsBuilder,
    Topology,
    TopologyTestDriver,
    stores,
)


def slow_directory(user: str) -> str:
    """Stands for a call over the network."""
    return f"{user.title()} <{user}@example.com>"


class LookUp(Processor):
    def init(self, context: ProcessorContext) -> None:
        super().init(context)
        self.known: KeyValueStore = context.store("known-users")

    def process(self, record: Record[str, str]) -> None:
        address = self.known.get(record.key)
        how = "from the store"
        if address is None:
            address, how = slow_directory(record.key), "looked up"
            self.known.put(record.key, address)
        self.context.forward(record.with_value(f"{address}, {how}"))


def build() -> Topology:
    builder = StreamsBuilder()
    builder.add_state_store(stores.key_value(stores.lru("known-users", 2)))
    builder.stream("requests").process(LookUp, stores=["known-users"]).to("answers")
    return builder.build()


if __name__ == "__main__":
    with TopologyTestDriver(build()) as driver:
        requests = driver.create_input_topic("requests")
        for user in ("anna", "ben", "anna", "cleo", "ben"):  # cleo pushes out ben, whom nobody asked for since
            requests.pipe_input(user, "who?")
        for record in driver.create_output_topic("answers"):
            print(record.value)
