"""A cached store without the changes that its cache still holds back: as those who follow its changes know it.

A join of tables computes the change of its result from a change of one side and the row of the other side. It hears of
rows when they are flushed, so that is how the other row has to be read. A later one in the cache will be heard of in
its turn, or never, if it is deleted before. Only where one record has changed both sides their new rows meet at once,
as in Kafka Streams.
"""

from __future__ import annotations

from typing import Any

from headrace.state.layers.caching import Caching


class Flushed:
    """Reads single rows without what the cache holds back. That counts as their use, like any reading."""

    def __init__(self, cached: Caching[Any]) -> None:
        self.get = cached.get_flushed
