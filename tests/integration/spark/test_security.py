"""What others on the machine or the network can reach of a running query: nothing."""

from __future__ import annotations

import ast
import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import headrace
from headrace.spark.engine import SparkEngine
from tests.faults.scene import Scene
from tests.integration.spark import programs
from tests.integration.spark.processes import LOOPBACK, below, command_of, listening

SOURCES = Path(headrace.__file__).parent


@pytest.fixture(scope="module")
def scene(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    """An application that runs and has processed something."""
    scene = Scene(tmp_path_factory.mktemp("scene"))
    scene.send(100, padding=4000)
    with (
        scene.broker() as broker,
        SparkEngine(programs.sabotaged(scene.directory), scene.settings(), broker, session=spark) as engine,
    ):
        engine.run_until_idle()
        yield scene


def test_driver_jvm_and_workers_listen_on_this_machine_only(scene: Scene) -> None:
    found = list(listening(os.getpid()))
    assert {process for process, _ in found} & set(below(os.getpid(), "java")), "the JVM listens"
    others = [(command_of(process)[:80], address) for process, address in found if address not in LOOPBACK]
    assert not others


def test_no_other_user_can_read_what_the_application_or_spark_writes(scene: Scene, spark: SparkSession) -> None:
    of_spark = list(Path(spark.conf.get("spark.local.dir") or "").iterdir())
    assert [each for each in of_spark if each.name.startswith("blockmgr-")], "where shuffles are"
    for directory in (scene.broker_dir, scene.state_dir, Path(spark.sparkContext._temp_dir), *of_spark):
        assert stat.S_IMODE(directory.stat().st_mode) == 0o700, directory


def test_only_the_shipped_application_is_ever_unpickled() -> None:
    uses = {
        (str(path.relative_to(SOURCES)), name) for path in SOURCES.rglob("*.py") for name in _pickling(path.read_text())
    }
    assert uses == {
        ("spark/shipping.py", "cloudpickle.Pickler"),
        ("spark/shipping.py", "cloudpickle.list_registry_pickle_by_value"),
        ("spark/shipping.py", "cloudpickle.register_pickle_by_value"),
        # How structs are taken apart for the shipment, and put together by whoever loads it.
        ("spark/struct_travel.py", "cloudpickle._class_setstate"),
        ("spark/struct_travel.py", "cloudpickle._get_bases"),
        ("spark/struct_travel.py", "cloudpickle._get_or_create_tracker_id"),
        ("spark/struct_travel.py", "cloudpickle._lookup_class_or_track"),
        ("spark/host.py", "cloudpickle.loads"),
    }


def _pickling(source: str) -> Iterator[str]:
    """What a module uses of the modules that turn bytes into objects with code."""
    kinds = {"pickle", "cloudpickle", "marshal", "shelve", "dill"}
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in kinds:
            yield f"{node.value.id}.{node.attr}"
        elif isinstance(node, ast.ImportFrom) and node.module in kinds:
            yield from (f"from {node.module} {alias.name}" for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from (f"import {alias.name}" for alias in node.names if alias.name.partition(".")[0] in kinds)
