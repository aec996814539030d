from __future__ import annotations

import pickle

import pytest

from headrace.sql.processing_log import Failure, ProcessingLog, cause_of


def test_a_failure_says_where_what_and_why() -> None:
    found: list[Failure] = []
    ProcessingLog(found.append).logger("CSAS_A_1.Project").failed("(A / 0)", ValueError("no"), [1, None])
    assert found == [Failure("CSAS_A_1.Project", "(A / 0)", "ValueError: no", (1, None))]
    assert str(found[0]) == "CSAS_A_1.Project: (A / 0): ValueError: no"


def test_failures_are_warnings_of_logging_unless_said_otherwise(caplog: pytest.LogCaptureFixture) -> None:
    log = pickle.loads(pickle.dumps(ProcessingLog().logger("Q.Project")))
    log.failed("A", KeyError())
    assert [record.getMessage() for record in caplog.records] == ["Q.Project: A: KeyError"]
    assert caplog.records[0].name == "headrace.sql.processing"


def test_a_function_of_a_user_that_calls_itself_for_ever_is_told_in_pythons_words() -> None:
    def endless() -> None:
        endless()

    with pytest.raises(RecursionError) as raised:
        endless()
    assert cause_of(raised.value).startswith("RecursionError: maximum recursion depth")


def test_a_cause_that_quotes_a_long_value_is_cut() -> None:
    assert len(cause_of(ValueError("x" * 1_000_000))) < 2_000
