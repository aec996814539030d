"""Transactions of the catalog."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing
from pathlib import Path

import pytest

from headrace.broker.catalog import Catalog
from headrace.errors import InternalError

Transaction = Callable[[Catalog], AbstractContextManager[sqlite3.Connection]]
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


@pytest.mark.parametrize("inner", [Catalog.write, Catalog.read])
def test_one_within_another_is_refused_and_leaves_the_catalog_whole(catalog: Catalog, inner: Transaction) -> None:
    with pytest.raises(InternalError, match="within another one"), catalog.write() as connection:
        connection.execute(NEW, ("a", "a"))
        with inner(catalog):
            pass
        connection.execute(NEW, ("b", "b"))
    with pytest.raises(InternalError, match="within another one"), catalog.write(), inner(catalog):
        pass
    catalog.verify()
    with catalog.read() as connection:
        assert connection.execute("SELECT name FROM applications").fetchall() == []
