"""Which engine an application runs on."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from headrace import Streams, StreamsBuilder
from headrace.errors import ArgumentError


def copying(**options: Any) -> Streams:
    builder = StreamsBuilder()
    builder.stream("in").to("out")
    return Streams(builder.build(), {"application.id": "app"}, **options)


def test_an_engine_that_is_unknown_is_refused_where_it_is_named() -> None:
    with pytest.raises(ArgumentError, match="there is no engine called 'locl': it is 'spark' or 'local'") as caught:
        copying(engine="locl")
    assert caught.value.hint == "Did you mean 'local'?"
    assert caught.value.at is not None
    assert caught.value.at.startswith(str(Path(__file__)))


def test_a_session_is_of_no_use_to_the_local_engine() -> None:
    with pytest.raises(ArgumentError, match="the local engine uses no Spark session"):
        copying(engine="local", spark=SimpleNamespace(sparkContext=None))
