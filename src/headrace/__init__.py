"""Headrace: the Kafka Streams programming model and the ksqlDB dialect for Python.

Write a topology with ``StreamsBuilder`` (or ``Topology`` by hand), look at it with ``describe()``, test it with
``TopologyTestDriver``. ``docs/architecture.md`` draws how the parts fit together.
"""

from headrace import errors, timestamps
from headrace import serde as serdes
from headrace.dsl.builder import StreamsBuilder
from headrace.dsl.cogrouped import CogroupedKStream
from headrace.dsl.global_table import GlobalKTable
from headrace.dsl.grouped_stream import KGroupedStream
from headrace.dsl.grouped_table import KGroupedTable
from headrace.dsl.kstream import KStream
from headrace.dsl.ktable import KTable
from headrace.processors.api import FixedKeyProcessor, Processor, ProcessorContext, PunctuationType
from headrace.records import (
    ConsumedRecord,
    FixedKeyRecord,
    Headers,
    Record,
    RecordMetadata,
    ValueAndTimestamp,
    VersionedRecord,
)
from headrace.state import query, stores
from headrace.state.contracts import KeyValueStore, SessionStore, VersionedKeyValueStore, WindowStore
from headrace.state.query import FailureReason
from headrace.task import handlers
from headrace.testing import TopologyTestDriver
from headrace.topology import Topology
from headrace.windows import (
    BufferConfig,
    EmitStrategy,
    JoinWindows,
    SessionWindows,
    SlidingWindows,
    Suppressed,
    TimeWindows,
    UnlimitedWindows,
    Window,
    Windowed,
)

__version__ = "0.1.0.dev0"

__all__ = [
    "BufferConfig",
    "CogroupedKStream",
    "ConsumedRecord",
    "EmitStrategy",
    "FailureReason",
    "FixedKeyProcessor",
    "FixedKeyRecord",
    "GlobalKTable",
    "Headers",
    "JoinWindows",
    "KGroupedStream",
    "KGroupedTable",
    "KStream",
    "KTable",
    "KeyValueStore",
    "Processor",
    "ProcessorContext",
    "PunctuationType",
    "Record",
    "RecordMetadata",
    "SessionStore",
    "SessionWindows",
    "SlidingWindows",
    "StreamsBuilder",
    "Suppressed",
    "TimeWindows",
    "Topology",
    "TopologyTestDriver",
    "UnlimitedWindows",
    "ValueAndTimestamp",
    "VersionedKeyValueStore",
    "VersionedRecord",
    "Window",
    "WindowStore",
    "Windowed",
    "errors",
    "handlers",
    "query",
    "serdes",
    "stores",
    "timestamps",
]
