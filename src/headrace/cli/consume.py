"""``headrace consume``: the records of a topic on the standard output."""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass, field
from typing import Annotated, BinaryIO

import typer

from headrace.broker.port import Broker, OffsetAndMetadata, TopicPartition
from headrace.broker.positions import TopicPosition, resolve
from headrace.cli.exits import NotFoundError, UsageError
from headrace.cli.groups import refuse_while_running
from headrace.cli.positions import GRAMMAR, position_of
from headrace.cli.record_format import TOKENS, Piece, RecordPrinter
from headrace.cli.session import Session, command
from headrace.cli.text_serdes import NAMES, text_serde
from headrace.client.reading import merged
from headrace.records import RawRecord

group = typer.Typer()

_POLL_SECONDS = 0.1
_ROUNDS_BETWEEN_LOOKS = 50
_FLUSH_EVERY = 1000

Topic = Annotated[str, typer.Argument(metavar="TOPIC", help="The topic to read.")]
Offset = Annotated[str | None, typer.Option("-o", "--offset", metavar="POSITION", help=f"Where to start: {GRAMMAR}.")]
Count = Annotated[int | None, typer.Option("-c", "--count", min=1, help="End after that many records.")]
ExitAtEnd = Annotated[bool, typer.Option("-e", "--exit", help="End at the end of the topic; so it does anyway.")]
Follow = Annotated[bool, typer.Option("--follow", help="Wait for new records at the end.")]
PartitionOption = Annotated[
    list[int] | None, typer.Option("-p", "--partition", min=0, help="Read this partition only; may be repeated.")
]
FormatOption = Annotated[str | None, typer.Option("-f", "--format", metavar="FORMAT", help=f"{TOKENS}; \\n \\t \\x1f.")]
KeyDelimiter = Annotated[
    str | None, typer.Option("-K", "--key-delimiter", metavar="TEXT", help="What follows the key; a tab without it.")
]
NullOption = Annotated[bool, typer.Option("-Z", "--null", help="Print NULL where a key or value is null.")]
GroupOption = Annotated[
    str | None,
    typer.Option("-G", "--group", metavar="GROUP", help="Go on where this group stopped; commit what was printed."),
]
KeySerde = Annotated[str, typer.Option("--key-serde", metavar="SERDE", help="How to read keys.")]
ValueSerde = Annotated[str, typer.Option("--value-serde", metavar="SERDE", help=f"How to read values: {NAMES}.")]


@command(
    group,
    "consume",
    "headrace consume lines",
    "headrace consume lines -o -10 --follow",
    "headrace consume word-counts -f '%k: %v\\n' --value-serde long",
    "headrace consume lines -o @2026-07-01T12:00:00Z --json",
    "headrace consume lines --group audit -c 100",
    json_help="Print each record as a JSON object on a line.",
)
def consume(
    session: Session,
    topic: Topic,
    offset: Offset = None,
    count: Count = None,
    exit_at_end: ExitAtEnd = False,
    follow: Follow = False,
    partition: PartitionOption = None,
    format: FormatOption = None,
    key_delimiter: KeyDelimiter = None,
    null: NullOption = False,
    consumer_group: GroupOption = None,
    key_serde: KeySerde = "string",
    value_serde: ValueSerde = "string",
) -> None:
    """Print the records of a topic, keys before values, from the beginning to what is its end now.

    With -o end, or with --follow, it waits for new ones until Ctrl-C. Records of one partition are printed in their
    order, those of several by timestamp as far as that goes.

    With --group it starts where the group stopped, or at -o where it has no offset, and commits after printing: when
    it is killed, some records may be printed twice, none is lost.
    """
    if exit_at_end and follow:
        raise UsageError("--exit and --follow contradict each other")
    position = position_of(offset or "beginning")
    printer = RecordPrinter(
        text_serde(key_serde), text_serde(value_serde), b"NULL" if null else b"", session.out.is_terminal
    )
    show = _how_to_print(session, printer, format, key_delimiter)
    with session.broker() as broker:
        partitions = _partitions(broker, topic, partition)
        starts = _starts(broker, position, partitions, consumer_group)
        reading = _Reading(broker, topic, starts, show, sys.stdout.buffer, count, consumer_group)
        waits = follow or (position.kind == "end" and not exit_at_end)
        reading.follow(all_partitions=not partition) if waits else reading.to_the_end()


def _how_to_print(session: Session, printer: RecordPrinter, format: str | None, delimiter: str | None) -> Piece:
    if session.out.json:
        if format is not None or delimiter is not None:
            raise UsageError("--json prints all of a record: it does not go with -f and -K")
        return printer.as_json
    if format is not None and delimiter is not None:
        raise UsageError("-f says where the key is: it does not go with -K")
    if format is not None:
        return printer.formatted(format)
    if delimiter is not None:
        return printer.formatted("%k" + delimiter.replace("%", "%%") + "%v\\n")
    return printer.as_line


def _partitions(broker: Broker, topic: str, wanted: list[int] | None) -> list[TopicPartition]:
    there = {one.partition for one in broker.describe_topic(topic).partitions}
    missing = sorted(set(wanted or ()) - there)
    if missing:
        message = f"topic {topic} has no partition {missing[0]}"
        raise NotFoundError(message, detail=f"Its partitions are 0 to {len(there) - 1}.")
    return [(topic, number) for number in sorted(set(wanted) if wanted else there)]


def _starts(
    broker: Broker, position: TopicPosition, partitions: list[TopicPartition], consumer_group: str | None
) -> dict[TopicPartition, int]:
    starts = resolve(broker, position, partitions)
    if consumer_group is None:
        return starts
    refuse_while_running(broker, consumer_group)
    committed = {one: note.offset for one, note in broker.committed(consumer_group).items() if one in starts}
    return {**starts, **committed}


@dataclass(slots=True)
class _Reading:
    """A way through partitions: the offset to read next in each, and what was printed and not yet committed."""

    broker: Broker
    topic: str
    positions: dict[TopicPartition, int]
    show: Piece
    stream: BinaryIO
    left: int | None
    group: str | None
    lines: list[bytes] = field(default_factory=list)
    uncommitted: dict[TopicPartition, int] = field(default_factory=dict)

    def to_the_end(self) -> None:
        """Print what is there now."""
        ends = self.broker.end_offsets(self.positions)
        try:
            for record in merged(self.broker, self.positions, ends):
                self._print(record)
                if self.left == 0:
                    return
            # Compaction may have taken the last records: the end is reached all the same.
            self.uncommitted.update({one: end for one, end in ends.items() if end > self.positions[one]})
            self.positions.update(ends)
        finally:
            self._flush()

    def follow(self, *, all_partitions: bool) -> None:
        """Print what is there and what comes, until the count is reached."""
        rounds = 0
        while True:
            self.to_the_end()
            if self.left == 0:
                return
            time.sleep(_POLL_SECONDS)
            rounds += 1
            if all_partitions and rounds % _ROUNDS_BETWEEN_LOOKS == 0:
                self._look_for_partitions()

    def _print(self, record: RawRecord) -> None:
        where = (record[0], record[1])
        self.lines.append(self.show(record))
        self.positions[where] = self.uncommitted[where] = record[2] + 1
        if self.left is not None:
            self.left -= 1
        if len(self.lines) >= _FLUSH_EVERY:
            self._flush()

    def _flush(self) -> None:
        """Print, then commit: what could not be printed is not committed either."""
        lines, self.lines = self.lines, []
        done, self.uncommitted = self.uncommitted, {}
        if lines:
            self.stream.write(b"".join(lines))
            self.stream.flush()
        if self.group is not None and done:
            self.broker.commit_offsets(self.group, {one: OffsetAndMetadata(offset) for one, offset in done.items()})

    def _look_for_partitions(self) -> None:
        for number in range(self.broker.topics().get(self.topic, 0)):
            self.positions.setdefault((self.topic, number), 0)
