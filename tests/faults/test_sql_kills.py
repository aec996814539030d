"""A file of five queries that is killed and started again: nothing is lost, nothing comes twice."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.faults.five_queries import FiveQueries
from tests.faults.scene import IS_LONG
from tests.faults.sql_kills import Kills

SPARK = pytest.param(
    "spark", 6, marks=pytest.mark.skipif(not IS_LONG, reason="takes long: HEADRACE_FAULTS=long, make faults")
)


@pytest.mark.parametrize(("engine", "kills"), [("local", 3), SPARK])
def test_five_queries_whose_process_is_killed_go_on_where_they_were(tmp_path: Path, engine: str, kills: int) -> None:
    queries = FiveQueries(f"embedded:{tmp_path / 'broker'}", "five", tmp_path)
    Kills(queries, tmp_path, local=engine == "local", rate=200, seed=kills).run(kills)
