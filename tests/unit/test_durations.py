"""Durations and timeouts as users write them."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from headrace import Streams, StreamsBuilder, topics
from headrace.durations import timeout_seconds
from headrace.errors import ArgumentError


@pytest.mark.parametrize(
    ("timeout", "seconds"),
    [(None, None), (0, 0.0), (1000, 1.0), (120_000, 120.0), (timedelta(milliseconds=5), 0.005)],
)
def test_a_timeout_is_a_timedelta_or_whole_milliseconds(timeout: timedelta | int | None, seconds: float | None) -> None:
    assert timeout_seconds(timeout) == seconds


@pytest.mark.parametrize("timeout", [1, 120, 999])
def test_a_number_that_looks_like_seconds_is_refused_and_not_misread(timeout: int) -> None:
    with pytest.raises(ArgumentError) as caught:
        timeout_seconds(timeout)
    assert caught.value.message == f"timeout={timeout} would be {timeout} milliseconds, and looks like seconds"
    assert f"timedelta(seconds={timeout})" in str(caught.value.hint)


@pytest.mark.parametrize("timeout", [-1, timedelta(seconds=-1), 1.5, True, "5s"])
def test_what_is_no_timeout_is_refused(timeout: object) -> None:
    with pytest.raises(ArgumentError):
        timeout_seconds(timeout)  # type: ignore[arg-type]


def test_every_wait_of_the_public_classes_keeps_to_that_rule(tmp_path: Path) -> None:
    builder = StreamsBuilder()
    builder.stream("in").to("out")
    app = Streams(builder.build(), {"application.id": "a"})
    with topics(f"embedded:{tmp_path}") as client:
        client.create("in")
        for wait in (app.close, app.wait, lambda timeout: client.consume("in", timeout=timeout)):
            with pytest.raises(ArgumentError, match="looks like seconds"):
                wait(120)
