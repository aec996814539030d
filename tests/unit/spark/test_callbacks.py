"""py4j can only be called back where its socket is one of the first 1,024 files."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from pyspark import SparkContext

from headrace.errors import StreamsError
from headrace.spark.jvm import check_callbacks


@pytest.mark.parametrize(("number", "is_fine"), [(1023, True), (1024, False)])
def test_a_socket_that_select_cannot_see_is_an_error_and_not_a_hang(
    monkeypatch: pytest.MonkeyPatch, number: int, is_fine: bool
) -> None:
    server = SimpleNamespace(server_socket=SimpleNamespace(fileno=lambda: number))
    monkeypatch.setattr(SparkContext, "_gateway", SimpleNamespace(_callback_server=server))
    if is_fine:
        check_callbacks()
        return
    with pytest.raises(StreamsError, match="it has more than 1,024 files open"):
        check_callbacks()
