"""``headrace groups``: how far consumer groups have read; list, describe, reset, delete."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from headrace.broker.port import Broker, OffsetAndMetadata, TopicPartition
from headrace.broker.positions import resolve
from headrace.cli.exits import NotFoundError, RefusedError, UsageError
from headrace.cli.positions import GRAMMAR, position_of
from headrace.cli.session import Session, command

group = typer.Typer(help="Consumer groups: list, describe, reset, delete.", no_args_is_help=True)

Name = Annotated[str, typer.Argument(metavar="GROUP", help="The group.")]
Names = Annotated[list[str], typer.Argument(metavar="GROUP...", help="The groups.")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]
To = Annotated[str, typer.Option("--to", metavar="POSITION", help=f"Where to: {GRAMMAR}.")]
TopicOption = Annotated[
    list[str] | None,
    typer.Option(
        "--topic", "-t", metavar="TOPIC", help="Only this topic, or TOPIC:0,2 some partitions of it; may be repeated."
    ),
]
Execute = Annotated[bool, typer.Option("--execute/--dry-run", help="Do it, or only show what would be done.")]


@command(group, "list", "headrace groups list", "headrace groups list --json")
def list_groups(session: Session) -> None:
    """List the groups, how many offsets they are behind, and which of them belong to a running application."""
    with session.broker() as broker:
        found = [_summary(broker, name) for name in broker.groups()]
    rows = [(one["group"], one["partitions"], one["lag"], _owner_text(one["owner"])) for one in found]
    columns = ("GROUP", ">PARTITIONS", ">LAG", "RUNNING")
    session.out.listing(found, columns, rows, none="no group has committed an offset yet")


@command(group, "describe", "headrace groups describe audit", "headrace groups describe audit --json")
def describe_group(session: Session, name: Name) -> None:
    """Show what a group committed, partition by partition, and how far it is behind."""
    out = session.out
    with session.broker() as broker:
        _check_known(broker, name)
        owner = _owner(broker, name)
        rows = _partition_rows(broker, name)
    if out.json:
        out.data({"group": name, "owner": owner, "partitions": rows})
        return
    if owner:
        out.line(f"running: {_owner_text(owner)}")
    values = [(one["topic"], one["partition"], one["offset"], one["end_offset"], one["lag"]) for one in rows]
    out.table(("TOPIC", ">PARTITION", ">OFFSET", ">END", ">LAG"), values)


@command(
    group,
    "reset",
    "headrace groups reset audit --to beginning",
    "headrace groups reset audit --to @2026-07-01T12:00:00Z --execute",
    "headrace groups reset audit --to -10 --topic lines:0,2 --execute",
)
def reset_group(session: Session, name: Name, to: To, topic: TopicOption = None, execute: Execute = False) -> None:
    """Move a group to another place; without --execute it only shows what would be done.

    Without --topic all partitions that the group committed are moved. With it the group may be a new one. A group that
    belongs to a running application is not moved: stop the application first.
    """
    position = position_of(to)
    out = session.out
    with session.broker() as broker:
        committed = {one: note.offset for one, note in broker.committed(name).items()}
        if not topic:
            _check_known(broker, name)
        targets = resolve(broker, position, _chosen(broker, topic) if topic else list(committed))
        if execute:
            refuse_while_running(broker, name)
            broker.commit_offsets(name, {one: OffsetAndMetadata(offset) for one, offset in targets.items()})
    moves = [
        {"topic": one[0], "partition": one[1], "from": committed.get(one), "to": offset}
        for one, offset in targets.items()
    ]
    if out.json:
        out.data({"group": name, "executed": execute, "partitions": moves})
        return
    if not out.quiet:
        out.table(("TOPIC", ">PARTITION", ">FROM", ">TO"), [tuple(move.values()) for move in moves])
    out.note(f"moved group {name}" if execute else "nothing is changed yet: say --execute to do it")


@command(group, "delete", "headrace groups delete audit", "headrace groups delete audit other --yes")
def delete_groups(session: Session, names: Names, yes: Yes = False) -> None:
    """Forget what groups committed. Asks before it does so; without a terminal it needs --yes.

    Groups of running applications are refused.
    """
    wanted = list(dict.fromkeys(names))
    with session.broker() as broker:
        for name in wanted:
            _check_known(broker, name)
            refuse_while_running(broker, name)
        session.confirm(f"forget what {', '.join(wanted)} committed?", yes=yes)
        for name in wanted:
            broker.delete_group(name)
    session.out.done(f"deleted {', '.join(wanted)}", {"deleted": wanted})


def refuse_while_running(broker: Broker, name: str) -> None:
    """RefusedError where an application of that name runs: it alone commits for its group."""
    owner = _owner(broker, name)
    if owner is not None:
        message = f"group {name} belongs to an application that is running"
        raise RefusedError(message, detail=f"It runs as {_owner_text(owner)}.", hint="Stop it first.")


def _check_known(broker: Broker, name: str) -> None:
    known = broker.groups()
    if name not in known:
        message = f"there is no group {name!r}"
        raise NotFoundError(message, hint=f"There are {', '.join(known)}." if known else "No group has committed yet.")


def _summary(broker: Broker, name: str) -> dict[str, Any]:
    lag = broker.lag(name)
    return {"group": name, "partitions": len(lag), "lag": sum(lag.values()), "owner": _owner(broker, name)}


def _partition_rows(broker: Broker, name: str) -> list[dict[str, Any]]:
    committed, lag = broker.committed(name), broker.lag(name)
    ends = broker.end_offsets(lag)
    return [
        {
            "topic": one[0],
            "partition": one[1],
            "offset": committed[one].offset if one in committed else None,
            "end_offset": ends[one],
            "lag": behind,
            "metadata": committed[one].metadata if one in committed else None,
        }
        for one, behind in lag.items()
    ]


def _owner(broker: Broker, name: str) -> dict[str, Any] | None:
    owner = broker.lease_owner(name)
    return None if owner is None else {"host": owner.host, "pid": owner.pid, "since_ms": owner.since_ms}


def _owner_text(owner: dict[str, Any] | None) -> str:
    return "no" if owner is None else f"process {owner['pid']} on {owner['host']}"


def _chosen(broker: Broker, given: list[str]) -> list[TopicPartition]:
    chosen: dict[TopicPartition, None] = {}
    for text in given:
        topic, colon, numbers = text.partition(":")
        there = [one.partition for one in broker.describe_topic(topic).partitions]
        for number in _numbers(text, numbers) if colon else there:
            if number not in there:
                message = f"topic {topic} has no partition {number}"
                raise NotFoundError(message, detail=f"Its partitions are 0 to {len(there) - 1}.")
            chosen[topic, number] = None
    return list(chosen)


def _numbers(text: str, numbers: str) -> list[int]:
    try:
        return [int(number) for number in numbers.split(",")]
    except ValueError as error:
        message = f"{text!r} names no partitions"
        raise UsageError(message, hint="Write TOPIC:0,2") from error
