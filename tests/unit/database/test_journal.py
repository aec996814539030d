"""The journal: entries read back as they were written, in their order, whoever wrote them."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from headrace.broker import open_broker
from headrace.broker.port import Broker, NewRecord
from headrace.database.journal import Entry, Journal
from headrace.database.names import Names
from headrace.errors import CorruptLogError
from headrace.sql import parse
from headrace.sql.planning.plans import DropSource, DropType, StatementPlan
from headrace.sql.tree.statements import QueryAction

DROPPED = StatementPlan("DROP TYPE t;", DropType("T"))


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[Broker]:
    with closing(open_broker(f"embedded:{tmp_path}", fsync="never")) as found:
        yield found


@pytest.fixture
def journal(broker: Broker) -> Journal:
    return of(broker)


def of(broker: Broker, prefix: str = "default_") -> Journal:
    return Journal(broker, Names(prefix), lambda plan, settings: {"orders": [7, 0]})


@pytest.mark.parametrize(
    "entry",
    [
        Entry("DROP TYPE t;", DROPPED, {"auto.offset.reset": "earliest", "a": 1}, starts={"orders": [1]}),
        Entry("PAUSE ALL;", action=QueryAction.PAUSE, query_ids=("CSAS_A_1", "CTAS_B_2")),
        Entry("INSERT INTO s VALUES ('é');", script="shop.sql"),
    ],
)
def test_an_entry_reads_back_as_it_was(entry: Entry) -> None:
    assert Entry.from_bytes(entry.to_bytes()) == entry


@pytest.mark.parametrize("text", [b"?", b"{}", b"[]", b'{"version": 2}', b"null"])
def test_what_is_no_entry_is_a_value_error(text: bytes) -> None:
    with pytest.raises(ValueError, match=r"."):
        Entry.from_bytes(text)


def test_what_one_process_writes_another_one_reads(broker: Broker, journal: Journal) -> None:
    other = of(broker)
    with journal.planned(DROPPED, {"a": "b"}, None):
        pass
    with journal.controlled(QueryAction.TERMINATE, ["CSAS_A_1"], parse("TERMINATE csas_a_1;")[0]):
        pass
    assert list(other.unread()) == [
        Entry("DROP TYPE t;", DROPPED, {"a": "b"}, starts={"orders": [7, 0]}),
        Entry("TERMINATE csas_a_1;", action=QueryAction.TERMINATE, query_ids=("CSAS_A_1",)),
    ]
    assert list(other.unread()) == []


def test_who_writes_does_not_read_its_own_entries(journal: Journal) -> None:
    with journal.planned(DROPPED, {}, None):
        pass
    assert list(journal.unread()) == []


def test_an_entry_that_could_not_be_taken_over_is_read_again(broker: Broker, journal: Journal) -> None:
    with of(broker).planned(DROPPED, {}, None):
        pass
    reading = journal.unread()
    next(reading)
    reading.close()  # type: ignore[attr-defined]
    assert len(list(journal.unread())) == 1


def test_the_number_of_a_query_is_the_place_of_its_statement(journal: Journal) -> None:
    assert journal.next_number == 0
    with journal.planned(DROPPED, {}, None):
        pass
    with journal.planned(StatementPlan("DROP STREAM s;", DropSource("S")), {}, None):
        pass
    assert journal.next_number == 2


def test_services_have_journals_of_their_own(broker: Broker, journal: Journal) -> None:
    with journal.planned(DROPPED, {}, None):
        pass
    assert list(of(broker, "other_").unread()) == []


def test_one_writes_while_the_others_wait(broker: Broker, journal: Journal) -> None:
    order: list[str] = []

    def second() -> None:
        with of(broker).writing():
            order.append("second")

    with journal.writing():
        waiting = threading.Thread(target=second)
        waiting.start()
        time.sleep(0.1)
        order.append("first")
    waiting.join(10)
    assert order == ["first", "second"]


def test_an_entry_that_nobody_understands_says_where_it_is(broker: Broker, journal: Journal) -> None:
    broker.append([NewRecord(journal.topic, None, b'{"version": 9}', partition=0)])
    with pytest.raises(CorruptLogError, match="at offset 0") as caught:
        list(journal.unread())
    assert caught.value.detail == "it is of version 9"
