"""What Spark says of a failure, cut down to what helps."""

from __future__ import annotations

from headrace.errors import TaskMigratedError
from headrace.spark.jvm import explained

FRAMES = [f'  File "worker.py", line {number}, in process' for number in range(40)]


def test_what_ended_the_tasks_is_the_headline_however_far_down_spark_says_it() -> None:
    cause = TaskMigratedError("a function crashed the process", hint="Mend it.", at="app.py:3, task 0_0, batch 7")
    quoted = f"headrace.errors.TaskMigratedError: {cause}"
    error = explained(RuntimeError("\n".join(["Job aborted", *FRAMES, quoted, "", "\tat java.base/Thread.run"])), "no")
    assert str(error) == str(cause)


def test_without_an_error_of_ours_it_is_what_spark_said_and_its_causes() -> None:
    said = ["Job aborted", *FRAMES, "Caused by: java.io.IOException: no space", "\tat java.base/Thread.run"]
    error = explained(RuntimeError("\n".join(said)), "no batch")
    assert error.message == "no batch"
    assert error.detail is not None and error.detail.count("Job aborted") == 1
    assert error.detail.endswith("Caused by: java.io.IOException: no space")
