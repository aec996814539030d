"""What the coordinator does when the broker does not say what became of a batch."""

from __future__ import annotations

from pathlib import Path

import pytest

from headrace.batch import coordinator
from headrace.batch.local import LocalEngine
from headrace.broker.embedded import EmbeddedBroker
from headrace.broker.port import Decision, Outcome
from headrace.errors import NotDecidedError, OutcomeUnknownError
from tests.integration.batch.programs import append, final_counts, settings, word_count


class Forgetful(EmbeddedBroker):
    """Loses answers: of each decision in turn, whether it is made, what is answered, and what the questions get."""

    def __init__(self, directory: Path) -> None:
        super().__init__(directory, fsync=False)
        self.script: list[tuple[bool, Outcome]] = []
        self.unanswered = 0
        self.asked = 0

    def decide(self, decision: Decision) -> Outcome:
        is_made, answer = self.script.pop(0) if self.script else (True, Outcome.DONE)
        if is_made:
            super().decide(decision)
        return answer

    def outcome(self, decision: Decision) -> Outcome:
        self.asked += 1
        return Outcome.UNKNOWN if self.asked <= self.unanswered else super().outcome(decision)


@pytest.fixture
def broker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Forgetful:
    monkeypatch.setattr(coordinator, "ASK_SECONDS", (0.0, 0.0, 0.0))
    made = Forgetful(tmp_path / "broker")
    made.create_topic("lines")
    append(made, "lines", [(None, "a b a")])
    return made


@pytest.mark.parametrize("is_made", [True, False])
def test_a_lost_answer_is_asked_for(tmp_path: Path, broker: Forgetful, is_made: bool) -> None:
    broker.script, broker.unanswered = [(is_made, Outcome.UNKNOWN)], 2
    with LocalEngine(word_count(), settings(tmp_path), broker) as engine:
        assert engine.run_until_idle() == 1
    assert broker.asked == 3
    assert final_counts(broker) == {"a": 2, "b": 1}


@pytest.mark.parametrize("is_made", [True, False])
def test_a_batch_in_doubt_is_settled_before_the_next_one_is_planned(
    tmp_path: Path, broker: Forgetful, is_made: bool
) -> None:
    broker.script, broker.unanswered = [(is_made, Outcome.UNKNOWN)], 3
    with LocalEngine(word_count(), settings(tmp_path), broker) as engine:
        with pytest.raises(OutcomeUnknownError, match="nobody knows whether batch 0 of app counts"):
            engine.run_batch()
        append(broker, "lines", [(None, "b")])
        engine.run_until_idle()
    assert final_counts(broker) == {"a": 2, "b": 2}


def test_a_batch_that_the_broker_did_not_take_runs_again(
    tmp_path: Path, broker: Forgetful, caplog: pytest.LogCaptureFixture
) -> None:
    broker.script = [(False, Outcome.NOT_DONE), (False, Outcome.NOT_DONE)]
    with LocalEngine(word_count(), settings(tmp_path), broker) as engine:
        assert engine.run_until_idle() == 1
    assert final_counts(broker) == {"a": 2, "b": 1}
    assert caplog.messages == ["running batch 0 again: the broker did not take batch 0 of app"] * 2


def test_a_broker_that_takes_nothing_is_an_error(tmp_path: Path, broker: Forgetful) -> None:
    broker.script = [(False, Outcome.NOT_DONE)] * 3
    with LocalEngine(word_count(), settings(tmp_path), broker) as engine:
        with pytest.raises(NotDecidedError, match="the broker did not take batch 0 of app"):
            engine.run_until_idle()
        engine.run_until_idle()
    assert final_counts(broker) == {"a": 2, "b": 1}
