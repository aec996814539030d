"""Transactions of the catalog."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from headrace.broker.catalog import Catalog

NEW = "INSERT INTO applications (name, label) VALUES (?, ?)"


@pytest.fixture
def catalog(tmp_path: Path) -> Iterator[Catalog]:
    with closing(Catalog(tmp_path / "catalog.db", fsync=False)) as found:
        yield found


def test_a_transaction_that_was_left_without_an_end_is_undone_by_the_next_one(catalog: Catalog) -> None:
    for begun in (catalog.write(), catalog.read()):
        begun.__enter__()  # As Ctrl-C leaves it, which comes before the block.
        with catalog.write() as connection:
            connection.execute(NEW, (str(begun), "kept"))
    with catalog.read() as connection:
        assert connection.execute("SELECT label FROM applications").fetchall() == [("kept",)] * 2


def test_one_that_ends_late_does_not_end_the_next_one(catalog: Catalog) -> None:
    left = catalog.write()
    left.__enter__().execute(NEW, ("left", "left"))
    with catalog.write() as connection:
        connection.execute(NEW, ("next", "next"))
        left.__exit__(KeyboardInterrupt, KeyboardInterrupt(), None)
    with catalog.read() as connection:
        assert connection.execute("SELECT name FROM applications").fetchall() == [("next",)]
