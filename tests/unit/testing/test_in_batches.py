"""The test driver can send records through the loops that production runs."""

from __future__ import annotations

from typing import Any

import pytest

from headrace import StreamsBuilder, TopologyTestDriver, serdes
from headrace.processors.count_batches import CountBatches
from headrace.task.processing import Processing


@pytest.mark.parametrize("in_batches", [False, True])
def test_results_are_the_same_and_the_ways_differ(in_batches: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    ways: list[str] = []

    def noted(owner: type, name: str) -> None:
        method: Any = getattr(owner, name)

        def call(self: Any, *arguments: Any) -> Any:
            ways.append(name)
            return method(self, *arguments)

        monkeypatch.setattr(owner, name, call)

    noted(Processing, "_process_queue")
    noted(CountBatches, "take")
    builder = StreamsBuilder()
    builder.stream("in").group_by(lambda key, word: word).count("counts").to_stream().to("out")
    with TopologyTestDriver(builder.build(), {"application.id": "app"}, in_batches=in_batches) as driver:
        words = driver.create_input_topic("in")
        for word in ("b", "a", "b"):
            words.pipe_input(None, word)
        out = driver.create_output_topic("out", value_serde=serdes.long())
        assert out.read_key_values_to_list() == [("b", 1), ("a", 1), ("b", 2)]
    assert ways == (["_process_queue", "take"] * 3 if in_batches else [])
