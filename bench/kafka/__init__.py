"""Kafka to Kafka: Headrace beside Kafka Streams on the JVM, and Quix Streams, on one broker."""
