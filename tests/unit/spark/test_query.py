"""The streaming query looks when somebody waits, and tells why it ended, whatever is raised where it is watched."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import nullcontext
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


Made = Callable[..., BatchQuery]


@pytest.fixture
def made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Made:
    """Makes a query of a Spark and a runner that are given."""
    nothing = SimpleNamespace(close=lambda: None)
    monkeypatch.setattr(query, "sign_on_as_driver", lambda directory: nothing)
    monkeypatch.setattr(query, "end_hosts", lambda run: None)

    class Config(dict[str, Any]):
        application_dir = tmp_path

    def make(spark: Any, tell: Callable[[BaseException], None], *, poll_ms: int = 5, **runner: Any) -> BatchQuery:
        monkeypatch.setattr(BatchQuery, "_start", lambda self, name: spark)
        application: Any = SimpleNamespace(id="app", config=Config({"poll.ms": poll_ms}))
        job: Any = SimpleNamespace(run="run", close=lambda: None)
        batches: Any = SimpleNamespace(publish=lambda: None, **runner)
        return BatchQuery(application, job, batches, tell)

    return make


@pytest.mark.parametrize("stop", [lambda: None, torn])
def test_what_ends_the_watcher_is_told(stop: Any, made: Made) -> None:
    failures: list[BaseException] = []
    told = threading.Event()

    def tell(error: BaseException) -> None:
        failures.append(error)
        told.set()

    ended = made(SimpleNamespace(awaitTermination=torn, stop=stop), tell)
    assert told.wait(20)
    ended._watcher.join(20)
    assert [type(error) for error in failures] == [Torn]
    assert not ended.is_active


def test_whoever_waits_until_nothing_is_due_does_not_wait_for_the_next_poll(made: Made) -> None:
    is_stopped, has_looked = threading.Event(), threading.Event()

    def plan() -> bool:
        has_looked.set()
        return False

    spark = SimpleNamespace(awaitTermination=is_stopped.wait, stop=is_stopped.set)
    running = made(spark, lambda error: None, poll_ms=600_000, plan=plan, waiting=nullcontext)
    rounds = threading.Thread(target=running._on_round, args=(None, 0))
    rounds.start()
    assert has_looked.wait(20)
    waiting = threading.Thread(target=running.process_all)
    waiting.start()
    waiting.join(20)
    is_answered = not waiting.is_alive()
    assert running.stop(20)
    rounds.join(20)
    assert is_answered
