"""The streaming query tells why it ended, whatever is raised where it is watched and where it is stopped."""

from __future__ import annotations

import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NoReturn

import pytest

from headrace.spark import query
from headrace.spark.query import BatchQuery

# What a stop raises beyond errors has nobody left to hear of it but Python's own hook.
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")


class Torn(BaseException):
    """No Exception."""


def torn(*_: object) -> NoReturn:
    raise Torn


@pytest.mark.parametrize("stop", [lambda: None, torn])
def test_what_ends_the_watcher_is_told(stop: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spark = SimpleNamespace(awaitTermination=torn, stop=stop)
    nothing = SimpleNamespace(close=lambda: None)
    monkeypatch.setattr(BatchQuery, "_start", lambda self, name: spark)
    monkeypatch.setattr(query, "sign_on_as_driver", lambda directory: nothing)
    monkeypatch.setattr(query, "end_hosts", lambda run: None)

    class Config(dict[str, Any]):
        application_dir = tmp_path

    application: Any = SimpleNamespace(id="app", config=Config({"poll.ms": 5}))
    job: Any = SimpleNamespace(run="run", close=lambda: None)
    runner: Any = SimpleNamespace(publish=lambda: None)
    failures: list[BaseException] = []
    told = threading.Event()

    def tell(error: BaseException) -> None:
        failures.append(error)
        told.set()

    made = BatchQuery(application, job, runner, tell)
    assert told.wait(20)
    made._watcher.join(20)
    assert [type(error) for error in failures] == [Torn]
    assert not made.is_active
