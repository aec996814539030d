"""The stores of a task: what fails in one of them, and what only passes through."""

from __future__ import annotations

from typing import Any

import pytest

from headrace.errors import BrokerUnreachableError, FencedError, StoreError
from headrace.task.state_registry import StateRegistry


class Store:
    """Writes its changelog when it is flushed."""

    name = "counts"

    def __init__(self, error: Exception) -> None:
        self._error = error

    def flush(self) -> None:
        raise self._error


def registry(error: Exception) -> StateRegistry:
    found, store = StateRegistry(), Store(error)
    given: Any = store
    found.register(given, None)
    return found


@pytest.mark.parametrize("error", [BrokerUnreachableError("no answer"), FencedError("taken over")])
def test_a_broker_that_fails_while_a_cache_is_written_is_no_failure_of_the_store(error: Exception) -> None:
    with pytest.raises(type(error)) as raised:
        registry(error).flush_caches()
    assert raised.value is error


def test_anything_else_is_one() -> None:
    with pytest.raises(StoreError, match="the disk") as raised:
        registry(OSError("the disk")).flush_caches()
    assert raised.value.detail == "could not flush the cache of the store 'counts'"
