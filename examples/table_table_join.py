"""A join of two tables is a table: each change on either side changes the joined row, a deletion deletes it."""

from headrace import StreamsBuilder, Topology, TopologyTestDriver


def build() -> Topology:
    builder = StreamsBuilder()
    names, cities = builder.table("names"), builder.table("cities")
    names.join(cities, lambda name, city: f"{name} lives in {city}", store="people").to_stream().to("people")
    return builder.build()


if __name__ == "__main__":
    with TopologyTestDriver(build()) as driver:
        names, cities = driver.create_input_topic("names"), driver.create_input_topic("cities")
        names.pipe_input("u1", "Anna")  # no city yet, no row yet
        cities.pipe_input("u1", "Oslo")
        cities.pipe_input("u1", "Bergen")
        names.pipe_input("u2", "Ben")
        cities.pipe_input("u1", None)
        for record in driver.create_output_topic("people"):
            print(f"{record.key}: {record.value or 'deleted'}")
