"""The examples that run on Spark, in the session of the tests."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from examples.live import counts, dataframe, failures
from headrace import StreamsState
from headrace.errors import ProcessingError

LIVE = Path(counts.__file__).parent


def test_counts_can_be_asked_and_go_on_after_a_restart(tmp_path: Path, spark: Any) -> None:
    views = [("anna", "home"), ("bert", "home"), ("anna", "help")]

    assert counts.run(tmp_path, views, spark) == {"anna": 2, "bert": 1}
    assert counts.run(tmp_path, [("anna", "home")], spark) == {"anna": 3, "bert": 1}


def test_a_store_is_a_data_frame_of_the_session_that_runs_the_application(tmp_path: Path, spark: Any) -> None:
    assert dataframe.best_sellers(tmp_path, spark) == [("tea", "A1", 8), ("cups", "B2", 2)]


def test_a_failure_is_heard_of_once_and_ends_the_application(tmp_path: Path, spark: Any) -> None:
    state, heard = failures.run(tmp_path, spark)

    assert state is StreamsState.ERROR
    assert [type(error) for error in heard] == [ProcessingError]
    assert "numbers-0@1" in str(heard[0])


def test_every_live_example_is_in_the_readme() -> None:
    readme = (LIVE.parent / "README.md").read_text()
    scripts = [path.name for path in LIVE.glob("*.py") if path.name != "__init__.py"]
    assert [script for script in scripts if f"(live/{script})" not in readme] == []
