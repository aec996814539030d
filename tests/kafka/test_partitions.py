"""Keys go where Kafka's own producer sends them, whatever they are."""

from __future__ import annotations

from contextlib import closing
from typing import Any
from uuid import UUID

from headrace import serdes
from headrace.broker import open_broker
from headrace.partitioning import default_partition
from tests.kafka.java_programs import java_says


def test_keys_land_in_the_partition_that_kafkas_producer_chooses(kafka_address: str, kafka_name: str) -> None:
    kinds: dict[str, tuple[Any, Any]] = {
        "string": (serdes.string(), str),
        "integer": (serdes.integer(), int),
        "long": (serdes.long(), int),
        "short": (serdes.short(), int),
        "float": (serdes.float(), float),
        "double": (serdes.double(), float),
        "boolean": (serdes.boolean(), lambda text: text == "true"),
        "uuid": (serdes.uuid(), UUID),
        "bytes": (serdes.bytes(), bytes.fromhex),
    }
    with closing(open_broker(kafka_address)) as broker:
        broker.create_topic(kafka_name, 7)
    lines = [line.split("\t") for line in java_says("Partitions.java", kafka_address, kafka_name).splitlines()]

    assert {kind for kind, *_ in lines} == kinds.keys()
    assert len(lines) == 400
    for kind, text, data, partition in lines:
        serde, parse = kinds[kind]
        key = serde.serialize(kafka_name, parse(text))
        assert (key.hex(), default_partition(key, 7)) == (data, int(partition)), (kind, text)
