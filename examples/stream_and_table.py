"""Streams and tables are two views of one thing: a table is what a stream of changes adds up to.

The stream shows every record. The table holds the latest value of each key; None deletes. Its changes, written to a
compacted topic, are the table itself: whoever reads the topic from the start has it.
"""

from headrace import StreamsBuilder, Topology, TopologyTestDriver, serdes


def build() -> Topology:
    builder = StreamsBuilder()
    profiles = builder.stream("profile-updates")
    profiles.group_by_key().count("updates").to_stream().to("updates-per-user", value_serde=serdes.long())
    profiles.to_table(store="profiles").to_stream().to("latest-profiles")
    return builder.build()


if __name__ == "__main__":
    with TopologyTestDriver(build()) as driver:
        updates = driver.create_input_topic("profile-updates")
        updates.pipe_key_value_list(
            [("u1", "Anna, 30"), ("u2", "Ben, 25"), ("u1", "Anna, 31"), ("u3", "Cleo, 28"), ("u3", None)]
        )
        counted = driver.create_output_topic("updates-per-user", value_serde=serdes.long()).read_key_values_to_map()
        print("stream, counted:", counted)
        with driver.key_value_store("profiles").all() as profiles:
            print("table:", dict(profiles))
        print("changes:", driver.create_output_topic("latest-profiles").read_key_values_to_list())
