"""Where local state is when nobody said it."""

from __future__ import annotations

import uuid
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from headrace.application.state_place import placed
from headrace.batch.local import LocalEngine
from headrace.config import StreamsConfig
from headrace.settings import SETTINGS
from headrace.state.directory_hold import DirectoryHold
from tests.integration.batch.programs import append, final_counts, open_at, word_count


@pytest.fixture
def common(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """What is otherwise below the temporary directory."""
    directory = tmp_path / "common"
    monkeypatch.setitem(SETTINGS, "state.dir", replace(SETTINGS["state.dir"], default=directory))
    return directory


def test_applications_of_one_name_on_two_embedded_brokers_do_not_meet(tmp_path: Path) -> None:
    config = {"application.id": f"app-{uuid.uuid4().hex}"}
    with closing(open_at(tmp_path / "one")) as one, closing(open_at(tmp_path / "two")) as two:
        for broker in (one, two):
            broker.create_topic("lines")
            append(broker, "lines", [(None, "a b")])
        with LocalEngine(word_count(), config, one) as first, LocalEngine(word_count(), config, two) as second:
            for engine in (first, second, first):
                engine.run_until_idle()
        assert final_counts(one) == final_counts(two) == {"a": 1, "b": 1}


def test_it_is_beside_the_topics_of_an_embedded_broker(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, common: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    config = StreamsConfig({"application.id": "app"})
    assert placed(config, "embedded:data").application_dir == tmp_path / "data" / "state" / "app"
    assert placed(config, "localhost:9092").application_dir == common / "app"


def test_what_was_given_counts(tmp_path: Path) -> None:
    config = StreamsConfig({"application.id": "app", "state.dir": tmp_path})
    assert placed(config, "embedded:data") == config


def test_state_that_was_left_in_the_common_place_stays_its_own(tmp_path: Path, common: Path) -> None:
    config = StreamsConfig({"application.id": "app"})
    DirectoryHold(common / "app", f"embedded:{tmp_path}/one").release()
    assert placed(config, f"embedded:{tmp_path}/one").state_dir == common
    assert placed(config, f"embedded:{tmp_path}/two").state_dir == tmp_path / "two" / "state"
