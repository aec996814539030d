"""The broker of a benchmark ends with it, however the benchmark ends."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import Any

import pytest

from bench.kafka import __main__ as bench


class Server:
    """Notes what becomes of it."""

    def __init__(self, events: list[str], interrupted: bool) -> None:
        self._events, self._interrupted, self.address = events, interrupted, "nowhere:1"

    def start(self, note: Any) -> None:
        self._events.append("start")
        if self._interrupted:
            signal.raise_signal(signal.SIGTERM)

    def stop(self) -> None:
        self._events.append("stop")


@pytest.mark.parametrize("interrupted", [True, False], ids=["while it starts", "while it is used"])
def test_a_benchmark_that_is_ended_ends_its_broker(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, interrupted: bool
) -> None:
    events: list[str] = []
    monkeypatch.setattr(bench, "KafkaServer", lambda *_, **__: Server(events, interrupted))
    before = signal.signal(signal.SIGTERM, bench._end)
    try:
        with pytest.raises(SystemExit) as ended, bench.broker(tmp_path) as address:
            assert address == "nowhere:1"
            signal.raise_signal(signal.SIGTERM)
    finally:
        signal.signal(signal.SIGTERM, before)
    assert ended.value.code == 128 + signal.SIGTERM
    assert events == ["start", "stop"]
