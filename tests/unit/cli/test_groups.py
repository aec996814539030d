from __future__ import annotations

import pytest

from headrace.broker.port import Broker, NewRecord, OffsetAndMetadata
from tests.unit.cli.conftest import Headrace


@pytest.fixture(autouse=True)
def audit(broker: Broker) -> None:
    """The group ``audit`` has read one of three records of partition 0 and nothing of partition 1."""
    broker.create_topic("lines", 2)
    broker.append([NewRecord("lines", None, b"x", at, partition=0) for at in (10, 20, 30)])
    broker.commit_offsets("audit", {("lines", 0): OffsetAndMetadata(1), ("lines", 1): OffsetAndMetadata(0)})


def offsets(broker: Broker, group: str = "audit") -> dict[int, int]:
    return {partition: note.offset for (_, partition), note in broker.committed(group).items()}


def test_lists_groups_with_their_lag(headrace: Headrace) -> None:
    assert headrace("groups", "list").out.split() == ["GROUP", "PARTITIONS", "LAG", "RUNNING", "audit", "2", "2", "no"]
    assert headrace("groups", "list", "-q").out == "audit\n"
    assert headrace("groups", "list", "--json").data == [{"group": "audit", "partitions": 2, "lag": 2, "owner": None}]


def test_no_groups_is_said(headrace: Headrace, broker: Broker) -> None:
    broker.delete_group("audit")

    assert headrace("groups", "list").err == "no group has committed an offset yet\n"


def test_describes_every_partition(headrace: Headrace) -> None:
    lines = headrace("groups", "describe", "audit").out.splitlines()
    assert [line.split() for line in lines] == [
        ["TOPIC", "PARTITION", "OFFSET", "END", "LAG"],
        ["lines", "0", "1", "3", "2"],
        ["lines", "1", "0", "0", "0"],
    ]
    first, _ = headrace("groups", "describe", "audit", "--json").data["partitions"]
    assert first == {"topic": "lines", "partition": 0, "offset": 1, "end_offset": 3, "lag": 2, "metadata": ""}


def test_an_application_that_runs_is_shown_and_protected(headrace: Headrace, broker: Broker) -> None:
    with broker.acquire_lease("audit") as lease:
        owner = f"process {lease.owner.pid} on {lease.owner.host}"
        assert owner in headrace("groups", "list").out
        assert headrace("groups", "describe", "audit").out.startswith(f"running: {owner}\n")
        assert owner in headrace.fails("groups", "reset", "audit", "--to", "end", "--execute", code=4)
        assert owner in headrace.fails("groups", "delete", "audit", "--yes", code=4)
        headrace("groups", "reset", "audit", "--to", "end")
    assert offsets(broker) == {0: 1, 1: 0}


@pytest.mark.parametrize(
    ("to", "expected"),
    [
        ("beginning", 0),
        ("earliest", 0),
        ("end", 3),
        ("latest", 3),
        ("2", 2),
        ("99", 3),
        ("-1", 2),
        ("@20", 1),
        ("@99", 3),
    ],
)
def test_reset_moves_a_group(headrace: Headrace, broker: Broker, to: str, expected: int) -> None:
    headrace("groups", "reset", "audit", "--to", to, "--execute")

    assert offsets(broker) == {0: expected, 1: 0}


def test_reset_only_shows_unless_told_to_execute(headrace: Headrace, broker: Broker) -> None:
    ran = headrace("groups", "reset", "audit", "--to", "end")

    assert [line.split() for line in ran.out.splitlines()] == [
        ["TOPIC", "PARTITION", "FROM", "TO"],
        ["lines", "0", "1", "3"],
        ["lines", "1", "0", "0"],
    ]
    assert ran.err == "nothing is changed yet: say --execute to do it\n"
    assert headrace("groups", "reset", "audit", "--to", "end", "--json").data["executed"] is False
    assert offsets(broker) == {0: 1, 1: 0}


def test_reset_may_choose_partitions_and_make_a_group(headrace: Headrace, broker: Broker) -> None:
    headrace("groups", "reset", "audit", "--to", "end", "--topic", "lines:1", "--execute")
    headrace("groups", "reset", "new", "--to", "2", "-t", "lines", "--execute")

    assert offsets(broker) == {0: 1, 1: 0}
    assert offsets(broker, "new") == {0: 2, 1: 0}


@pytest.mark.parametrize(
    ("arguments", "code", "told"),
    [
        (("describe", "nope"), 3, "There are audit."),
        (("reset", "nope", "--to", "end"), 3, "there is no group 'nope'"),
        (("reset", "audit", "--to", "nowhere"), 2, "'nowhere' is no position"),
        (("reset", "audit"), 2, "Missing option"),
        (("reset", "audit", "--to", "end", "-t", "nope"), 3, "there is no topic 'nope'"),
        (("reset", "audit", "--to", "end", "-t", "lines:7"), 3, "has no partition 7"),
        (("reset", "audit", "--to", "end", "-t", "lines:x"), 2, "names no partitions"),
        (("delete", "audit"), 4, "Say --yes"),
        (("delete", "audit", "nope", "-y"), 3, "there is no group 'nope'"),
    ],
)
def test_what_cannot_be_done_is_refused(
    headrace: Headrace, broker: Broker, arguments: tuple[str, ...], code: int, told: str
) -> None:
    assert told in headrace.fails("groups", *arguments, code=code)
    assert broker.groups() == ["audit"]


def test_delete_forgets_a_group(headrace: Headrace, broker: Broker) -> None:
    assert headrace("groups", "delete", "audit", "-y").out == "deleted audit\n"
    assert broker.groups() == []
