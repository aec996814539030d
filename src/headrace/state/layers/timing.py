"""Takes the time of what is done with a store."""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter_ns
from typing import Any

from headrace.state.contracts import StoreIterator


def measured(method: Callable[..., Any], sensor: Any) -> Callable[..., Any]:
    """The method, with the time of every call recorded; that of an iterator goes on until it is closed."""

    def timed(*arguments: Any, **named: Any) -> Any:
        started = perf_counter_ns()
        result = method(*arguments, **named)
        if isinstance(result, StoreIterator):
            return _timed_iterator(result, sensor, started)
        sensor.record(perf_counter_ns() - started)
        return result

    return timed


def _timed_iterator(entries: StoreIterator[Any, Any], sensor: Any, started: int) -> StoreIterator[Any, Any]:
    def close() -> None:
        entries.close()
        sensor.record(perf_counter_ns() - started)

    return StoreIterator(entries, close)
