"""Sub-topologies that are visited twice in a batch: the second visit finds what the first one wrote, wherever it is."""

from __future__ import annotations

import shutil
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from headrace import Processor, PunctuationType, StreamsBuilder, Topology
from headrace.batch import local
from headrace.batch.local import LocalEngine
from headrace.batch.visit_contract import VisitResult
from headrace.batch.visiting import OpenTasks
from headrace.records import Record
from tests.integration.batch import programs
from tests.integration.batch.programs import append, open_at, read, settings

ORDERS = [(f"o{n}", f"c{n % 3}:book {n}") for n in range(9)]
CUSTOMERS = [("c0", "Ada"), ("c1", "Bob"), ("c2", "Cem")]


def named() -> set[tuple[bytes, bytes]]:
    names = dict(CUSTOMERS)
    return {(key.encode(), f"{order} by {names[order.split(':')[0]]}".encode()) for key, order in ORDERS}


def test_a_second_visit_on_another_host_gets_what_the_first_one_wrote(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another host has no directory of the task, or an old one: here it is removed after every visit."""

    class MovingTasks(OpenTasks):
        def visit(self, *arguments: Any, **options: Any) -> VisitResult:
            result = super().visit(*arguments, **options)
            self.close()
            shutil.rmtree(tmp_path / "state", ignore_errors=True)
            return result

    monkeypatch.setattr(local, "OpenTasks", MovingTasks)
    broker = open_at(tmp_path)
    broker.create_topic("orders", 2)
    broker.create_topic("customers", 2)
    with LocalEngine(programs.foreign_key(), settings(tmp_path), broker) as engine:
        for order, customer in zip(ORDERS, CUSTOMERS * 3, strict=True):
            append(broker, "orders", [order])
            append(broker, "customers", [customer])
            engine.run_until_idle()
    final = {key: value for key, value in read(broker, "named") if key is not None and value is not None}
    assert set(final.items()) == named()


class Heartbeat(Processor):
    """Sends a record on by the wall clock."""

    def init(self, context: Any) -> None:
        self.context = context
        context.schedule(timedelta(seconds=1), PunctuationType.WALL_CLOCK_TIME, self.beat)

    def process(self, record: Record[Any, Any]) -> None:
        self.context.forward(record)

    def beat(self, now_ms: int) -> None:
        self.context.forward(Record("beat", "c0:beat", now_ms))


def heartbeats() -> Topology:
    builder = StreamsBuilder()
    orders = builder.stream("orders").process(Heartbeat).to_table(store="orders")
    orders.join(
        builder.table("customers"), lambda order, name: f"{order} by {name}", foreign_key=lambda order: order[:2]
    ).to_stream().to("named")
    return builder.build()


def test_what_a_punctuation_sends_is_joined_in_the_same_batch(tmp_path: Path) -> None:
    now = [1_000_000]
    broker = open_at(tmp_path)
    broker.create_topic("orders")
    broker.create_topic("customers")
    append(broker, "customers", CUSTOMERS)
    with LocalEngine(heartbeats(), settings(tmp_path), broker, clock=lambda: now[0]) as engine:
        engine.run_until_idle()
        now[0] += 1000
        assert engine.run_batch() is not None
        assert read(broker, "named") == [(b"beat", b"c0:beat by Ada")]


def test_what_the_first_visit_sent_comes_before_what_the_second_one_sends(tmp_path: Path) -> None:
    """As in a repartition topic, to which the task writes at two times."""
    builder = StreamsBuilder()
    records = builder.stream("in")
    detour = records.repartition(name="detour").map_values(lambda value: f"{value} by detour")
    records.merge(detour).repartition(name="met").to("out")
    broker = open_at(tmp_path)
    broker.create_topic("in")
    append(broker, "in", [("k", "a"), ("k", "b")])
    with LocalEngine(builder.build(), settings(tmp_path), broker) as engine:
        assert engine.run_until_idle() == 1
    assert [value for _, value in read(broker, "out")] == [b"a", b"b", b"a by detour", b"b by detour"]
