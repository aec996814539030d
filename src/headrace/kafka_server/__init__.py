"""A real Kafka on this machine, for developers and tests: its jars are fetched once, its broker listens on loopback.

Nothing but Java and PySpark is needed: PySpark ships Apache Ivy, which fetches the jars from Maven Central.
"""

from __future__ import annotations

from headrace.kafka_server.jars import KAFKA_JARS, KAFKA_VERSION, JarSet, fetched
from headrace.kafka_server.server import KafkaServer, Node, free_port

__all__ = ["KAFKA_JARS", "KAFKA_VERSION", "JarSet", "KafkaServer", "Node", "fetched", "free_port"]
