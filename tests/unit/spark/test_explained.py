"""What Spark says of a failure, cut down to what helps."""

from __future__ import annotations

import pytest

from headrace.spark.jvm import explained


def test_what_ended_the_tasks_is_told_however_far_down_spark_says_it() -> None:
    frames = [f'  File "worker.py", line {number}, in process' for number in range(40)]
    cause = "headrace.errors.TaskMigratedError: the process of the tasks ended: a function ended it"
    error = explained(RuntimeError("\n".join(["Job aborted", *frames, cause, "\tat java.base/Thread.run"])), "no batch")
    assert error.message == "no batch"
    assert error.detail is not None and cause in error.detail
    assert "Thread.run" not in error.detail and error.detail.count("Job aborted") == 1


class Failed(RuntimeError):
    """As Spark's client makes them: the stack trace is beside the message."""

    def __init__(self, message: str, trace: str) -> None:
        super().__init__(message)
        self._stackTrace = trace


@pytest.mark.parametrize(
    ("cause", "is_told"),
    [
        ("java.io.EOFException\n\tat java.io.DataInputStream.readInt", True),
        ("java.net.SocketException: Broken pipe", True),
        ("java.io.IOException: Connection reset", True),
        ("org.apache.spark.SparkException: [PYTHON_STREAMING_DATA_SOURCE_RUNTIME_ERROR]", False),
    ],
)
def test_the_end_of_the_process_that_asks_when_a_batch_is_due_is_told(cause: str, is_told: bool) -> None:
    frame = "\tat org.apache.spark.sql.execution.python.streaming.PythonStreamingSourceRunner.latestOffset"
    error = explained(Failed("[STREAM_FAILED] Query terminated with exception: null", f"{cause}\n{frame}"), "no batch")
    assert ("python_streaming_source_runner" in str(error.detail)) is is_told
    assert ("Start the application again" in str(error.hint)) is is_told
    elsewhere = explained(Failed("[STREAM_FAILED]", f"{cause}\n\tat org.apache.spark.Other"), "no batch")
    assert elsewhere.message == "no batch"
