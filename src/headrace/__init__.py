"""Headrace: the Kafka Streams programming model and the ksqlDB dialect for Python.

Write a topology with ``StreamsBuilder`` (or ``Topology`` by hand), look at it with ``describe()``, test it with
``TopologyTestDriver``, run it with ``Streams``. ``docs/architecture.md`` draws how the parts fit together.
"""

from __future__ import annotations

import importlib
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from headrace import errors, query, timestamps
    from headrace import serde as serdes
    from headrace.client.topics import Topics, topics
    from headrace.database import Database
    from headrace.dsl.branched import BranchedKStream
    from headrace.dsl.builder import StreamsBuilder
    from headrace.dsl.cogrouped import CogroupedKStream
    from headrace.dsl.global_table import GlobalKTable
    from headrace.dsl.grouped_stream import KGroupedStream
    from headrace.dsl.grouped_table import KGroupedTable
    from headrace.dsl.kstream import KStream
    from headrace.dsl.ktable import KTable
    from headrace.dsl.windowed import SessionWindowedKStream, TimeWindowedKStream
    from headrace.lifecycle.failures import StreamThreadExceptionResponse
    from headrace.lifecycle.states import StreamsState
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
    from headrace.state import stores
    from headrace.state.contracts import KeyValueStore, SessionStore, VersionedKeyValueStore, WindowStore
    from headrace.state.query import FailureReason
    from headrace.streams import Streams
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
    "BranchedKStream",
    "BufferConfig",
    "CogroupedKStream",
    "ConsumedRecord",
    "Database",
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
    "SessionWindowedKStream",
    "SessionWindows",
    "SlidingWindows",
    "StreamThreadExceptionResponse",
    "Streams",
    "StreamsBuilder",
    "StreamsState",
    "Suppressed",
    "TimeWindowedKStream",
    "TimeWindows",
    "Topics",
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
    "topics",
]

# Loaded when first asked for: whoever needs one of these does not wait for all.
_MODULES = {
    "errors": "errors",
    "handlers": "task.handlers",
    "query": "query",
    "serdes": "serde",
    "stores": "state.stores",
    "timestamps": "timestamps",
}
_HOMES = {
    "client.topics": ("Topics", "topics"),
    "database": ("Database",),
    "dsl.branched": ("BranchedKStream",),
    "dsl.builder": ("StreamsBuilder",),
    "dsl.cogrouped": ("CogroupedKStream",),
    "dsl.global_table": ("GlobalKTable",),
    "dsl.grouped_stream": ("KGroupedStream",),
    "dsl.grouped_table": ("KGroupedTable",),
    "dsl.kstream": ("KStream",),
    "dsl.ktable": ("KTable",),
    "dsl.windowed": ("SessionWindowedKStream", "TimeWindowedKStream"),
    "lifecycle.failures": ("StreamThreadExceptionResponse",),
    "lifecycle.states": ("StreamsState",),
    "processors.api": ("FixedKeyProcessor", "Processor", "ProcessorContext", "PunctuationType"),
    "records": (
        "ConsumedRecord",
        "FixedKeyRecord",
        "Headers",
        "Record",
        "RecordMetadata",
        "ValueAndTimestamp",
        "VersionedRecord",
    ),
    "state.contracts": ("KeyValueStore", "SessionStore", "VersionedKeyValueStore", "WindowStore"),
    "state.query": ("FailureReason",),
    "streams": ("Streams",),
    "testing.driver": ("TopologyTestDriver",),
    "topology": ("Topology",),
    "windows": (
        "BufferConfig",
        "EmitStrategy",
        "JoinWindows",
        "SessionWindows",
        "SlidingWindows",
        "Suppressed",
        "TimeWindows",
        "UnlimitedWindows",
        "Window",
        "Windowed",
    ),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}


if not TYPE_CHECKING:  # Type checkers know the names from above, and should miss those that are not there.

    def __getattr__(name: str) -> Any:
        if name in _MODULES:
            found: Any = importlib.import_module(f"{__name__}.{_MODULES[name]}")
        elif name in _HOME_OF:
            found = getattr(importlib.import_module(f"{__name__}.{_HOME_OF[name]}"), name)
        else:
            from headrace.guesses import missing_name  # noqa: PLC0415

            raise missing_name(__name__, name, __all__, sys._getframe(1))
        globals()[name] = found
        return found


def __dir__() -> list[str]:
    return __all__
