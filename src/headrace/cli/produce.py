"""``headrace produce``: lines of the standard input or of files, appended to a topic."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, BinaryIO

import typer

from headrace import commands
from headrace.broker.port import Broker, NewRecord
from headrace.cli.exits import NotFoundError, UsageError
from headrace.cli.output import counted
from headrace.cli.positions import time_of
from headrace.cli.record_lines import LineReader, batches, header_of
from headrace.cli.session import Session, command
from headrace.cli.text_serdes import NAMES, text_serde, unescaped
from headrace.errors import HeadraceError, UnknownTopicError
from headrace.near_names import did_you_mean
from headrace.records import Headers

group = typer.Typer()

Topic = Annotated[str, typer.Argument(metavar="TOPIC", help="The topic to append to.")]
Files = Annotated[
    list[str] | None, typer.Argument(metavar="FILE...", help="Read these instead of the standard input; - is it.")
]
KeyDelimiter = Annotated[
    str | None,
    typer.Option("-K", "--key-delimiter", metavar="TEXT", help="What is before it in a line is the key; \\t works."),
]
Key = Annotated[str | None, typer.Option("-k", "--key", metavar="TEXT", help="The key of records without one.")]
Header = Annotated[
    list[str] | None,
    typer.Option("-H", "--header", metavar="NAME=VALUE", help="A header of every record; may be repeated."),
]
Partition = Annotated[
    int | None, typer.Option("-p", "--partition", min=0, help="The partition of every record; else its key decides.")
]
Timestamp = Annotated[
    str | None,
    typer.Option(
        "-t", "--timestamp", metavar="TIME", help="Milliseconds since 1970, an ISO 8601 date, or -15m; else it is now."
    ),
]
NullOption = Annotated[
    bool, typer.Option("-Z", "--null", help="Empty values and keys are null: a null value deletes a key of a table.")
]
KeySerde = Annotated[str, typer.Option("--key-serde", metavar="SERDE", help="How keys become bytes.")]
ValueSerde = Annotated[str, typer.Option("--value-serde", metavar="SERDE", help=f"How values become bytes: {NAMES}.")]


@command(
    group,
    "produce",
    "echo 'all streams lead to kafka' | headrace produce lines",
    "headrace produce users -K : users.txt",
    "headrace produce clicks --value-serde json -H source=cli < clicks.jsonl",
    "headrace consume lines --json | headrace produce copy --json",
    json_help="Each line is a JSON object: key, value, timestamp, headers, partition.",
)
def produce(
    session: Session,
    topic: Topic,
    files: Files = None,
    key_delimiter: KeyDelimiter = None,
    key: Key = None,
    header: Header = None,
    partition: Partition = None,
    timestamp: Timestamp = None,
    null: NullOption = False,
    key_serde: KeySerde = "string",
    value_serde: ValueSerde = "string",
) -> None:
    """Append a record to a topic for each line of the standard input, or of files.

    A line is a value; with -K it is a key and a value, and without the delimiter in it a value only. With --json it is
    an object whose fields are key, value, timestamp, headers and partition, all of them optional. What consume
    --json prints is understood as well: topic and offset are passed over.

    Lines are appended as they come. A line that cannot be written ends the command; those before it stay.
    """
    reader = LineReader(
        topic,
        text_serde(key_serde),
        text_serde(value_serde),
        None if key_delimiter is None else _delimiter(key_delimiter),
        None if key is None else key.encode(errors="surrogateescape"),
        Headers(header_of(text) for text in header or ()),
        partition,
        None if timestamp is None else time_of(timestamp),
        null,
        session.out.json,
    )
    _check_files(files or ())
    with session.broker() as broker:
        written = 0
        _check_topic(broker, session.address, topic, partition)
        for name in files or ("-",):
            written = _append_all(broker, reader, name, written)
    session.out.note(f"appended {counted(written, 'record')} to {topic}")


def _append_all(broker: Broker, reader: LineReader, name: str, written: int) -> int:
    """Append the lines of one file after ``written`` earlier records; how many there are then."""
    read = 0
    with _opened(name) as stream:
        for lines in batches(stream):
            records, failure = _records(reader, lines)
            broker.append(records)
            written += len(records)
            if failure is not None:
                place = f"line {read + len(records) + 1}"
                failure.at = place if name == "-" else f"{name}, {place}"
                failure.detail = "; ".join(filter(None, (failure.detail, f"records appended before it: {written:,}")))
                raise failure
            read += len(lines)
    return written


def _records(reader: LineReader, lines: list[bytes]) -> tuple[list[NewRecord], HeadraceError | None]:
    """The records of ``lines``, up to the first that is none."""
    records: list[NewRecord] = []
    for line in lines:
        try:
            records.append(reader.record(line))
        except HeadraceError as error:
            return records, error
    return records, None


def _delimiter(text: str) -> bytes:
    if not text:
        raise UsageError("the key delimiter is empty", hint="Say which characters are between key and value: -K :")
    return unescaped(text)


def _check_topic(broker: Broker, address: str, topic: str, partition: int | None) -> None:
    try:
        count = len(broker.describe_topic(topic).partitions)
    except UnknownTopicError as error:
        create = f"Create it first: {commands.command(f'topics create {topic}', address)}"
        error.hint = did_you_mean(topic, broker.topics()) or create
        raise
    if partition is not None and partition >= count:
        message = f"topic {topic} has no partition {partition}"
        raise NotFoundError(message, detail=f"Its partitions are 0 to {count - 1}.")


def _check_files(names: list[str] | tuple[str, ...]) -> None:
    for name in names:
        if name != "-" and not Path(name).exists():
            message = f"there is no file {name}"
            raise NotFoundError(message)


@contextmanager
def _opened(name: str) -> Iterator[BinaryIO]:
    if name == "-":
        yield sys.stdin.buffer
        return
    with Path(name).open("rb") as stream:
        yield stream
