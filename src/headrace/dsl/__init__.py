"""The Kafka Streams DSL: each method adds a node to the logical graph and returns a view of the result."""
