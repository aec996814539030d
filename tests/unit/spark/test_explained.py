"""What Spark says of a failure, cut down to what helps."""

from __future__ import annotations

from headrace.spark.jvm import explained


def test_what_ended_the_tasks_is_told_however_far_down_spark_says_it() -> None:
    frames = [f'  File "worker.py", line {number}, in process' for number in range(40)]
    cause = "headrace.errors.TaskMigratedError: the process of the tasks ended: a function ended it"
    error = explained(RuntimeError("\n".join(["Job aborted", *frames, cause, "\tat java.base/Thread.run"])), "no batch")
    assert error.message == "no batch"
    assert error.detail is not None and cause in error.detail
    assert "Thread.run" not in error.detail and error.detail.count("Job aborted") == 1
