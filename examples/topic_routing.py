"""Topics chosen record by record: `to` takes a function `(key, value, record_context)` that names the topic."""

from headrace import StreamsBuilder, Topology, TopologyTestDriver, serdes

JSON = serdes.json()


def build() -> Topology:
    builder = StreamsBuilder()
    builder.stream("events", value_serde=JSON).to(lambda user, event, context: f"events-{event['country']}")
    return builder.build()


if __name__ == "__main__":
    with TopologyTestDriver(build()) as driver:
        events = driver.create_input_topic("events", value_serde=JSON)
        events.pipe_input("anna", {"country": "no", "page": "fjords"})
        events.pipe_input("ben", {"country": "at", "page": "alps"})
        for topic in sorted(driver.produced_topic_names):
            for record in driver.create_output_topic(topic, value_serde=JSON):
                print(f"{topic}: {record.key} saw {record.value['page']}")
