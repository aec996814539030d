"""``headrace topics``: list, create, describe, alter, delete."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from datetime import datetime, timezone
from typing import Annotated, Any

import typer

from headrace.application.stateful_readers import growth_warning
from headrace.broker.port import Broker, TopicDescription
from headrace.cli.assignments import settings_of
from headrace.cli.exits import UsageError
from headrace.cli.output import counted
from headrace.cli.session import Session, command
from headrace.errors import TopicExistsError, UnknownTopicError
from headrace.names import check_name
from headrace.setting_values import is_secret

_EXAMPLE = "--config retention.ms=3600000"

group = typer.Typer(help="Topics: list, create, describe, alter, delete.", no_args_is_help=True)

Name = Annotated[str, typer.Argument(metavar="TOPIC", help="The topic.")]
Names = Annotated[list[str], typer.Argument(metavar="TOPIC...", help="The topics.")]
Partitions = Annotated[int, typer.Option("--partitions", "-p", min=1, help="How many partitions.")]
MorePartitions = Annotated[
    int | None, typer.Option("--partitions", "-p", min=1, help="How many partitions it shall have: never fewer.")
]
Config = Annotated[
    list[str] | None,
    typer.Option("--config", "-c", metavar="NAME=VALUE", help="A setting, with Kafka's name; may be repeated."),
]
Unset = Annotated[
    list[str] | None,
    typer.Option("--unset", metavar="NAME", help="Bring a setting back to its default; may be repeated."),
]
Long = Annotated[bool, typer.Option("--long", "-l", help="Show records and sizes too.")]
IfNotExists = Annotated[bool, typer.Option("--if-not-exists", help="Do nothing where the topic is there already.")]
IfExists = Annotated[bool, typer.Option("--if-exists", help="Do nothing about topics that are not there.")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]


@command(group, "list", "headrace topics list", "headrace topics list --long", "headrace topics list --json")
def list_topics(session: Session, long: Long = False) -> None:
    """List the topics and their numbers of partitions."""
    with session.broker() as broker:
        counts = broker.topics()
        short = [{"name": name, "partitions": count} for name, count in counts.items()]
        found = list(_described(broker, counts)) if long else short
    columns = ("TOPIC", ">PARTITIONS", ">RECORDS", ">BYTES")[: 4 if long else 2]
    none = "no topics yet; create one: headrace topics create NAME"
    session.out.listing(
        found, columns, [tuple("" if each is None else each for each in one.values()) for one in found], none=none
    )


def _described(broker: Broker, names: Iterable[str]) -> Iterator[dict[str, Any]]:
    for name in names:
        # One may be deleted while they are described.
        with suppress(UnknownTopicError):
            yield _totals(broker.describe_topic(name))


@command(
    group,
    "create",
    "headrace topics create lines",
    "headrace topics create users --partitions 6 --config cleanup.policy=compact",
)
def create_topic(
    session: Session, name: Name, partitions: Partitions = 1, config: Config = None, if_not_exists: IfNotExists = False
) -> None:
    """Create a topic. One of that name is exit code 4.

    An embedded broker that is not there yet is made: its directory, for you alone.
    """
    settings = settings_of(config or (), _EXAMPLE)
    check_name(name, "topic")
    created = True
    with session.broker(create=True) as broker:
        try:
            broker.create_topic(name, partitions, settings)
        except TopicExistsError:
            if not if_not_exists:
                raise
            created, partitions = False, broker.topics()[name]
    said = f"created topic {name} with {counted(partitions, 'partition')}" if created else f"topic {name} is there"
    session.out.done(said, {"topic": name, "partitions": partitions, "created": created})


@command(group, "describe", "headrace topics describe lines", "headrace topics describe lines --json")
def describe_topic(session: Session, name: Name) -> None:
    """Show the settings of a topic, offsets and sizes of its partitions, what retention removed, and who reads it."""
    with session.broker() as broker:
        topic = broker.describe_topic(name)
        readers = _readers(broker, name)
    if session.out.json:
        session.out.data({**_everything(topic), "groups": readers})
    else:
        _show(session, topic, readers)


@command(
    group,
    "alter",
    "headrace topics alter lines --partitions 6",
    "headrace topics alter lines --config retention.ms=3600000 --unset cleanup.policy",
)
def alter_topic(
    session: Session,
    name: Name,
    partitions: MorePartitions = None,
    config: Config = None,
    unset: Unset = None,
    yes: Yes = False,
) -> None:
    """Add partitions to a topic, change its settings.

    Keys of records that come later may get another partition than before when there are more of them. So an
    application with state that reads the topic cannot go on; where there is one, it asks first.
    """
    changes: dict[str, object | None] = {**settings_of(config or (), _EXAMPLE), **dict.fromkeys(unset or ())}
    if partitions is None and not changes:
        raise UsageError("nothing to alter", hint="Give --partitions, --config or --unset.")
    with session.broker() as broker:
        warning = growth_warning(broker, name, partitions)
        if warning is not None:
            session.confirm(f"{warning}. Add them?", yes=yes)
        broker.alter_topic(name, partitions=partitions, config=changes or None)
        topic = broker.describe_topic(name)
    session.out.done(f"altered topic {name}", _everything(topic))


@command(group, "delete", "headrace topics delete lines", "headrace topics delete lines words --yes --if-exists")
def delete_topics(session: Session, names: Names, yes: Yes = False, if_exists: IfExists = False) -> None:
    """Delete topics, their records, and what groups committed for them.

    Asks before it does so; without a terminal it needs --yes. Either all the topics are there or none is deleted.
    """
    with session.broker() as broker:
        found = [name for name in dict.fromkeys(names) if _is_there(broker, name, if_exists=if_exists)]
        if found:
            session.confirm(f"delete {counted(len(found), 'topic')} for good: {', '.join(found)}?", yes=yes)
        for name in found:
            broker.delete_topic(name)
    session.out.done(f"deleted {', '.join(found) or 'nothing'}", {"deleted": found})


def _is_there(broker: Broker, name: str, *, if_exists: bool) -> bool:
    try:
        broker.describe_topic(name)
    except UnknownTopicError:
        if not if_exists:
            raise
        return False
    return True


def _readers(broker: Broker, topic: str) -> dict[str, int]:
    """The groups that read the topic, and how many records each has yet to read."""
    lags = {group: [lag for (name, _), lag in broker.lag(group).items() if name == topic] for group in broker.groups()}
    return {group: sum(found) for group, found in lags.items() if found}


def _show(session: Session, topic: TopicDescription, readers: Mapping[str, int]) -> None:
    out = session.out
    totals = [counted(len(topic.partitions), "partition"), counted(_records(topic), "record")]
    totals += [] if topic.size is None else [f"{topic.size:,} bytes"]
    out.line(f"{topic.name}: {', '.join(totals)}", style="bold")
    if topic.created_ms is not None:
        out.line(f"created {_time(topic.created_ms)}")
    out.line("")
    rows = [
        (one.partition, one.start_offset, one.next_offset, one.records, *([] if one.size is None else [one.size]))
        for one in topic.partitions
    ]
    out.table((">PARTITION", ">START", ">END", ">RECORDS", *([] if topic.size is None else [">BYTES"])), rows)
    for line in _expired(topic):
        out.line(line)
    out.line("")
    if readers:
        out.table(("GROUP", ">LAG"), readers.items())
        out.line("")
    out.table(("SETTING", "VALUE"), _shown_settings(topic.config).items())


def _expired(topic: TopicDescription) -> list[str]:
    """What retention has removed, a line for each partition that has lost something."""
    return [
        f"partition {one.partition}: retention removed {counted(one.expired_records, 'record')}, "
        f"the last of them at {_time(one.expired_ms)}"
        for one in topic.partitions
        if one.expired_ms is not None
    ]


def _time(ms: int) -> str:
    return f"{datetime.fromtimestamp(ms / 1000, timezone.utc):%Y-%m-%d %H:%M:%S} UTC"


def _totals(topic: TopicDescription) -> dict[str, Any]:
    return {
        "name": topic.name,
        "partitions": len(topic.partitions),
        "records": _records(topic),
        "bytes": topic.size,
    }


def _everything(topic: TopicDescription) -> dict[str, Any]:
    partitions = [
        {
            "partition": one.partition,
            "start_offset": one.start_offset,
            "end_offset": one.next_offset,
            "records": one.records,
            "bytes": one.size,
            "segments": one.segments,
            "expired_records": one.expired_records,
            "expired_ms": one.expired_ms,
        }
        for one in topic.partitions
    ]
    config = _shown_settings(topic.config)
    return {"name": topic.name, "created_ms": topic.created_ms, "config": config, "partitions": partitions}


def _shown_settings(config: Mapping[str, str]) -> dict[str, str]:
    return {name: "***" if is_secret(name) else value for name, value in sorted(config.items())}


def _records(topic: TopicDescription) -> int:
    return sum(partition.records for partition in topic.partitions)
