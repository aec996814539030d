"""What a program became: its nodes, sub-topologies and internal topics, before anything runs.

`describe()` speaks to the letter as Kafka Streams does. There is also Mermaid for documents, Graphviz, JSON, and a
drawing in notebooks.
"""

from headrace import StreamsBuilder, Topology


def build() -> Topology:
    builder = StreamsBuilder()
    (
        builder.stream("transactions", name="read")
        .map_values(str.strip, name="clean")
        .group_by(lambda key, value: value[:2], name="by-country")
        .count("transactions-per-country", name="count")
        .to_stream(name="changes")
        .to("totals", name="write")
    )
    return builder.build()


if __name__ == "__main__":
    topology = build()
    print(topology.describe())
    print(topology.to_mermaid())
