"""State that survives a crash: the changelog of a store is replayed into a new one, and counting goes on."""

from headrace import StreamsBuilder, Topology, TopologyTestDriver, serdes

CONFIG = {"application.id": "visits"}


def build() -> Topology:
    builder = StreamsBuilder()
    builder.stream("visits").group_by_key().count("visit-counts").to_stream().to("totals", value_serde=serdes.long())
    return builder.build()


if __name__ == "__main__":
    with TopologyTestDriver(build(), CONFIG) as before:
        visits = before.create_input_topic("visits")
        for user in ("anna", "ben", "anna"):
            visits.pipe_input(user, "hello")
        changelog = before.changelog("visit-counts")
        print("changelog:", [(key.decode(), int.from_bytes(value or b"", "big")) for key, value, *_ in changelog])

    with TopologyTestDriver(build(), CONFIG) as after:
        print("restored:", after.restore("visit-counts", changelog), "records")
        after.create_input_topic("visits").pipe_input("anna", "hello again")
        print("totals:", after.create_output_topic("totals", value_serde=serdes.long()).read_key_values_to_list())
