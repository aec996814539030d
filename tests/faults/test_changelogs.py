"""Rows C1 to C3: a changelog that is damaged, shorter than it was, or behind the state. Never a silent guess."""

from __future__ import annotations

import logging
import shutil
from contextlib import closing
from pathlib import Path

import pytest

from headrace import StreamsBuilder, serdes
from headrace.batch.local import LocalEngine
from headrace.broker.embedded import EmbeddedBroker
from headrace.broker.port import NewRecord
from headrace.errors import CorruptLogError, SerializationError, StoreError, StreamsError
from headrace.serde.contract import Serde
from tests.faults import damage
from tests.faults.scene import CHANGELOG, Scene, topology


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    """Some events are counted, and the state directory is lost."""
    scene = Scene(tmp_path / "scene")
    scene.send(40, partitions=1)
    scene.run()
    shutil.rmtree(scene.state_dir)
    scene.send(10)
    return scene


def test_a_corrupt_changelog_stops_the_restore_with_its_offsets_and_a_remedy(scene: Scene) -> None:
    with closing(scene.broker()) as broker:
        broker.append(NewRecord(CHANGELOG, b"w1", b"v" * 4000) for _ in range(30))
        broker.delete_records({(CHANGELOG, 0): 0})
    path = next(scene.broker_dir.glob(f"topics/*{CHANGELOG}/0/*.arrow"))
    path.write_bytes(damage.flip(path.read_bytes(), 8 * 5000))
    with pytest.raises(
        CorruptLogError, match=rf"{CHANGELOG}-0 is corrupt at offsets 40 to 69: .*\n.*\n  hint: Restore"
    ):
        scene.run()
    # Nothing of it is half done.
    with pytest.raises(CorruptLogError):
        scene.run()


def test_a_changelog_that_lost_its_head_is_not_taken_for_a_whole_one(scene: Scene) -> None:
    with closing(scene.broker()) as broker:
        broker.delete_records({(CHANGELOG, 0): 20})
    with pytest.raises(
        StoreError, match=rf"totals cannot be restored: {CHANGELOG}-0 begins at offset 20\n.*0 to 19.*\n  hint: Reset"
    ):
        scene.run()


def test_a_head_that_is_deleted_during_the_restore_stops_it(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    with closing(scene.broker()) as broker:
        delete_head_when_read(broker, monkeypatch)
        message = rf"{CHANGELOG}-0 does not hold offset 0\n.*20.*\n  hint: Reset"
        with LocalEngine(topology(), scene.settings(), broker) as engine, pytest.raises(StoreError, match=message):
            engine.run_until_idle()


def test_a_restore_goes_on_behind_what_retention_removes_meanwhile(
    scene: Scene, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "headrace.application.restoring")
    with closing(scene.broker()) as broker:
        delete_head_when_read(broker, monkeypatch)
        with LocalEngine(topology(), scene.settings(), broker) as engine:
            # As that of a window store; this one is not let begin with it.
            broker.alter_topic(CHANGELOG, config={"cleanup.policy": "compact,delete"})
            engine.run_until_idle()
    assert "restored 20 records of store totals" in caplog.text


def delete_head_when_read(broker: EmbeddedBroker, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first half of the changelog."""
    read = broker.read

    def deleting(topic: str, *arguments: int) -> object:
        if topic == CHANGELOG:
            broker.delete_records({(CHANGELOG, 0): 20})
        return read(topic, *arguments)

    monkeypatch.setattr(broker, "read", deleting)


def test_a_record_without_key_in_a_changelog_stops_the_restore(scene: Scene) -> None:
    with closing(scene.broker()) as broker:
        broker.alter_topic(CHANGELOG, config={"cleanup.policy": "delete"})
        broker.append([NewRecord(CHANGELOG, None, b"?")])
        broker.alter_topic(CHANGELOG, config={"cleanup.policy": "compact"})
    with pytest.raises(CorruptLogError, match=rf"totals cannot be restored: {CHANGELOG}-0@40 has no key\n.*\n  hint: "):
        scene.run()


def test_undecodable_bytes_in_a_changelog_fail_although_handlers_say_continue(scene: Scene) -> None:
    with closing(scene.broker()) as broker:
        broker.append([NewRecord(CHANGELOG, f"w{number}".encode(), b"no long") for number in range(7)])
    going_on = dict.fromkeys(("deserialization.exception.handler", "processing.exception.handler"), "log_and_continue")
    with closing(scene.broker()) as broker, LocalEngine(topology(), scene.settings(**going_on), broker) as engine:
        with pytest.raises(StreamsError, match=r"totals"):
            engine.run_until_idle()
        assert not engine.dropped_records


class Forgetful(Serde[str]):
    """Writes what it cannot read."""

    def serialize(self, topic: str, value: str | None) -> bytes | None:
        return None if value is None else b"\xff" + value.encode()

    def deserialize(self, topic: str, data: bytes | None) -> str | None:
        raise SerializationError("cannot read this")


def test_undecodable_bytes_in_a_repartition_topic_fail_although_handlers_say_continue(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    scene.send(10)
    builder = StreamsBuilder()
    renamed = builder.stream("events").select_key(lambda key, value: value)
    renamed.repartition(value_serde=Forgetful()).to("echo", value_serde=serdes.string())
    settings = scene.settings(**{"deserialization.exception.handler": "log_and_continue"})
    with closing(scene.broker()) as broker, LocalEngine(builder.build(), settings, broker) as engine:
        with pytest.raises(StreamsError, match=r"could not be deserialized: cannot read this\n.*\n?.*repartition-\d@0"):
            engine.run_until_idle()
        assert not engine.dropped_records
        assert broker.committed("tally") == {}


def test_state_that_is_newer_than_the_changelog_gives_way_to_it(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    scene = Scene(tmp_path / "scene")
    scene.send(20)
    scene.run()
    older = shutil.copytree(scene.broker_dir, tmp_path / "backup")
    scene.send(20)
    scene.run()
    scene.send(20)
    scene.run()
    shutil.rmtree(scene.broker_dir)
    older.rename(scene.broker_dir)
    del scene.sent[20:]
    scene.send(30)
    with caplog.at_level(logging.WARNING):
        scene.run()
    assert "which was never committed" in caplog.text
    scene.check()
