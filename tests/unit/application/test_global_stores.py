"""Copies of global stores: one per process that runs, however many have run before."""

from __future__ import annotations

import time
from pathlib import Path

from headrace.application.global_stores import GlobalStores
from headrace.application.layout import lay_out
from headrace.clock import now_ms
from tests.integration.batch.programs import append, enriched, open_at, settings


def test_a_process_that_died_leaves_its_place_to_the_next_which_fills_it_anew(tmp_path: Path) -> None:
    broker = open_at(tmp_path)
    for topic in ("regions", "left", "right"):
        broker.create_topic(topic)
    append(broker, "regions", [("a", "Asia"), ("b", "Borneo")])
    application = lay_out(enriched(), settings(tmp_path), broker)
    first, second = (GlobalStores(application, broker, now_ms) for _ in range(2))
    for stores, end in ((first, 1), (second, 2)):
        (regions,) = stores.at([("regions", 0, end)]).values()
        assert len(list(regions.all())) == end
    assert sorted(path.name for path in (tmp_path / "state/app/global").iterdir()) == ["0", "1"]
    for stores in (first, second):
        stores.close()

    third = GlobalStores(application, broker, now_ms)
    (regions,) = third.at([("regions", 0, 1)]).values()
    assert len(list(regions.all())) == 1
    assert sorted(path.name for path in (tmp_path / "state/app/global").iterdir()) == ["0", "1"]
    third.close()


def test_what_retention_removed_before_it_was_read_is_left_out(tmp_path: Path) -> None:
    broker = open_at(tmp_path)
    broker.create_topic("regions", config={"retention.ms": 0})
    for topic in ("left", "right"):
        broker.create_topic(topic)
    append(broker, "regions", [("a", "Asia")])
    stores = GlobalStores(lay_out(enriched(), settings(tmp_path), broker), broker, now_ms)
    (regions,) = stores.at([("regions", 0, 1)]).values()
    append(broker, "regions", [("b", "Borneo")])
    time.sleep(0.01)
    broker.maintain()
    append(broker, "regions", [("c", "Corsica")])
    assert broker.start_offsets([("regions", 0)]) == {("regions", 0): 2}

    stores.at([("regions", 0, 3)])

    assert [key for key, _ in regions.all()] == ["a", "c"]
    stores.close()
