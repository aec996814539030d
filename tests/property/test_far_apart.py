"""One wrong clock stops no operator: whatever lies between two times, the work is that of the records."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace import StreamsBuilder
from tests.property.harness import Input, running
from tests.property.operators import PARTS, Part, Sources
from tests.time_limit import time_limit

TIMES = st.sampled_from([0, 1_780_000_000_000, 4_102_444_800_000, 2**62])


@pytest.mark.parametrize("part", PARTS, ids=lambda part: part.__name__)
@settings(max_examples=6, deadline=None)
@given(data=st.data(), store=st.sampled_from(["in_memory", "rocks_db"]), cache_bytes=st.sampled_from([0, 10 << 20]))
def test_every_operator_takes_times_far_apart(part: Part, data: st.DataObject, store: str, cache_bytes: int) -> None:
    def program(builder: StreamsBuilder) -> None:
        part(Sources(builder, {}))

    settings = {"dsl.store.suppliers.class": store}
    with running(program, cache_bytes=cache_bytes, settings=settings) as task, time_limit():
        record: Any = st.builds(
            Input,
            topic=st.sampled_from([topic for topic in task.topics if topic in ("a", "b", "t", "u", "v")]),
            key=st.sampled_from("ab"),
            value=st.sampled_from("xyz"),
            timestamp=st.builds(int.__add__, TIMES, st.integers(0, 9)),
        )
        for arriving in data.draw(st.lists(record, min_size=3, max_size=12)):
            task.feed(arriving)
        task.commit()
