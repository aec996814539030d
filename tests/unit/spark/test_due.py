"""The source asks the driver whether something is due, and knows nothing else."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql.streaming.datasource import ReadAllAvailable

from headrace.spark.source import DueReader, DueServer


class Driver:
    """Says what it is told to say."""

    def __init__(self, directory: Path) -> None:
        self.is_due = False
        self.server = DueServer(directory, lambda: self.is_due)
        self.reader = DueReader(str(self.server.path))

    def latest(self) -> dict[str, Any]:
        return self.reader.latestOffset({}, ReadAllAvailable())


@pytest.fixture
def driver(tmp_path: Path) -> Iterator[Driver]:
    made = Driver(tmp_path)
    yield made
    made.reader.stop()
    made.server.close()


def test_the_offset_is_another_one_when_something_is_due(driver: Driver) -> None:
    before = driver.reader.initialOffset()
    assert driver.latest() == before
    driver.is_due = True
    assert driver.latest() != before
    between = driver.latest()
    driver.is_due = False
    assert driver.latest() == between


def test_the_reader_of_another_process_asks_the_same_driver(driver: Driver) -> None:
    driver.is_due = True
    driver.latest()
    copied = pickle.dumps(driver.reader)
    driver.reader.stop()
    driver.reader = pickle.loads(copied)
    assert driver.latest() != driver.reader.initialOffset()


def test_there_are_no_rows(driver: Driver) -> None:
    assert driver.reader.partitions({}, {}) == []


def test_nothing_is_left_of_the_socket(tmp_path: Path) -> None:
    driver = Driver(tmp_path)
    assert list(tmp_path.iterdir()) == [driver.server.path]
    driver.server.close()
    assert list(tmp_path.iterdir()) == []
    with pytest.raises((ConnectionError, FileNotFoundError)):
        driver.latest()
