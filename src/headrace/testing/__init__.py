"""Testing topologies without Spark and without a broker: the driver, its topics, a context for single processors.

Importing this package loads nothing yet: pytest does so in every project where Headrace is installed.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from headrace.testing.driver import TopologyTestDriver
    from headrace.testing.mock_context import CapturedForward, CapturedPunctuator, MockProcessorContext
    from headrace.testing.record import TestRecord
    from headrace.testing.topics import TestInputTopic, TestOutputTopic

__all__ = [
    "CapturedForward",
    "CapturedPunctuator",
    "MockProcessorContext",
    "TestInputTopic",
    "TestOutputTopic",
    "TestRecord",
    "TopologyTestDriver",
]

_HOMES = {
    "CapturedForward": "mock_context",
    "CapturedPunctuator": "mock_context",
    "MockProcessorContext": "mock_context",
    "TestInputTopic": "topics",
    "TestOutputTopic": "topics",
    "TestRecord": "record",
    "TopologyTestDriver": "driver",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        message = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(message)
    return getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return __all__
