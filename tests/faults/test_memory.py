"""Stores in memory end with their application, however it ends; what a killed one leaves is found and removed."""

from __future__ import annotations

import multiprocessing
import shutil
import signal
from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from headrace import StreamsBuilder, Topology, failpoints, serdes, stores
from headrace.batch.local import LocalEngine
from headrace.broker import crash_points
from headrace.errors import FencedError
from headrace.lifecycle.state_directory import clean_up
from headrace.state.shared_memory import Leftover, leftovers, memory_directory
from tests.faults.scene import APPLICATION, Scene
from tests.faults.test_fencing import Later
from tests.faults.verdict import read


def topology(**options: Any) -> Topology:
    builder = StreamsBuilder()
    counts = builder.stream("events").group_by_key().count(stores.in_memory("totals"), **options)
    counts.to_stream().to("counts", value_serde=serdes.long())
    return builder.build()


def run(directory: Path, failpoint: str | None = None, **options: Any) -> None:
    failpoints.arm(failpoint)
    scene = Scene(directory)
    with closing(scene.broker()) as broker, LocalEngine(topology(**options), scene.settings(), broker) as engine:
        engine.run_until_idle()
        assert memory_of(scene).is_dir()
        assert left_of(scene) == []


def killed(directory: Path) -> None:
    """Run it in a process of its own, which is killed before it commits."""
    process = multiprocessing.get_context("spawn").Process(
        target=run, args=(directory, f"{crash_points.BEFORE_CATALOG}:1")
    )
    process.start()
    process.join(timeout=120)
    assert process.exitcode == -signal.SIGKILL


def memory_of(scene: Scene) -> Path:
    return memory_directory(scene.state_dir / APPLICATION / "0_0").parent


def left_of(scene: Scene) -> list[Leftover]:
    return [each for each in leftovers() if each.application_dir == scene.state_dir / APPLICATION]


def check(scene: Scene) -> None:
    with closing(scene.broker()) as broker:
        found = dict(read(broker, "counts"))
    counted = Counter(record.key for record in scene.sent)
    assert found == {key: count.to_bytes(8, "big") for key, count in counted.items()}


def test_nothing_is_left_when_it_has_ended_and_its_changelog_brings_it_back(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    for _ in range(2):
        scene.send(20)
        run(tmp_path)
        assert not memory_of(scene).exists()
    check(scene)


def test_what_a_killed_process_leaves_is_told_and_gone_after_the_next_start(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    scene.send(20)
    killed(tmp_path)
    (found,) = left_of(scene)
    assert found.size > 0
    scene.send(20)
    run(tmp_path)
    check(scene)
    assert not memory_of(scene).exists()


def test_what_is_left_goes_with_a_reset_also_where_the_directories_are_gone(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    scene.send(20)
    killed(tmp_path)
    shutil.rmtree(scene.state_dir)
    assert left_of(scene)
    clean_up(scene.state_dir / APPLICATION)
    assert left_of(scene) == []
    assert not memory_of(scene).exists()


def test_without_a_changelog_it_starts_empty_and_says_so(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """As in Kafka Streams."""
    scene = Scene(tmp_path)
    scene.send(20)
    run(tmp_path, logging=False)
    assert "starts empty" not in caplog.text
    scene.sent.clear()
    scene.send(20)
    run(tmp_path, logging=False)
    assert "the store totals of task 0_0 has no changelog: it starts empty" in caplog.text
    check(scene)


def test_a_process_that_was_replaced_leaves_what_its_successor_has(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    scene.send(20)
    with closing(scene.broker()) as broker, closing(scene.broker(Later())) as later:
        old = LocalEngine(topology(), scene.settings(), broker)
        with LocalEngine(topology(), scene.settings(), later) as new:
            new.run_until_idle()
            scene.send(20)
            with pytest.raises(FencedError):
                old.run_until_idle()
            old.close()
            assert memory_of(scene).is_dir()
            assert left_of(scene) == []
            new.run_until_idle()
    check(scene)
